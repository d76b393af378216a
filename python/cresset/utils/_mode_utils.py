"""Names of PyTorch that code on dispatch modes imports."""

from .._C import _DisableTorchDispatch


def no_dispatch():
    """A scope in which neither modes nor classes take calls over by `__torch_dispatch__`.

    >>> with torch.utils._mode_utils.no_dispatch():
    ...     torch.ones(1)
    tensor([1.])
    """
    return _DisableTorchDispatch()


def all_same_mode(modes):
    """Whether all of the objects are the first one.

    >>> torch.utils._mode_utils.all_same_mode([None, None])
    True
    """
    return all(mode is modes[0] for mode in modes)
