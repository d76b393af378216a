"""`torch.distributed.distributed_c10d`: groups, their operations on tensors and on Python objects, stores."""

from cresset._core.missing import found as _found

from . import _collectives, _group, _groups, _objects, _stores

_HOMES = (_stores, _group, _groups, _collectives, _objects)


def __getattr__(name):
    for home in _HOMES:
        if name in home.__dict__:
            return home.__dict__[name]
    return _found(__name__, name)


def __dir__():
    return sorted({name for home in _HOMES for name in home.__dict__ if not name.startswith("__")})
