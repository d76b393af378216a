"""The rendezvous of nodes that come and go, in rounds over a store; the rounds are C++'s (`cresset/dist/elastic/rendezvous.h`)."""

import base64
import binascii
import datetime
import os
import socket
import tempfile

import _cresset_dist
from cresset.distributed._stores import DistError, DistStoreError, FileStore, Store, TCPStore, _milliseconds

from . import api
from .api import (
    RendezvousBackend,
    RendezvousConnectionError,
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStateError,
    RendezvousStoreInfo,
)
from .utils import parse_rendezvous_endpoint

__all__ = ["C10dRendezvousBackend", "C10dRendezvousHandler", "create_backend", "create_rdzv_handler"]

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
        self._life = beat * int(params.get("keep_alive_max_attempt", 3))
        self._patience = _milliseconds(self._life + 10)
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


class C10dRendezvousBackend(RendezvousBackend):
    """The state of a job under one key of a store, in base64; tokens are what the key holds.

    >>> from cresset.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
    >>> backend = C10dRendezvousBackend(dist.HashStore(), "job")
    >>> backend.set_state(b"one")
    (b'one', b'b25l', True)
    >>> backend.set_state(b"two", b"another")
    (b'one', b'b25l', False)
    """

    def __init__(self, store, run_id):
        if not run_id:
            raise ValueError("C10dRendezvousBackend: expected the name of the job, got none")
        self._store, self._key = store, f"torch.rendezvous.{run_id}"
        self._held(lambda: store.compare_set(self._key, "", ""))  # so that the key is there

    @property
    def name(self):
        return "c10d"

    def _held(self, read):
        try:
            return read()
        except DistError as error:
            raise RendezvousConnectionError(f"C10dRendezvousBackend: the store does not answer: {error}") from error

    @staticmethod
    def _decoded(text):
        try:
            return base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise RendezvousStateError("C10dRendezvousBackend: expected base64 in the store, found something else") from error

    def get_state(self):
        text = self._held(lambda: self._store.get(self._key))
        return (self._decoded(text), text) if text else None

    def set_state(self, state, token=None):
        wanted = base64.b64encode(state)
        text = self._held(lambda: self._store.compare_set(self._key, (token or b"").decode(), wanted.decode()))
        return (self._decoded(text), text, text == wanted) if text else None


def _is_of_this_machine(host):
    try:
        with socket.create_server((host, 0)):
            return True
    except OSError:
        return False


def create_backend(params: RendezvousParameters):
    """(backend, store) of a job. Options: `store_type` ("tcp", or "file": the endpoint is a path, or none for a temporary file), `is_host`, `read_timeout` in
    seconds.

    Errors: ValueError for another `store_type`, RendezvousConnectionError where the store cannot be reached.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousParameters
    >>> from cresset.distributed.elastic.rendezvous.c10d_rendezvous_backend import create_backend
    >>> backend, store = create_backend(RendezvousParameters("c10d", "localhost:0", "job", 1, 2, is_host=True))
    >>> backend.get_state() is None, type(store).__name__
    (True, 'TCPStore')
    """
    kind = params.get("store_type", "tcp").strip().lower()
    if kind not in ("tcp", "file"):
        raise ValueError(f"c10d rendezvous: expected the store_type tcp or file, got {kind!r}")
    timeout = datetime.timedelta(seconds=float(params.get("read_timeout", 60)))
    try:
        store = _tcp_store(params, timeout) if kind == "tcp" else _file_store(params.endpoint, timeout)
    except (DistError, OSError) as error:
        raise RendezvousConnectionError(f"c10d rendezvous: no store at {params.endpoint!r}: {error}") from error
    return C10dRendezvousBackend(store, params.run_id), store


def _file_store(path, timeout):
    if not path:
        handle, path = tempfile.mkstemp()
        os.close(handle)
    store = FileStore(path)
    store.set_timeout(timeout)
    return store


def _tcp_store(params, timeout):
    """Where nothing says which node has the store, it is one of the endpoint's machine, the first that takes the port."""
    host, port = parse_rendezvous_endpoint(params.endpoint, _PORT)
    serves = params.get_as_bool("is_host")
    if serves is None and _is_of_this_machine(host):
        try:
            return TCPStore(host, port, None, True, timeout, wait_for_workers=False, multi_tenant=True)
        except DistError:
            serves = False  # another has taken it
    return TCPStore(host, port, None, bool(serves), timeout, wait_for_workers=False, multi_tenant=bool(serves) and port != 0)
