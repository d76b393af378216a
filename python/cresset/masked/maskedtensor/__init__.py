"""Tensors with a mask, and the operators that they have."""

from . import binary, core, creation, reductions, unary
from .core import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor
