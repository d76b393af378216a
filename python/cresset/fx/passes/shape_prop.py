"""ShapeProp, which runs a module once and notes shape, dtype and layout of every value."""

import contextlib
import copy
from typing import Any, NamedTuple

import cresset as torch

from .._compatibility import compatibility
from ..interpreter import Interpreter
from ..node import map_aggregate

__all__ = ["TensorMetadata", "ShapeProp"]


@compatibility(is_backward_compatible=True)
class TensorMetadata(NamedTuple):
    """Facts about a tensor beside its values.

    >>> meta = torch.fx.passes.shape_prop._extract_tensor_metadata(torch.ones(2, 3))
    >>> meta.shape, meta.stride
    (torch.Size([2, 3]), (3, 1))
    """

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


_FORMATS = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)


def _extract_tensor_metadata(result, include_contiguity=True):
    """The TensorMetadata of a tensor."""
    sparse = result.layout is not torch.strided
    stride = () if sparse else result.stride()
    found = None
    if include_contiguity and not sparse:
        ranks = {torch.channels_last: 4, torch.channels_last_3d: 5}
        found = next((f for f in _FORMATS if ranks.get(f, result.dim()) == result.dim() and result.is_contiguous(memory_format=f)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, stride, found, False, {})


@compatibility(is_backward_compatible=True)
class ShapeProp(Interpreter):
    """Runs a module and puts `tensor_meta` and `type` into the `meta` of every node.

    Args:
        gm: the module.
        fake_mode: a FakeTensorMode, in which the module runs without values.

    Errors: RuntimeError that names the node which fails.

    >>> traced = torch.fx.symbolic_trace(lambda x: x.sum(1))
    >>> _ = torch.fx.passes.shape_prop.ShapeProp(traced).propagate(torch.ones(2, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
    [(2, 3), (2,), (2,)]
    """

    def __init__(self, gm, fake_mode=None):
        super().__init__(gm)
        self.fake_mode = fake_mode
        if fake_mode is not None:
            with fake_mode:
                self.module = copy.deepcopy(gm)

    def run_node(self, n):
        """The value of a node, of which type and layout are noted."""
        try:
            with self.fake_mode or contextlib.nullcontext():
                value = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        notes, leaves = {"type": type(value)}, []
        told = map_aggregate(value, lambda leaf: leaves.append(leaf) or (_extract_tensor_metadata(leaf) if isinstance(leaf, torch.Tensor) else leaf))
        if any(isinstance(leaf, torch.Tensor) for leaf in leaves):
            notes["tensor_meta"] = told
        n.meta.update(notes)
        return value

    def propagate(self, *args):
        """Run the module; returns its result. Tensors become fake ones of the mode where there is one."""
        mode = self.fake_mode
        return super().run(*(mode.from_tensor(a) if mode is not None and isinstance(a, torch.Tensor) else a for a in args))
