"""The layers of torch.nn, and Module."""

from _cresset.nn_modules import *
