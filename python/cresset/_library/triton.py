"""Operators of Triton kernels, where PyTorch has them: `wrap_triton` refuses.

>>> torch._library.triton.triton_op is torch.library.triton_op
True
"""

_NAMES = {"triton_op": "triton_op", "wrap_triton": "wrap_triton", "capture_triton": "wrap_triton"}


def __getattr__(name):
    from .. import library

    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(library, _NAMES[name])
