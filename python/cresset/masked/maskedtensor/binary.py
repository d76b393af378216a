"""The operators of two arguments that masked tensors have, by name and as they are called, in place too."""

import cresset as torch

from .core import BINARY_NAMES

INPLACE_BINARY_NAMES = [f"{name}_" for name in BINARY_NAMES if hasattr(torch.ops.aten, f"{name}_")]
NATIVE_BINARY_FNS = [getattr(torch.ops.aten, name) for name in BINARY_NAMES]
NATIVE_INPLACE_BINARY_FNS = [getattr(torch.ops.aten, name) for name in INPLACE_BINARY_NAMES]
