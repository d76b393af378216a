"""How the agents of a job find each other and agree on who takes part: `static` (fixed ranks) and `c10d` (over a store, with nodes that come and go).

>>> from cresset.distributed.elastic.rendezvous import rendezvous_handler_registry
>>> sorted(rendezvous_handler_registry.names())
['c10d', 'static']
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
