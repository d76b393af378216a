"""torch.nn: modules, the functions behind them, initialisers and utilities."""

from typing import Any

from . import attention as attention, functional as functional, init as init, modules as modules, parallel as parallel, parameter as parameter, utils as utils
from .modules import *
from .parallel import DataParallel as DataParallel
from .parameter import Buffer as Buffer, Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer, UninitializedParameter as UninitializedParameter

def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]: ...
