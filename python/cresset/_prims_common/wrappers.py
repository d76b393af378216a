"""Arguments of reference functions, brought to a dtype."""

import cresset as torch

from . import dtype_to_type


def _maybe_convert_to_dtype(a, dtype):
    """A tensor, a number or a sequence of them in a dtype; None stays None. TypeError for other values.

    >>> from cresset._prims_common.wrappers import _maybe_convert_to_dtype
    >>> _maybe_convert_to_dtype([torch.ones(1), 2], torch.float64)
    (tensor([1.], dtype=torch.float64), 2.0)
    """
    if a is None or isinstance(a, torch.Tensor):
        return a if a is None or a.dtype == dtype else a.to(dtype)
    if isinstance(a, (bool, int, float, complex)):
        return dtype_to_type(dtype)(a)
    if isinstance(a, (list, tuple)):
        return tuple(_maybe_convert_to_dtype(part, dtype) for part in a)
    raise TypeError(f"expected a tensor, a number, a sequence of them or None to bring to {dtype}, got a {type(a).__name__}")
