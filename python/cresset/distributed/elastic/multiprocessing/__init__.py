"""torch.distributed.elastic.multiprocessing: of it there are the errors."""

from . import errors


def __getattr__(name):
    from cresset._core import missing as _missing

    return _missing.found(__name__, name)
