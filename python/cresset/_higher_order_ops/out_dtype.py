"""`out_dtype`: an operator on tensors of another dtype than its result, as the products of 8-bit integers that quantized programs sum in 32 bits."""

from _cresset import Tensor

import cresset as torch

from .._core.operators import OpOverload
from ..utils._pytree import tree_map
from . import _capture
from ._operator import HigherOrderOperator

__all__ = ["OutDtypeOperator", "out_dtype"]


class OutDtypeOperator(HigherOrderOperator):
    """`op` on tensors cast to `output_dtype`, its result cast to it. Graphs keep it as one node; it has no gradient.

    Errors: ValueError for what is no overload, or one that writes or returns anything but one tensor; NotImplementedError from backward.

    >>> from cresset._higher_order_ops.out_dtype import out_dtype
    >>> x = torch.full((2, 2), 100, dtype=torch.int8)
    >>> out_dtype(torch.ops.aten.mm.default, torch.int32, x, x)
    tensor([[20000, 20000],
            [20000, 20000]], dtype=torch.int32)
    """

    def __init__(self):
        super().__init__("out_dtype")

    def __call__(self, op, output_dtype, *args):
        """The result."""
        if not isinstance(op, OpOverload):
            raise ValueError(f"out_dtype: expected an overload of an operator, such as torch.ops.aten.mm.default, got {op!r}")
        if op._schema.is_mutable:
            raise ValueError(f"out_dtype: expected an operator that writes none of its arguments, got {op}")
        returns = op._schema.returns
        if len(returns) != 1 or str(returns[0].type) != "Tensor":
            raise ValueError(f"out_dtype: expected an operator that returns one tensor, got {op}")
        if _capture.needs_gradient(args) and (output_dtype.is_floating_point or output_dtype.is_complex):
            return _WithoutGradient.apply(super().__call__, op, output_dtype, *args)
        return super().__call__(op, output_dtype, *args)

    def run(self, op, output_dtype, *args):
        """The operator on tensors of the result's dtype."""
        return op(*tree_map(lambda a: a.to(output_dtype) if isinstance(a, Tensor) else a, args)).to(output_dtype)

    def trace(self, mode, op, output_dtype, *args):
        """One node."""
        tracer = mode.tracer
        result = _capture.unheard(self.run, op, output_dtype, *args)
        node = tracer.create_node("call_function", self, (op, output_dtype, *(tracer.create_arg(a) for a in args)), {}, "out_dtype")
        tracer.record_outputs(node, result)
        return result


class _WithoutGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call, *args):
        return call(*args)

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("out_dtype: has no gradient")


out_dtype = OutDtypeOperator()
