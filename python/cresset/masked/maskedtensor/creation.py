"""Functions that make masked tensors."""

from .core import MaskedTensor, as_masked_tensor, masked_tensor

__all__ = ["as_masked_tensor", "masked_tensor"]
