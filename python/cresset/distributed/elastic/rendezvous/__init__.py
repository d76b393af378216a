"""How the agents of a job find each other and agree on who takes part: `static` (fixed ranks), `c10d` (over a store in one node, with nodes that come
and go) and `etcd` or `etcd-v2` (the same over etcd, so that any node may be lost).

>>> from cresset.distributed.elastic.rendezvous import rendezvous_handler_registry
>>> sorted(rendezvous_handler_registry.names())
['c10d', 'etcd', 'etcd-v2', 'static']
"""

from . import registry
from .api import (
    RendezvousClosedError,
    RendezvousConnectionError,
    RendezvousError,
    RendezvousGracefulExitError,
    RendezvousHandler,
    RendezvousHandlerCreator,
    RendezvousHandlerRegistry,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStateError,
    RendezvousStoreInfo,
    RendezvousTimeoutError,
    rendezvous_handler_registry,
)

__all__ = ["RendezvousClosedError", "RendezvousConnectionError", "RendezvousError", "RendezvousGracefulExitError", "RendezvousHandler",
           "RendezvousHandlerCreator", "RendezvousHandlerRegistry", "RendezvousInfo", "RendezvousParameters", "RendezvousStateError", "RendezvousStoreInfo",
           "RendezvousTimeoutError", "rendezvous_handler_registry"]  # fmt: skip
_SUBMODULES = ...
registry._register_default_handlers()
