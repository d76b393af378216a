"""torch.nn: modules, the functions behind them, initialisers and utilities."""

from . import functional, init, utils  # noqa: F401
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter  # noqa: F401
from . import modules  # noqa: F401  isort: skip
from .modules import *  # noqa: F403


def __getattr__(name):
    from cresset import _missing

    raise _missing.error(__name__, name)
