"""The rendezvous of nodes that come and go, in rounds over a store; the rounds are C++'s (`cresset/dist/elastic/rendezvous.h`)."""

import os

import _cresset_dist
from cresset.distributed._stores import DistStoreError, Store, _milliseconds

from . import api
from .api import RendezvousConnectionError, RendezvousHandler, RendezvousInfo, RendezvousParameters, RendezvousStoreInfo
from .utils import parse_rendezvous_endpoint

__all__ = ["C10dRendezvousHandler", "create_rdzv_handler"]

_PORT = 29400
_cresset_dist.set_rendezvous_errors({
    "closed": api.RendezvousClosedError, "timeout": api.RendezvousTimeoutError, "connection": RendezvousConnectionError, "state": api.RendezvousStateError,
})  # fmt: skip


class _RoundStore(Store):
    """The store of a round, which C++ holds."""

    def __init__(self, native):
        self._impl = native


class C10dRendezvousHandler(RendezvousHandler):
    """Takes part in the rounds of one job, over a store or over that of the endpoints "first:29400,second:29400", of which the first that lives has it.

    Options of `params`: `join_timeout` (or `timeout`), `last_call_timeout`, `keep_alive_interval`, `read_timeout` in seconds, `keep_alive_max_attempt`,
    `is_host` (whether this node has the store; else the one whose address an endpoint names).

    >>> from cresset.distributed.elastic.rendezvous import RendezvousParameters
    >>> from cresset.distributed.elastic.rendezvous.c10d_rendezvous_backend import create_rdzv_handler
    >>> handler = create_rdzv_handler(RendezvousParameters('c10d', 'localhost:0', 'job', 1, 1, is_host=True))
    >>> handler.next_rendezvous().world_size
    1
    >>> handler.shutdown()
    True
    """

    def __init__(self, place, params, local_addr=None, kind="c10d"):
        self._params, self._kind, self._local_addr = params, kind, local_addr
        hosts = params.get_as_bool("is_host")
        beat = float(params.get("keep_alive_interval", 5))
        self._patience = _milliseconds(beat * int(params.get("keep_alive_max_attempt", 3)) + 10)
        self._launcher = _cresset_dist.rendezvous(
            place._native() if isinstance(place, Store) else place, -1 if hosts is None else int(hosts), params.run_id, params.min_nodes, params.max_nodes,
            _milliseconds(float(params.get("join_timeout", params.get("timeout", 600)))), _milliseconds(float(params.get("read_timeout", 60))),
            _milliseconds(float(params.get("last_call_timeout", 30))), _milliseconds(beat), int(params.get("keep_alive_max_attempt", 3)),
        )  # fmt: skip

    def get_backend(self):
        return self._kind

    @property
    def use_agent_store(self):
        return os.getenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "0") != "1"

    def get_run_id(self):
        return self._params.run_id

    def is_closed(self):
        return self._launcher.closed()

    def set_closed(self):
        if not self._launcher.close():
            raise RendezvousConnectionError(f"{self._kind} rendezvous: the store of the job {self._params.run_id!r} cannot be reached")

    def num_nodes_waiting(self):
        """How many nodes wait for the next round: new ones, where this round has room for more, and nodes of this round that begin again."""
        return self._launcher.waiting()

    def shutdown(self):
        return self._launcher.close()

    def next_rendezvous(self):
        while True:
            rank, size, native = self._launcher.next()
            store = _RoundStore(native)
            try:
                return RendezvousInfo(store, rank, size, self._where(store, rank, size))
            except (DistStoreError, RendezvousConnectionError):  # the first node, or the store, has gone since
                if size == 1:
                    raise

    def _where(self, store, rank, size):
        """Where the processes of a round meet: in a store of the first node's launcher, or in one of their own at its address."""
        if self.use_agent_store:
            return RendezvousStoreInfo(*self._launcher.process_store(rank, size, store._impl, self._local_addr or "", self._patience))
        return RendezvousStoreInfo.build(rank, store, self._local_addr or store._impl.own_host())


def _endpoints(text):
    """Endpoints as C++ reads them: "host:port,host:port"."""
    places = [parse_rendezvous_endpoint(part, _PORT) for part in (text or "localhost").split(",")]
    return ",".join(f"{host}:{port}" for host, port in places)


def create_rdzv_handler(params: RendezvousParameters):
    """A handler for parameters. The node whose address the endpoint names has the store (`is_host` says otherwise); of several on one machine, the first.
    Of several endpoints, "first:29400,second:29400", the next takes charge when the node with the store is lost.

    Errors: RendezvousConnectionError where the store cannot be reached.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousParameters
    >>> from cresset.distributed.elastic.rendezvous.c10d_rendezvous_backend import create_rdzv_handler
    >>> create_rdzv_handler(RendezvousParameters('c10d', 'localhost:0', 'job', 1, 1, is_host=True)).get_run_id()
    'job'
    """
    return C10dRendezvousHandler(_endpoints(params.endpoint), params, params.local_addr)
