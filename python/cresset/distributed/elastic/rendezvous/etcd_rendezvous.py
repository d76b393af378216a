"""The rendezvous with nodes that come and go, over etcd: no node has the store, so that any may be lost."""

import datetime

from cresset.distributed._stores import DistError

from .api import RendezvousConnectionError, RendezvousParameters
from .c10d_rendezvous_backend import C10dRendezvousHandler
from .etcd_store import EtcdStore
from .utils import parse_rendezvous_endpoint

__all__ = ["EtcdRendezvousHandler", "create_rdzv_handler"]

_PORT = 2379
EtcdRendezvousHandler = C10dRendezvousHandler


def create_rdzv_handler(params: RendezvousParameters):
    """A handler for parameters: `endpoint` is etcd's ("host:2379", or several in a row with commas); options `etcd_prefix`, `ttl` (seconds that etcd
    keeps the job's keys after its last change), `protocol`. Errors: RendezvousConnectionError where etcd cannot be reached.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousParameters
    >>> from cresset.distributed.elastic.rendezvous.etcd_rendezvous import create_rdzv_handler
    >>> try:
    ...     create_rdzv_handler(RendezvousParameters("etcd", "localhost:1", "job", 1, 1))
    ... except Exception as error:
    ...     type(error).__name__
    'RendezvousConnectionError'
    """
    scheme = params.get("protocol", "http")
    places = [parse_rendezvous_endpoint(part.rpartition("://")[2], _PORT) for part in (params.endpoint or "localhost").split(",")]
    endpoints = ",".join(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}" for host, port in places)
    timeout = datetime.timedelta(seconds=float(params.get("read_timeout", 60)))
    try:
        store = EtcdStore(endpoints, params.get("etcd_prefix", "/torch/elastic/rendezvous"), timeout, params.get_as_int("ttl", 7200))
    except DistError as error:
        raise RendezvousConnectionError(f"{params.backend} rendezvous: no store at {endpoints}: {error}") from error
    return C10dRendezvousHandler(store, params, params.local_addr, params.backend)
