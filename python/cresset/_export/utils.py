"""Questions on operators and switches of capture that libraries use by themselves."""

import contextlib

from ..export import _spellings


def _is_cia_op(op):
    """Whether an operator is a composite, which PyTorch calls CompositeImplicitAutograd: differentiated and traced as its parts.

    >>> aten = torch.ops.aten
    >>> torch._export.utils._is_cia_op(aten.linear.default), torch._export.utils._is_cia_op(aten.add.Tensor)
    (True, False)
    """
    return bool(getattr(op, "_can_decompose", lambda: False)())


@contextlib.contextmanager
def _disable_aten_to_metadata_assertions():
    """In its scope captured graphs do not assert the dtype and device of the tensors that they cast.

    >>> class Cast(nn.Module):
    ...     def forward(self, x):
    ...         return x.double()
    >>> with torch._export.utils._disable_aten_to_metadata_assertions():
    ...     program = torch.export.export(Cast(), (torch.ones(2),))
    >>> [node.name for node in program.graph.nodes]
    ['x', 'to', 'output']
    """
    before, _spellings.settings.asserts_casts = _spellings.settings.asserts_casts, False
    try:
        yield
    finally:
        _spellings.settings.asserts_casts = before
