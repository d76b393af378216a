"""torch.nn: modules, the functions behind them, initialisers and utilities."""

from . import functional as functional, init as init, modules as modules, parameter as parameter, utils as utils
from .modules import *
from .parameter import Buffer as Buffer, Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer, UninitializedParameter as UninitializedParameter
