"""torch.nn: modules, the functions behind them, initialisers and utilities."""

from . import functional, init, utils  # noqa: F401
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter  # noqa: F401
from . import modules  # noqa: F401  isort: skip
from .modules import *  # noqa: F403
from .parallel import DataParallel  # noqa: F401

_SUBMODULES = ("attention", "grad")


def factory_kwargs(kwargs):
    """The `device`, `dtype` and `memory_format` among the keywords of a module, to be handed on to functions that make tensors.

    A keyword `factory_kwargs` may hold them, where a module uses one of the names itself. TypeError for other names, and for one given twice.

    >>> nn.factory_kwargs({"dtype": torch.float64})
    {'dtype': torch.float64}
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unknown = kwargs.keys() - (simple | {"factory_kwargs"})
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in sorted(simple):
        if name in kwargs:
            if name in found:
                raise TypeError(f"{name} is in **kwargs and in factory_kwargs, expected in one")
            found[name] = kwargs[name]
    return found
