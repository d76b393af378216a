"""How processes find each other: `env://`, `tcp://host:port` and `file:///path` lead to a store, a rank and a number of processes."""

import os
import urllib.parse

from ._group import default_pg_timeout
from ._stores import FileStore, PrefixStore, TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]

_handlers = {}


def register_rendezvous_handler(scheme, handler):
    """Makes `scheme://...` known: the handler gets the URL, whose query holds `rank` and `world_size` where they were given, and `timeout`, and yields
    (store, rank, world_size). Errors: RuntimeError for one that is known.

    >>> dist.register_rendezvous_handler('single', lambda url, **options: iter([(dist.HashStore(), 0, 1)]))
    >>> next(dist.rendezvous('single://'))[1:]
    (0, 1)
    """
    if scheme in _handlers:
        raise RuntimeError(f"rendezvous: {scheme}:// has a handler already")
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
        raise RuntimeError(f"rendezvous: no handler for {parts.scheme}://; there are {', '.join(sorted(_handlers))}")
    query = dict(urllib.parse.parse_qsl(parts.query))
    for name, value in (("rank", rank), ("world_size", world_size)):
        if value != -1:
            query[name] = str(value)
    whole = urllib.parse.urlunparse(parts._replace(query=urllib.parse.urlencode(query)))
    if parts.scheme == "file" and not parts.netloc:
        whole = whole.replace("file:/", "file:///", 1) if not whole.startswith("file:///") else whole
    return _handlers[parts.scheme](whole, **options)


def _missing(what, scheme):
    return ValueError(f"rendezvous: {scheme}:// lacks {what}")


def _parts(url):
    parts = urllib.parse.urlparse(url)
    query = dict(urllib.parse.parse_qsl(parts.query))
    return parts, {name: int(query[name]) for name in ("rank", "world_size") if name in query}


def _known(given, scheme):
    for name in ("rank", "world_size"):
        if name not in given:
            raise _missing(f"a {name}", scheme)
    return given["rank"], given["world_size"]


def _tcp(host, port, rank, world_size, timeout):
    """The store of a job: that of the agent which launched it, or one that rank 0 begins."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        store = TCPStore(host, port, world_size, False, timeout)
        # Nodes may have begun again differently often: the launcher says what all of them call this attempt.
        attempt = os.environ.get("CRESSET_JOB_ATTEMPT") or os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        return PrefixStore(f"/worker/attempt_{attempt}", store)
    return TCPStore(host, port, world_size, rank == 0, timeout=timeout, wait_for_workers=True, multi_tenant=port != 0)


def _tcp_handler(url, timeout=default_pg_timeout, **_):
    parts, given = _parts(url)
    if not parts.port and parts.port != 0:
        raise _missing("a port", "tcp")
    rank, world_size = _known(given, "tcp")
    yield _tcp(parts.hostname, parts.port, rank, world_size, timeout), rank, world_size


def _file_handler(url, timeout=default_pg_timeout, **_):
    parts, given = _parts(url)
    if not parts.path:
        raise _missing("a path", "file")
    rank, world_size = _known(given, "file")
    store = FileStore(parts.path, world_size)
    store.set_timeout(timeout)
    yield store, rank, world_size


def _env_handler(url, timeout=default_pg_timeout, **_):
    def variable(name):
        if name not in os.environ:
            raise _missing(f"the environment variable {name}", "env")
        return os.environ[name]

    given = _parts(url)[1]
    rank = given["rank"] if "rank" in given else int(variable("RANK"))
    world_size = given["world_size"] if "world_size" in given else int(variable("WORLD_SIZE"))
    yield _tcp(variable("MASTER_ADDR"), int(variable("MASTER_PORT")), rank, world_size, timeout), rank, world_size


register_rendezvous_handler("tcp", _tcp_handler)
register_rendezvous_handler("file", _file_handler)
register_rendezvous_handler("env", _env_handler)
