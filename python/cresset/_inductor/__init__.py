"""torch._inductor: settings of a code generator, which is not there."""

from . import config


def __getattr__(name):
    from cresset import _missing

    return _missing.found(__name__, name)
