"""Nodes with fixed ranks that meet at the first one's address."""

import datetime

import _cresset_dist
from cresset.distributed._stores import PrefixStore, TCPStore, _milliseconds

from .api import RendezvousHandler, RendezvousInfo, RendezvousParameters, RendezvousStoreInfo
from .utils import parse_rendezvous_endpoint

__all__ = ["StaticTCPRendezvous", "create_rdzv_handler"]


class StaticTCPRendezvous(RendezvousHandler):
    """A rendezvous of nodes whose ranks are known. Each says every `keep_alive_interval` seconds that it lives, and counts as gone when it has missed that
    `keep_alive_max_attempt` times.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousParameters
    >>> from cresset.distributed.elastic.rendezvous.static_tcp_rendezvous import create_rdzv_handler
    >>> create_rdzv_handler(RendezvousParameters('static', 'localhost:0', 'job', 1, 1, rank=0)).next_rendezvous().rank
    0
    """

    def __init__(self, master_addr, master_port, rank, world_size, run_id, timeout, *, keep_alive_interval=5, keep_alive_max_attempt=3):
        self.master_addr, self.master_port, self.rank, self.world_size, self.run_id = master_addr, master_port, rank, world_size, run_id
        self.timeout, self._store, self._heart = datetime.timedelta(seconds=timeout), None, None
        self._beat, self._life = keep_alive_interval, keep_alive_interval * keep_alive_max_attempt

    def get_backend(self):
        return "static"

    @property
    def use_agent_store(self):
        return True

    def next_rendezvous(self):
        if self._store is None:
            self._store = TCPStore(self.master_addr, self.master_port, None, self.rank == 0, self.timeout, multi_tenant=self.master_port != 0)
        store = PrefixStore(self.run_id, self._store)
        if self._heart is None:
            self._heart = _cresset_dist.heart(store._native(), self.rank, _milliseconds(self._beat))
        info = RendezvousStoreInfo(self.master_addr, self._store.port)
        return RendezvousInfo(store, self.rank, self.world_size, info)

    def is_closed(self):
        return False

    def set_closed(self):
        return None

    def num_nodes_waiting(self):
        return 0

    def get_run_id(self):
        return self.run_id

    def shutdown(self):
        self._heart = None
        return True


def create_rdzv_handler(params: RendezvousParameters):
    """A handler for parameters with the option `rank`, and if wished `timeout`, `keep_alive_interval` (seconds) and `keep_alive_max_attempt`. Errors:
    ValueError where the rank lacks.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousParameters
    >>> from cresset.distributed.elastic.rendezvous.static_tcp_rendezvous import create_rdzv_handler
    >>> create_rdzv_handler(RendezvousParameters('static', 'localhost:0', 'job', 1, 1, rank=0)).get_backend()
    'static'
    """
    if "rank" not in params.config:
        raise ValueError("static rendezvous: expected the node's rank among the options (--node-rank)")
    host, port = parse_rendezvous_endpoint(params.endpoint, -1)
    if port == -1:
        raise ValueError(f"static rendezvous: expected a port in the endpoint, got {params.endpoint!r}")
    return StaticTCPRendezvous(
        host, port, int(params.config["rank"]), params.max_nodes, params.run_id, float(params.config.get("timeout", 600)),
        keep_alive_interval=float(params.get("keep_alive_interval", 5)), keep_alive_max_attempt=params.get_as_int("keep_alive_max_attempt", 3),
    )  # fmt: skip
