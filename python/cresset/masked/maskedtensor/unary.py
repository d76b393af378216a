"""The operators of one argument that masked tensors have, by name and as they are called, in place too."""

import cresset as torch

from .core import UNARY_NAMES

INPLACE_UNARY_NAMES = [f"{name}_" for name in UNARY_NAMES if hasattr(torch.ops.aten, f"{name}_")]
NATIVE_UNARY_FNS = [getattr(torch.ops.aten, name) for name in UNARY_NAMES]
NATIVE_INPLACE_UNARY_FNS = [getattr(torch.ops.aten, name) for name in INPLACE_UNARY_NAMES]
