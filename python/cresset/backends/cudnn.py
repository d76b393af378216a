"""cuDNN, which serves CUDA devices. The flags keep their values; without a CUDA device nothing reads them.

>>> torch.backends.cudnn.benchmark = True
>>> torch.backends.cudnn.benchmark
True
>>> torch.backends.cudnn.benchmark = False
"""

import sys as _sys

from . import _flags, _precision


def _choose_tf32(allowed):
    for kind in ("conv", "rnn"):
        _precision.write("cuda", kind, "tf32" if allowed else "none")


set_flags, flags = _flags.install(
    __name__,
    after={"allow_tf32": _choose_tf32},
    enabled=(True, bool),
    benchmark=(False, bool),
    benchmark_limit=(10, (int, type(None))),
    deterministic=(False, bool),
    allow_tf32=(True, bool),
)
CudnnModule = type(_sys.modules[__name__])
CudnnModule.__name__ = CudnnModule.__qualname__ = "CudnnModule"
CudnnModule.__doc__ = """The class of this module, whose flags are properties.

    >>> torch.backends.cudnn.conv.fp32_precision in ("none", "ieee", "tf32")
    True
    """
CudnnModule.allow_tf32 = property(lambda self: _precision.read("cuda", "conv") == _precision.read("cuda", "rnn") == "tf32")
CudnnModule.fp32_precision = _precision.setting("cuda")
conv, rnn = _precision.Operators("cuda", "conv"), _precision.Operators("cuda", "rnn")


def is_available():
    """Whether cuDNN was built in.

    >>> torch.backends.cudnn.is_available()
    False
    """
    return False


def version():
    """The version of cuDNN as an int, or None where it is absent.

    >>> torch.backends.cudnn.version() is None
    True
    """
    return None


def is_acceptable(tensor):
    """Whether cuDNN can compute on the tensor.

    >>> torch.backends.cudnn.is_acceptable(torch.ones(2))
    False
    """
    return False
