"""Whether there is a device for mixed precision."""

from .. import is_available

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available():
    """Whether there is no CUDA device to compute on.

    >>> torch.cuda.amp.amp_definitely_not_available()
    True
    """
    return not is_available()
