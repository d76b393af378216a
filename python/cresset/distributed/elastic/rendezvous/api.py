"""Parameters, handlers, results and errors of rendezvous."""

import abc
import dataclasses
import socket
from collections.abc import Callable
from typing import ClassVar

__all__ = ["RendezvousClosedError", "RendezvousConnectionError", "RendezvousError", "RendezvousGracefulExitError", "RendezvousHandler",
           "RendezvousHandlerCreator", "RendezvousHandlerRegistry", "RendezvousInfo", "RendezvousParameters", "RendezvousStateError", "RendezvousStoreInfo",
           "RendezvousTimeoutError", "rendezvous_handler_registry"]  # fmt: skip


class RendezvousError(Exception):
    """Base of the errors of rendezvous.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousError
    >>> issubclass(RendezvousError, Exception)
    True
    """


class RendezvousClosedError(RendezvousError):
    """The job has ended: no node is let in any more.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousClosedError, RendezvousError
    >>> issubclass(RendezvousClosedError, Exception)
    True
    """


class RendezvousTimeoutError(RendezvousError):
    """Not enough nodes have come in time.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousTimeoutError, RendezvousError
    >>> issubclass(RendezvousTimeoutError, Exception)
    True
    """


class RendezvousConnectionError(RendezvousError):
    """The store cannot be reached.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousConnectionError, RendezvousError
    >>> issubclass(RendezvousConnectionError, Exception)
    True
    """


class RendezvousStateError(RendezvousError):
    """The store holds something that is no state of a rendezvous.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousStateError, RendezvousError
    >>> issubclass(RendezvousStateError, Exception)
    True
    """


class RendezvousGracefulExitError(RendezvousError):
    """This node is not among those that were chosen, and is no more needed.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousGracefulExitError, RendezvousError
    >>> issubclass(RendezvousGracefulExitError, Exception)
    True
    """


@dataclasses.dataclass
class RendezvousStoreInfo:
    """Where the processes of a job meet: `master_addr` and `master_port`.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousStoreInfo
    >>> RendezvousStoreInfo("localhost", 29500).master_port
    29500
    """

    MASTER_ADDR_KEY: ClassVar[str] = "MASTER_ADDR"
    MASTER_PORT_KEY: ClassVar[str] = "MASTER_PORT"
    master_addr: str
    master_port: int

    @staticmethod
    def build(rank, store, local_addr=None, server_port=None):
        """Rank 0 says where in the store; the others read it there."""
        if rank == 0:
            port = server_port
            if port is None:
                with socket.socket() as found:
                    found.bind(("", 0))
                    port = found.getsockname()[1]
            store.set(RendezvousStoreInfo.MASTER_ADDR_KEY, local_addr or socket.getfqdn())
            store.set(RendezvousStoreInfo.MASTER_PORT_KEY, f"{port}")
        address, port = (store.get(key).decode() for key in (RendezvousStoreInfo.MASTER_ADDR_KEY, RendezvousStoreInfo.MASTER_PORT_KEY))
        return RendezvousStoreInfo(address, int(port))


class RendezvousInfo:
    """Result of a rendezvous: a store, this node's rank, the number of nodes and where the processes meet.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousInfo
    >>> RendezvousInfo(None, 0, 2, None).world_size
    2
    """

    def __init__(self, store, rank, world_size, bootstrap_store_info):
        self._store, self._rank, self._world_size, self._bootstrap_store_info = store, rank, world_size, bootstrap_store_info

    @property
    def store(self):
        """A store of this round."""
        return self._store

    @property
    def rank(self):
        """This node's rank."""
        return self._rank

    @property
    def world_size(self):
        """The number of nodes."""
        return self._world_size

    @property
    def bootstrap_store_info(self):
        """Where the processes meet."""
        return self._bootstrap_store_info


class RendezvousHandler(abc.ABC):
    """Takes part in the rendezvous of one job: `next_rendezvous()` blocks until the nodes have met."""

    @abc.abstractmethod
    def get_backend(self):
        """The name of the kind of rendezvous."""

    @property
    def use_agent_store(self):
        """Whether processes meet in the store of the agents."""
        return False

    @abc.abstractmethod
    def next_rendezvous(self):
        """A `RendezvousInfo`. Errors: RendezvousClosedError, RendezvousConnectionError, RendezvousTimeoutError."""

    @abc.abstractmethod
    def is_closed(self):
        """Whether the job has ended."""

    @abc.abstractmethod
    def set_closed(self):
        """Says that the job has ended."""

    @abc.abstractmethod
    def num_nodes_waiting(self):
        """How many nodes wait to be let in."""

    @abc.abstractmethod
    def get_run_id(self):
        """The name of the job."""

    @abc.abstractmethod
    def shutdown(self):
        """Leaves; whether that went well."""


class RendezvousBackend(abc.ABC):
    """One state of bytes that all nodes read and replace: `get_state()` and `set_state(state, token)`.

    >>> from cresset.distributed.elastic.rendezvous.dynamic_rendezvous import RendezvousBackend
    >>> sorted(RendezvousBackend.__abstractmethods__)
    ['get_state', 'name', 'set_state']
    """

    @property
    @abc.abstractmethod
    def name(self):
        """The name of the kind of rendezvous."""

    @abc.abstractmethod
    def get_state(self):
        """(state, token), or None before the first. Errors: RendezvousConnectionError, RendezvousStateError."""

    @abc.abstractmethod
    def set_state(self, state, token=None):
        """Replaces the state that the token belongs to (none: there is no state yet): (state, token, whether it is this one). Errors: those of `get_state`."""


_TRUTHS = {**dict.fromkeys(("1", "true", "t", "yes", "y"), True), **dict.fromkeys(("0", "false", "f", "no", "n"), False)}


def _truth(option):
    found = _TRUTHS.get(str(option).lower())
    if found is None:
        raise ValueError(option)
    return found


class RendezvousParameters:
    """Parameters of a rendezvous: its kind, an endpoint, the job's name, the least and the largest number of nodes, an address of this one, and options.

    Errors: ValueError for no kind and numbers that do not fit.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousParameters
    >>> RendezvousParameters("c10d", "localhost:0", "job", 1, 2, timeout="7").get_as_int("timeout")
    7
    """

    def __init__(self, backend, endpoint, run_id, min_nodes, max_nodes, local_addr=None, **kwargs):
        if not backend:
            raise ValueError("RendezvousParameters: expected the name of a backend, got none")
        if not 1 <= min_nodes <= max_nodes:
            raise ValueError(f"RendezvousParameters: expected 1 <= min_nodes <= max_nodes, got {min_nodes} and {max_nodes}")
        self.backend, self.endpoint, self.run_id, self.min_nodes, self.max_nodes = backend, endpoint, run_id, min_nodes, max_nodes
        self.local_addr, self.config = local_addr, kwargs

    def get(self, key, default=None):
        """An option, or the default."""
        return self.config.get(key, default)

    def get_as_bool(self, key, default=None):
        """An option as truth. Errors: ValueError."""
        return self._read(key, default, _truth, "true or false")

    def get_as_int(self, key, default=None):
        """An option as a whole number. Errors: ValueError."""
        return self._read(key, default, int, "a whole number")

    def _read(self, key, default, convert, kind):
        option = self.get(key, default)
        try:
            return None if option is None else convert(option)
        except ValueError:
            raise ValueError(f"rendezvous: expected {kind} as {key}, got {option!r}") from None


RendezvousHandlerCreator = Callable[[RendezvousParameters], RendezvousHandler]


class RendezvousHandlerRegistry:
    """Kinds of rendezvous by name: `register(name, creator)`, `create_handler(params)`.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousHandlerRegistry
    >>> RendezvousHandlerRegistry().names()
    []
    """

    def __init__(self):
        self._creators = {}

    def register(self, backend, creator):
        """Makes a kind known. Errors: ValueError for a name that is."""
        if not backend:
            raise ValueError("rendezvous: expected the name of a backend, got none")
        if self._creators.get(backend, creator) is not creator:
            raise ValueError(f"rendezvous: the backend {backend!r} is registered already")
        self._creators[backend] = creator

    def names(self):
        """The names that are known."""
        return list(self._creators)

    def create_handler(self, params):
        """A handler for parameters. Errors: ValueError for a kind that is not known."""
        if params.backend not in self._creators:
            raise ValueError(f"rendezvous: no backend is registered as {params.backend!r}; there are {', '.join(sorted(self._creators))}")
        return self._creators[params.backend](params)


rendezvous_handler_registry = RendezvousHandlerRegistry()
