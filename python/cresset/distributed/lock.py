"""Locks with leases on a store.

A holder has the lock for `lease` seconds by the clock of the store's server, and longer where it renews. A holder that stalls longer than its lease may run
beside the next one: what they protect must check `token`, which is larger for each new holder. See docs/distributed.md.

    with Lock(store, "checkpoint", lease=10) as lock:
        write(fencing=lock.token)
"""

import datetime
import time
import uuid

__all__ = ["Lock", "LockLost"]


class LockLost(RuntimeError):
    """The lease ran out before the holder was done.

    >>> from cresset.distributed.lock import LockLost
    >>> issubclass(LockLost, RuntimeError)
    True
    """


class Lock:
    """A lock of a name on a store.

    Args:
        store: one with leases.
        name: of the lock.
        lease: seconds that a holder has it without renewing.

    >>> from cresset.distributed.lock import Lock
    >>> store = dist.HashStore()
    >>> with Lock(store, "a") as lock:
    ...     Lock(store, "a").acquire(timeout=0), lock.token
    (False, 1)
    """

    def __init__(self, store, name, lease=30.0):
        if lease <= 0:
            raise ValueError(f"Lock: expected a lease of more than 0 seconds, got {lease}")
        self._store, self._name, self._lease, self._owner, self.token = store._native(), f"lock/{name}", int(lease * 1000), uuid.uuid4().hex, 0

    def acquire(self, timeout=None):
        """Takes the lock, waiting at most `timeout` seconds (None: without limit); whether it was had."""
        end = None if timeout is None else time.monotonic() + timeout
        pause = 0.002
        while True:
            self.token = self._store.acquire_lease(self._name, self._owner, self._lease)
            if self.token:
                return True
            if end is not None and time.monotonic() >= end:
                return False
            time.sleep(pause)
            pause = min(2 * pause, 0.1)

    def renew(self):
        """Holds the lock for another lease. Errors: LockLost where another had it meanwhile, or may have had."""
        token = self._store.acquire_lease(self._name, self._owner, self._lease)
        if token != self.token:
            if token:
                self._store.release_lease(self._name, self._owner)
            raise LockLost(f"Lock: the lease on {self._name!r} has run out")

    def release(self):
        """Gives the lock back. Errors: LockLost where the lease had run out."""
        if not self._store.release_lease(self._name, self._owner):
            raise LockLost(f"Lock: the lease on {self._name!r} has run out")

    def __enter__(self):
        self.acquire()
        return self

    def __exit__(self, kind, value, traceback):
        try:
            self.release()
        except LockLost:
            if kind is None:
                raise

    def __repr__(self):
        return f"Lock({self._name!r}, lease={datetime.timedelta(milliseconds=self._lease)})"
