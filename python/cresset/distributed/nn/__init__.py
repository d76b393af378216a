"""Collectives that gradients go through."""

from . import functional
from .functional import all_gather, all_reduce, all_to_all, all_to_all_single, broadcast, gather, reduce, reduce_scatter, scatter

_SUBMODULES = ...


def __getattr__(name):
    from cresset._core.missing import found

    if name == "RemoteModule":
        from .api.remote_module import RemoteModule

        return RemoteModule
    return found(__name__, name)


__all__ = [
    "RemoteModule",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "functional",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]
