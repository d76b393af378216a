"""Nodes with fixed ranks that meet at the first one's address."""

import datetime

from cresset.distributed._stores import PrefixStore, TCPStore

from .api import RendezvousHandler, RendezvousInfo, RendezvousParameters, RendezvousStoreInfo
from .utils import parse_rendezvous_endpoint

__all__ = ["StaticTCPRendezvous", "create_rdzv_handler"]


class StaticTCPRendezvous(RendezvousHandler):
    """A rendezvous of nodes whose ranks are known.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousParameters
    >>> from cresset.distributed.elastic.rendezvous.static_tcp_rendezvous import create_rdzv_handler
    >>> create_rdzv_handler(RendezvousParameters('static', 'localhost:0', 'job', 1, 1, rank=0)).next_rendezvous().rank
    0
    """

    def __init__(self, master_addr, master_port, rank, world_size, run_id, timeout):
        self.master_addr, self.master_port, self.rank, self.world_size, self.run_id = master_addr, master_port, rank, world_size, run_id
        self.timeout, self._store = datetime.timedelta(seconds=timeout), None

    def get_backend(self):
        return "static"

    @property
    def use_agent_store(self):
        return True

    def next_rendezvous(self):
        if self._store is None:
            self._store = TCPStore(self.master_addr, self.master_port, None, self.rank == 0, self.timeout, multi_tenant=self.master_port != 0)
        store = PrefixStore(self.run_id, self._store)
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
        return True


def create_rdzv_handler(params: RendezvousParameters):
    """A handler for parameters with the option `rank`. Errors: ValueError where it lacks.

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
    return StaticTCPRendezvous(host, port, int(params.config["rank"]), params.max_nodes, params.run_id, float(params.config.get("timeout", 600)))
