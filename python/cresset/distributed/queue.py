"""Blocking queues on a store: what one process puts, exactly one other gets, in the order of putting.

Values are data (`_wire.py`). A process that dies after `get` has taken its value with it: `get` is at most once.
"""

import datetime
import queue as _queue

from . import _wire
from ._stores import DistQueueEmptyError

__all__ = ["Empty", "Queue"]
Empty = _queue.Empty


class Queue:
    """A queue of a name on a store.

    >>> from cresset.distributed.queue import Queue
    >>> queue = Queue(dist.HashStore(), "work"); queue.put({"batch": 3}); queue.qsize(), queue.get()
    (1, {'batch': 3})
    """

    def __init__(self, store, name):
        self._store, self._name = store.clone() if store._impl is not None else store, f"queue/{name}"

    def put(self, value):
        """Puts a value at the end. Errors: ValueError for one that cannot travel."""
        self._store.queue_push(self._name, _wire.dumps(value))

    def get(self, block=True, timeout=None):
        """The oldest value. Errors: `queue.Empty` where none comes within `timeout` seconds (None: the store's timeout), or there is none now unless `block`."""
        if timeout is not None:
            self._store.set_timeout(datetime.timedelta(seconds=max(timeout, 0.001)))
        try:
            return _wire.loads(self._store.queue_pop(self._name, block))
        except DistQueueEmptyError:
            raise Empty from None

    def qsize(self):
        """How many values wait."""
        return self._store.queue_len(self._name)

    def empty(self):
        """Whether none waits."""
        return self.qsize() == 0
