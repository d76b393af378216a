"""Assembly of NVIDIA's GPUs, applied to each element: PyTorch has it for CUDA tensors alone."""

import cresset as torch

from ._operator import HigherOrderOperator

__all__ = ["inline_asm_elementwise"]


class _InlineAssembly(HigherOrderOperator):
    def __call__(self, *inputs, asm_str, constraints, dtype, is_pure=True, pack=1):
        """An empty tensor of the result's shape for tensors without values. Errors: ValueError for no inputs, an assembly with effects or constraints that do not
        fit, RuntimeError for tensors of another device than CUDA."""
        if not inputs:
            raise ValueError("inline_asm_elementwise: expected one input tensor or more, got none")
        if not is_pure:
            raise ValueError("inline_asm_elementwise: expected is_pure=True, got False: assembly with effects has no order between elements")
        if any(not tensor.is_meta for tensor in inputs):
            raise RuntimeError(f"inline_asm_elementwise: expected CUDA tensors, got one on {next(t.device for t in inputs if not t.is_meta)}")
        given = [part.strip() for part in constraints.split(",")]
        results = sum(part.startswith("=") for part in given)
        if results != pack or len(given) - results != pack * len(inputs):
            raise ValueError(
                f"inline_asm_elementwise: expected constraints of {pack} outputs and {pack * len(inputs)} inputs, got {results} and {len(given) - results} in {constraints!r}"
            )
        return torch.empty(torch.broadcast_shapes(*(tensor.shape for tensor in inputs)), dtype=dtype, device="meta")


inline_asm_elementwise = _InlineAssembly("inline_asm_elementwise")
