"""cuDNN, which serves CUDA devices. The flags keep their values; without a CUDA device nothing reads them.

>>> torch.backends.cudnn.benchmark = True
>>> torch.backends.cudnn.benchmark
True
>>> torch.backends.cudnn.benchmark = False
"""

from . import _flags

set_flags, flags = _flags.install(
    __name__, enabled=(True, bool), benchmark=(False, bool), benchmark_limit=(10, (int, type(None))), deterministic=(False, bool), allow_tf32=(True, bool)
)


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
