"""torch.distributed.elastic.multiprocessing: of it there are the errors."""

from . import errors


def __getattr__(name):
    from cresset import _missing

    return _missing.found(__name__, name)
