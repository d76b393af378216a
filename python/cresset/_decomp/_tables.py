"""The tables, made from the rows of operators: each overload with the body of its row, or its formula, and derived forms."""

import _cresset

import cresset as torch

from .._core.aten_names import UNKNOWN, WHOLE
from .._core.operators import Composed, OpOverload, OpOverloadPacket

# Operators that PyTorch's modes see whole, and that it decomposes all the same; others of `WHOLE` stay as they are.
_OPENED = frozenset(
    """
_chunk_cat _safe_softmax _unsafe_masked_index _unsafe_masked_index_put_accumulate addr affine_grid_generator alias_copy all aminmax arange bernoulli
binary_cross_entropy binary_cross_entropy_with_logits block_diag celu channel_shuffle count_nonzero deg2rad diag_embed diagonal_copy empty_like expand_copy
eye fill glu hann_window im2col index_fill isin linalg_cross linspace logspace masked_fill max_unpool2d max_unpool3d multi_margin_loss mvlgamma
native_dropout_backward new_empty col2im ctc_loss embedding_bag histogramdd huber_loss_backward smooth_l1_loss_backward new_full new_ones new_zeros norm ones ones_like pixel_shuffle pixel_unshuffle rad2deg renorm rot90 sinc soft_margin_loss
split_with_sizes_copy squeeze_copy stack std_mean sum t_copy trace transpose_copy unfold_copy unsafe_split unsafe_split_with_sizes unsqueeze_copy
upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d vdot zeros zeros_like
""".split()
)
_WHOLE = frozenset(WHOLE)
# Core operators that the core table decomposes, as PyTorch's does.
_CORE_TOO = frozenset(
    """
adaptive_avg_pool1d.default avg_pool1d.default col2im.default embedding_dense_backward.default fill.Scalar native_group_norm_backward.default
native_layer_norm_backward.default reflection_pad1d.default reflection_pad2d.default reflection_pad3d.default replication_pad2d.default
replication_pad3d.default select_scatter.default squeeze.dim var.dim
""".split()
)
# The core table leaves these out, as PyTorch's does: operators that it has not or decomposes always, forms in place but for some, and results that are views but
# for some.
_LEFT_OUT = frozenset({*UNKNOWN, "addmv", "coalesce", "sparse_mask", "sparse_sampled_addmm", "batch_norm", "cartesian_prod", "unsafe_chunk", "dropout",
                       "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "linalg_matrix_exp", "_pack_padded_sequence", "upsample_bilinear2d.default",
                       "upsample_trilinear3d.default"})  # fmt: skip
_FACTS = frozenset({"detach.default", "item.default", "size.int", "stride.int", "sym_size.int", "sym_stride.int"})
_IN_PLACE = frozenset(
    """
addcdiv addcmul celu deg2rad elu fill frac gelu hardsigmoid hardswish hardtanh heaviside index_add index_copy index_fill leaky_relu lerp logit masked_fill
mish mvlgamma nan_to_num rad2deg renorm sgn silu sinc threshold tril triu xlogy zero
""".split()
)
_VIEWS_TOO = frozenset({"detach", "split", "squeeze", "t", "transpose", "unbind"})


def overloads_of(op):
    """The overloads that an operator, an overload or a list of them names."""
    if isinstance(op, (list, tuple)):
        return [overload for one in op for overload in overloads_of(one)]
    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name) for name in op.overloads()]
    if isinstance(op, OpOverload) or callable(op):
        return [op]
    raise TypeError(f"decompositions: expected an operator of torch.ops, got {type(op).__name__}")


class Body:
    """The body of a composite or fused row, or of an operator that is no row, as a function: its operators run, and are seen by modes. NotImplemented where a mode sees the operator itself
    in its body: that is under PyTorch's name what the row has under another."""

    def __init__(self, overload):
        self.overload, self._function, self._running = overload, None, False

    def __call__(self, *args, **kwargs):
        if self._running:
            return NotImplemented
        if self._function is None:
            entry = self.overload._entry
            self._function = self.overload._call if entry is None else _cresset.body(entry)
        self._running = True
        try:
            return self._function(*args, **kwargs)
        finally:
            self._running = False

    def __repr__(self):
        return f"<body of {self.overload}>"


class Copied:
    """The form of an operator that writes: in place, or to `out`."""

    def __init__(self, overload, of, functional):
        self.of, self.functional, self.names = of, functional, [a.name for a in overload._schema.arguments if a.is_out]

    def __call__(self, *args, **kwargs):
        kwargs = dict(kwargs)
        outs = [kwargs.pop(name) for name in self.names] or [args[0]]
        found = self.functional(*args, **kwargs)
        if found is NotImplemented:
            return found
        for out, value in zip(outs, found if isinstance(found, tuple) else (found,), strict=True):
            if self.names:
                out.resize_(value.shape)
            out.copy_(value)
        return outs[0] if len(outs) == 1 else tuple(outs)


def _forms(name, overload):
    """Overload names of the forms of an overload that write, as the table of operators names them: (operator, overload)."""
    yield f"{name}_", overload
    yield name, "out" if overload == "default" else f"{overload}_out"
    yield name, "grad_input"
    yield name, "output"


def _own(overload, formulas):
    """The formula of an overload, or the body of its row; None where there is neither."""
    kind = overload._overloadname
    formula = formulas.get(overload._opname if kind == "default" else f"{overload._opname}.{kind}")
    if formula is None and (f"{overload._opname}.{kind}" in _FACTS or (isinstance(overload, Composed) and overload.takes_tensors)):
        return Body(overload)
    if formula is not None or overload._entry is None:
        return formula
    name, title = overload._opname, overload._opname if kind == "default" else f"{overload._opname}.{kind}"
    seen_whole = name in _WHOLE or title in _WHOLE
    if (seen_whole and name.removesuffix("_") not in _OPENED) or _cresset.body(overload._entry) is None:
        return None
    return Body(overload)


def by_overload():
    """The whole table: overload -> function."""
    from .decompositions import FORMULAS

    aten, table = torch.ops.aten, {}
    for name in {**aten._entries, **aten._made}:
        for overload in overloads_of(getattr(aten, name)):
            decomposition = _own(overload, FORMULAS)
            if decomposition is not None:
                table[overload] = decomposition
    for overload, function in list(table.items()):
        for name, kind in _forms(overload._opname, overload._overloadname):
            packet = getattr(aten, name, None)
            if packet is not None and kind in packet.overloads() and getattr(packet, kind) not in table:
                table[getattr(packet, kind)] = Copied(getattr(packet, kind), overload, function)
    return table


def _is_left_out(overload, function, core):
    name, title = overload._opname, f"{overload._opname}.{overload._overloadname}"
    if name in _LEFT_OUT or title in _LEFT_OUT or title.removesuffix(".default") in _LEFT_OUT:
        return True
    if name.endswith("_"):
        return name[:-1] not in _IN_PLACE
    if isinstance(function, Copied):
        return core in function.of.tags and function.of._opname not in _CORE_TOO
    return name not in _VIEWS_TOO and overload.is_view


class CoreTable(dict):
    """A table without the core operators and those that are always decomposed. `copy` gives another one, `materialize` a plain dict."""

    def __init__(self, table):
        core = torch.Tag.core
        kept = {op: f for op, f in table.items() if core not in op.tags or str(op).removeprefix("aten.") in _CORE_TOO}
        super().__init__({op: f for op, f in kept.items() if not _is_left_out(op, f, core)})

    def copy(self):
        """Another table of the same decompositions."""
        made = CoreTable({})
        made.update(self)
        return made

    def materialize(self):
        """The same as a dict."""
        return dict(self)
