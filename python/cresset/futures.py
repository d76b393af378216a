"""torch.futures: values that are not there yet.

>>> future = torch.futures.Future()
>>> future.set_result(1)
>>> future.wait()
1
"""

import threading as _threading
import types as _types

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A value that will be set later, and functions that wait for it.

    >>> future = torch.futures.Future()
    >>> doubled = future.then(lambda f: 2 * f.value())
    >>> future.set_result(3)
    >>> doubled.wait()
    6
    """

    __class_getitem__ = classmethod(_types.GenericAlias)

    def __init__(self, *, devices=None):
        for device in devices or ():
            if getattr(device, "index", device) is None or isinstance(device, str) and ":" not in device:
                raise ValueError(f"Future: expected devices with indices, got {device}")
        self._changed, self._done = _threading.Condition(), False
        self._value = self._error = None
        self._callbacks = []

    def done(self):
        """Whether there is a value, or an error."""
        return self._done

    def wait(self):
        """The value, once it is there; an error is raised."""
        with self._changed:
            self._changed.wait_for(lambda: self._done)
        return self.value()

    def value(self):
        """The value, which must be there; an error is raised. RuntimeError before that."""
        if not self._done:
            raise RuntimeError("value() is called before the future is completed; wait() waits for it")
        if self._error is not None:
            raise self._error
        return self._value

    def _finish(self, value, error):
        with self._changed:
            if self._done:
                raise RuntimeError("Future: the value is set already")
            self._value, self._error, self._done = value, error, True
            self._changed.notify_all()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            self._call(callback)

    def set_result(self, result):
        """Gives the value. RuntimeError the second time."""
        self._finish(result, None)

    def set_exception(self, result):
        """Gives an error in place of the value. AssertionError for anything but an exception."""
        if not isinstance(result, Exception):
            raise AssertionError(f"set_exception: expected an exception, got {result!r} of type {type(result).__name__}")
        self._finish(None, result)

    def add_done_callback(self, callback):
        """Calls a function with this future when it is done, or at once. Its exceptions are logged."""
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        self._call(callback)

    def _call(self, callback):
        try:
            callback(self)
        except Exception:  # there is no caller to raise it to
            import logging  # of use only here, and slow to load

            logging.getLogger(__name__).exception("a callback of a future failed")

    def __reduce__(self):
        raise RuntimeError("Future: cannot be pickled, its value is to come in this process")

    def then(self, callback):
        """The future of a function's result for this future when it is done. Its exception is the cause of that future's RuntimeError."""
        following = Future()

        def go_on(done):
            try:
                result = callback(done)
            except Exception as error:  # noqa: BLE001  it is raised where the value is asked for
                failure = RuntimeError(f"Future: the callback failed with {type(error).__name__}: {error}")
                failure.__cause__ = error
                following.set_exception(failure)
            else:
                following.set_result(result)

        self.add_done_callback(go_on)
        return following


def collect_all(futures):
    """The future of the list of futures, when all are done.

    >>> a = torch.futures.Future()
    >>> both = torch.futures.collect_all([a])
    >>> a.set_result(1)
    >>> [f.value() for f in both.wait()]
    [1]
    """
    futures, everything, lock = list(futures), Future(), _threading.Lock()
    if any(future is None for future in futures):
        raise RuntimeError("collect_all: Future can't be None")
    left = [len(futures)]
    if not futures:
        everything.set_result([])

    def one(_):
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            everything.set_result(futures)

    for future in futures:
        future.add_done_callback(one)
    return everything


def wait_all(futures):
    """The values of futures, once all are there; the first error is raised.

    >>> a = torch.futures.Future()
    >>> a.set_result(1)
    >>> torch.futures.wait_all([a])
    [1]
    """
    return [future.wait() for future in collect_all(futures).wait()]
