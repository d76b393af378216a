"""How processes find each other: `env://`, `tcp://host:port` and `file:///path` lead to a store, a rank and a number of processes."""

import os
import urllib.parse

from ._group import default_pg_timeout
from ._stores import FileStore, TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]

_handlers = {}


def register_rendezvous_handler(scheme, handler):
    """Makes `scheme://...` known: the handler gets the URL and yields (store, rank, world_size). Errors: RuntimeError for one that is known.

    >>> dist.register_rendezvous_handler('single', lambda parts, rank, size, **options: iter([(dist.HashStore(), 0, 1)]))
    >>> next(dist.rendezvous('single://'))[1:]
    (0, 1)
    """
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url, rank=-1, world_size=-1, **options):
    """An iterator over (store, rank, world_size), as the URL says; rank and number may be part of its query (`?rank=0&world_size=2`).

    Errors: RuntimeError for an unknown scheme, ValueError where rank, number or address is missing.

    >>> store, rank, world_size = next(torch.distributed.rendezvous("tcp://localhost:0?rank=0&world_size=1"))
    >>> rank, world_size
    (0, 1)
    """
    if not isinstance(url, str):
        raise RuntimeError(f"rendezvous: expected url to be a str, got {type(url).__name__} {url!r}")
    parts = urllib.parse.urlparse(url)
    if parts.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://; there are {', '.join(sorted(_handlers))}")
    query = dict(urllib.parse.parse_qsl(parts.query))
    rank = int(query.get("rank", rank)) if rank == -1 else rank
    world_size = int(query.get("world_size", world_size)) if world_size == -1 else world_size
    return _handlers[parts.scheme](parts, rank, world_size, **options)


def _missing(what, scheme):
    return ValueError(f"rendezvous: {scheme}:// lacks {what}")


def _check_known(scheme, rank, world_size):
    for name, value in (("rank", rank), ("world_size", world_size)):
        if value == -1:
            raise _missing(f"a {name}", scheme)


def _tcp(host, port, rank, world_size, timeout):
    return TCPStore(host, port, world_size, rank == 0, timeout=timeout, wait_for_workers=False, multi_tenant=port != 0)


def _tcp_handler(parts, rank, world_size, timeout=default_pg_timeout):
    if not parts.port and parts.port != 0:
        raise _missing("a port", "tcp")
    _check_known("tcp", rank, world_size)
    yield _tcp(parts.hostname, parts.port, rank, world_size, timeout), rank, world_size


def _file_handler(parts, rank, world_size, timeout=default_pg_timeout):
    if not parts.path:
        raise _missing("a path", "file")
    _check_known("file", rank, world_size)
    store = FileStore(parts.path, world_size)
    store.set_timeout(timeout)
    yield store, rank, world_size


def _env_handler(parts, rank, world_size, timeout=default_pg_timeout):
    def variable(name):
        if name not in os.environ:
            raise _missing(f"the environment variable {name}", "env")
        return os.environ[name]

    rank = int(variable("RANK")) if rank == -1 else rank
    world_size = int(variable("WORLD_SIZE")) if world_size == -1 else world_size
    yield _tcp(variable("MASTER_ADDR"), int(variable("MASTER_PORT")), rank, world_size, timeout), rank, world_size


register_rendezvous_handler("tcp", _tcp_handler)
register_rendezvous_handler("file", _file_handler)
register_rendezvous_handler("env", _env_handler)
