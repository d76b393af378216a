"""The rendezvous with nodes that come and go, over a store that the caller has."""

import dataclasses
import datetime

from .api import RendezvousBackend, RendezvousParameters
from .c10d_rendezvous_backend import C10dRendezvousHandler

__all__ = ["DynamicRendezvousHandler", "RendezvousBackend", "RendezvousSettings", "RendezvousTimeout", "create_handler"]


class RendezvousTimeout:
    """How long nodes wait: to `join` a round, for more nodes once there are enough (`last_call`), to `close` the job, for a `heartbeat`.

    Errors: ValueError for times that are not positive.

    >>> from cresset.distributed.elastic.rendezvous.dynamic_rendezvous import RendezvousTimeout
    >>> RendezvousTimeout().join
    datetime.timedelta(seconds=600)
    """

    def __init__(self, join=None, last_call=None, close=None, heartbeat=None):
        given = {"join": (join, 600), "last_call": (last_call, 30), "close": (close, 30), "heartbeat": (heartbeat, 5)}
        for name, (time, seconds) in given.items():
            time = datetime.timedelta(seconds=seconds) if time is None else time
            if time <= datetime.timedelta(0):
                raise ValueError(f"RendezvousTimeout: expected a positive time for {name}, got {time}")
            setattr(self, f"_{name}", time)

    @property
    def join(self):
        """How long a node waits for a round."""
        return self._join

    @property
    def last_call(self):
        """How long a round waits for more nodes than it needs."""
        return self._last_call

    @property
    def close(self):
        """How long the end of a job may take to be said."""
        return self._close

    @property
    def heartbeat(self):
        """How long a heartbeat may take."""
        return self._heartbeat


@dataclasses.dataclass(repr=False, eq=False, frozen=True)
class RendezvousSettings:
    """The settings of a rendezvous: the job, the numbers of nodes, times, and after how many missed heartbeats a node counts as gone.

    >>> import datetime
    >>> from cresset.distributed.elastic.rendezvous.dynamic_rendezvous import RendezvousSettings, RendezvousTimeout
    >>> RendezvousSettings("job", 1, 2, RendezvousTimeout(), datetime.timedelta(seconds=5), 3).max_nodes
    2
    """

    run_id: str
    min_nodes: int
    max_nodes: int
    timeout: RendezvousTimeout
    keep_alive_interval: datetime.timedelta
    keep_alive_max_attempt: int


class DynamicRendezvousHandler(C10dRendezvousHandler):
    """Takes part in the rounds of one job; `from_backend` makes it over a store.

    >>> from cresset.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
    >>> from cresset.distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler
    >>> store = dist.HashStore()
    >>> handler = DynamicRendezvousHandler.from_backend("job", store, C10dRendezvousBackend(store, "job"), 1, 1)
    >>> handler.next_rendezvous().world_size, handler.settings.run_id
    (1, 'job')
    >>> handler.shutdown()
    True
    """

    @classmethod
    def from_backend(cls, run_id, store, backend, min_nodes, max_nodes, local_addr=None, timeout=None, keep_alive_interval=5, keep_alive_max_attempt=3):
        """A handler whose nodes share `store`, which has the rounds and gives each one its own keys. The backend names the kind; its state is left to the program,
        since rounds are kept as keys that no node needs to unpickle. `timeout.close` and `.heartbeat` are bounded by the store's own timeout.

        Errors: ValueError for numbers of nodes that do not fit.
        """
        timeout = RendezvousTimeout() if timeout is None else timeout
        params = RendezvousParameters(
            backend.name, "", run_id, min_nodes, max_nodes, local_addr, join_timeout=timeout.join.total_seconds(),
            last_call_timeout=timeout.last_call.total_seconds(), keep_alive_interval=keep_alive_interval, keep_alive_max_attempt=keep_alive_max_attempt,
        )  # fmt: skip
        handler = cls(store, params, local_addr, backend.name)
        beat = datetime.timedelta(seconds=keep_alive_interval)
        handler._settings = RendezvousSettings(run_id, min_nodes, max_nodes, timeout, beat, keep_alive_max_attempt)
        return handler

    @property
    def settings(self):
        """The settings that it was made with."""
        return self._settings


def create_handler(store, backend, params):
    """A handler over a store, of parameters with the options `join_timeout`, `last_call_timeout`, `close_timeout`, `heartbeat_timeout`, `keep_alive_interval`
    (seconds) and `keep_alive_max_attempt`. Errors: ValueError for options that are no positive numbers.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousParameters
    >>> from cresset.distributed.elastic.rendezvous.c10d_rendezvous_backend import create_backend
    >>> from cresset.distributed.elastic.rendezvous.dynamic_rendezvous import create_handler
    >>> params = RendezvousParameters("c10d", "localhost:0", "job", 1, 1, is_host=True, join_timeout=3)
    >>> backend, store = create_backend(params)
    >>> create_handler(store, backend, params).settings.timeout.join
    datetime.timedelta(seconds=3)
    """

    def seconds(name):
        found = params.get(f"{name}_timeout")
        return None if found is None else datetime.timedelta(seconds=float(found))

    timeout = RendezvousTimeout(seconds("join"), seconds("last_call"), seconds("close"), seconds("heartbeat"))
    return DynamicRendezvousHandler.from_backend(
        params.run_id, store, backend, params.min_nodes, params.max_nodes, params.local_addr, timeout,
        float(params.get("keep_alive_interval", 5)), params.get_as_int("keep_alive_max_attempt", 3),
    )  # fmt: skip
