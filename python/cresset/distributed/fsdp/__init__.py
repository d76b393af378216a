"""torch.distributed.fsdp: settings of fully sharded parallelism. The parallelism itself is not there: calls raise NotImplementedError."""

from cresset._core.missing import found as _found

from . import api
from .api import *  # noqa: F403
from .api import __all__

_SUBMODULES = ...


def __getattr__(name):
    return _found(__name__, name)
