"""A rendezvous over a store, in rounds.

Nodes that want into a round count themselves (`joined`) and beat. When the largest number has come, or the least and the last call is over, one of
them writes the list of those whose hearts beat (`final`); their places in it are their ranks. A node that comes later waits for the next round, which the
nodes of this one begin when they see it (`num_nodes_waiting`).
"""

import datetime
import os
import socket
import threading
import time

from cresset.distributed._stores import DistError, DistNetworkError, PrefixStore, TCPStore

from .api import (
    RendezvousClosedError,
    RendezvousConnectionError,
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStateError,
    RendezvousStoreInfo,
    RendezvousTimeoutError,
)
from .utils import _matches_machine_hostname, parse_rendezvous_endpoint

__all__ = ["C10dRendezvousHandler", "create_rdzv_handler"]

_PORT = 29400


class C10dRendezvousHandler(RendezvousHandler):
    """Takes part in the rounds of one job.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousParameters
    >>> from cresset.distributed.elastic.rendezvous.c10d_rendezvous_backend import create_rdzv_handler
    >>> handler = create_rdzv_handler(RendezvousParameters('c10d', 'localhost:0', 'job', 1, 1, is_host=True))
    >>> handler.next_rendezvous().world_size
    1
    >>> handler.shutdown()
    True
    """

    def __init__(self, store, host, port, params, local_addr=None, kind="c10d"):
        self._base, self._host, self._port, self._params, self._kind = store, host, port, params, kind
        self._store = PrefixStore(f"torch.rendezvous.{params.run_id}", store)
        self._local_addr = local_addr
        self._join_timeout = float(params.get("join_timeout", params.get("timeout", 600)))
        self._last_call = float(params.get("last_call_timeout", 30))
        self._beat_interval = float(params.get("keep_alive_interval", 5))
        self._missed = int(params.get("keep_alive_max_attempt", 3))
        self._round, self._size, self._stopped = -1, 0, None

    def get_backend(self):
        return self._kind

    @property
    def use_agent_store(self):
        return self._kind == "c10d" and os.getenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "0") != "1"

    def get_run_id(self):
        return self._params.run_id

    def _asked(self, run):
        try:
            return run()
        except DistNetworkError as error:
            raise RendezvousConnectionError(f"{self._kind} rendezvous: the store at {self._host}:{self._port} cannot be reached: {error}") from error
        except ValueError as error:
            raise RendezvousStateError(f"{self._kind} rendezvous: the store holds no state of a rendezvous: {error}") from error

    def is_closed(self):
        return self._asked(lambda: self._store.check(["closed"]))

    def set_closed(self):
        self._asked(lambda: self._store.set("closed", "1"))

    def num_nodes_waiting(self):
        """How many nodes wait for the next round: new ones, where this round has room for more, and nodes of this round that begin again."""
        if self._round < 0:
            return 0
        name = "joined" if self._size < self._params.max_nodes else "again"
        return self._asked(lambda: self._store.add(f"{self._round + 1}/{name}", 0))

    def shutdown(self):
        self._stop_beating()
        try:
            self.set_closed()
            return True
        except (DistError, RendezvousConnectionError):
            return False

    # Hearts: a counter that each node raises while it waits in a round or takes part in it.

    def _start_beating(self, number):
        self._stop_beating()
        stopped, name = threading.Event(), f"{self._round}/beat/{number}"

        def beat():
            while True:
                try:
                    self._store.add(name, 1)
                except DistError:
                    return
                if stopped.wait(self._beat_interval):
                    return

        self._stopped = stopped
        threading.Thread(target=beat, daemon=True).start()

    def _stop_beating(self):
        if self._stopped is not None:
            self._stopped.set()
            self._stopped = None

    def _alive(self, joined, seen):
        """Numbers of the nodes whose hearts have beaten lately; `seen` remembers when each did."""
        now, alive = time.monotonic(), []
        for number in range(1, joined + 1):
            count = self._store.add(f"{self._round}/beat/{number}", 0)
            if seen.get(number, (None, 0))[0] != count:
                seen[number] = (count, now)
            if now - seen[number][1] < self._beat_interval * self._missed:
                alive.append(number)
        return alive

    def next_rendezvous(self):
        return self._asked(self._next)

    def _next(self):
        deadline = time.monotonic() + self._join_timeout
        again = self._round >= 0
        self._round = max(self._store.add("round", 0), self._round + 1)
        if again:
            self._store.add(f"{self._round}/again", 1)
        while True:
            number = self._store.add(f"{self._round}/joined", 1)
            if self._round > 0 and self._store.add("round", 0) < self._round:
                self._advance()
            self._store.set(f"{self._round}/node/{number}", f"{socket.getfqdn()} {os.getpid():010d} {id(self):020d}")
            self._start_beating(number)
            order = self._wait_for_final(deadline)
            if number in order:
                self._size = len(order)
                return self._info(order.index(number), len(order))
            # This round began without us: its nodes begin the next one when they see that a node waits for it.
            self._round += 1

    def _advance(self):
        now = self._store.add("round", 0)
        while now < self._round:
            self._store.compare_set("round", str(now), str(self._round))
            now = self._store.add("round", 0)

    def _wait_for_final(self, deadline):
        final, least, most = f"{self._round}/final", self._params.min_nodes, self._params.max_nodes
        enough_since, seen = None, {}
        while True:
            if self._store.check([final]):
                return [int(n) for n in self._store.get(final).decode().split(",")]
            if self._store.check(["closed"]):
                self._stop_beating()
                raise RendezvousClosedError(f"{self._kind} rendezvous: the job {self._params.run_id!r} has ended")
            joined = self._store.add(f"{self._round}/joined", 0)
            alive = self._alive(joined, seen)[:most]
            now = time.monotonic()
            enough_since = (enough_since or now) if len(alive) >= least else None
            if len(alive) == most or (enough_since is not None and now - enough_since >= self._last_call):
                # Nodes have the order of their names, so that ranks stay what they were where the same nodes meet again.
                names = {number: self._store.get(f"{self._round}/node/{number}") for number in alive}
                self._store.compare_set(final, "", ",".join(map(str, sorted(alive, key=names.__getitem__))))
                continue
            if now >= deadline:
                self._stop_beating()
                raise RendezvousTimeoutError(f"{self._kind} rendezvous: {len(alive)} nodes of at least {least} have come within {self._join_timeout:g} s")
            time.sleep(0.02)

    def _info(self, rank, size):
        store = PrefixStore(f"torch.rendezvous.{self._params.run_id}.{self._round}", self._base)
        if self.use_agent_store:
            where = RendezvousStoreInfo(self._host, self._port)
        else:
            alone = "localhost" if self._kind != "c10d" else self._host
            where = RendezvousStoreInfo.build(rank, store, self._local_addr or (alone if size == 1 else None))
        return RendezvousInfo(store, rank, size, where)


def create_rdzv_handler(params: RendezvousParameters):
    """A handler for parameters. The node whose address the endpoint names has the store (`is_host` says otherwise); of several on one machine, the first.

    Errors: RendezvousConnectionError where the store cannot be reached.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousParameters
    >>> from cresset.distributed.elastic.rendezvous.c10d_rendezvous_backend import create_rdzv_handler
    >>> create_rdzv_handler(RendezvousParameters('c10d', 'localhost:0', 'job', 1, 1, is_host=True)).get_run_id()
    'job'
    """
    host, port = parse_rendezvous_endpoint(params.endpoint, _PORT)
    timeout = datetime.timedelta(seconds=float(params.get("read_timeout", 60)))
    is_host = params.get_as_bool("is_host")
    store, reason = None, None
    for hosts in [True, False] if is_host is None and _matches_machine_hostname(host) else [bool(is_host)]:
        try:
            store = TCPStore(host, port, None, hosts, timeout, multi_tenant=port != 0)
            break
        except DistError as error:
            reason = error
    if store is None:
        raise RendezvousConnectionError(f"c10d rendezvous: the store at {host}:{port} cannot be reached: {reason}")
    local = params.local_addr or (socket.gethostname() if host not in ("localhost", "127.0.0.1", "::1") else None)
    return C10dRendezvousHandler(store, host, store.port, params, local)
