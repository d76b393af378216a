"""torch.monitor: numbers that a program counts in windows of time, and events that it tells to whoever listens.

>>> from datetime import timedelta
>>> heard = []
>>> handle = torch.monitor.register_event_handler(heard.append)
>>> steps = torch.monitor.Stat("steps", [torch.monitor.Aggregation.COUNT, torch.monitor.Aggregation.SUM], timedelta(hours=1), max_samples=2)
>>> steps.add(3)
>>> steps.add(4)
>>> heard[0].data == {"steps.count": 2.0, "steps.sum": 7.0}
True
>>> torch.monitor.unregister_event_handler(handle)
"""

import enum
import threading
import time
from datetime import datetime

__all__ = ["Aggregation", "Event", "EventHandlerHandle", "Stat", "TensorboardEventHandler", "data_value_t", "log_event", "register_event_handler",
           "unregister_event_handler"]  # fmt: skip

_lock = threading.RLock()
_handlers = {}  # handle -> function


class Aggregation(enum.Enum):
    """How the samples of a window become one number.

    >>> torch.monitor.Aggregation.SUM.name
    'SUM'
    """

    VALUE = 0  # the last one
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


class _ValueType(type):
    def __instancecheck__(cls, value):
        return isinstance(value, (str, int, float))


class data_value_t(metaclass=_ValueType):
    """Values of an event: texts, whole numbers, floating ones and bools.

    >>> isinstance("text", torch.monitor.data_value_t), isinstance([], torch.monitor.data_value_t)
    (True, False)
    """


class Event:
    """Something that happened: a name, a time and values by name. TypeError for a value of another kind than text, number or bool.

    >>> from datetime import datetime
    >>> torch.monitor.Event("saved", datetime(2026, 1, 1), {"epoch": 3}).data
    {'epoch': 3}
    """

    def __init__(self, name, timestamp, data):
        self.name, self.timestamp, self.data = name, timestamp, data

    @property
    def name(self):
        return self._name

    @name.setter
    def name(self, value):
        self._name = _of_type("name", value, str)

    @property
    def timestamp(self):
        return self._timestamp

    @timestamp.setter
    def timestamp(self, value):
        self._timestamp = _of_type("timestamp", value, datetime)

    @property
    def data(self):
        return dict(self._data)

    @data.setter
    def data(self, values):
        self._data = {}
        for name, value in dict(values).items():
            self._data[_of_type("a name of data", name, str)] = _of_type(f"data[{name!r}]", value, (str, int, float))


def _of_type(what, value, kinds):
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise TypeError(f"Event: {what}: expected {wanted}, got {type(value).__name__}")
    return value


class EventHandlerHandle:
    """The handle that `register_event_handler` gives, for `unregister_event_handler`.

    >>> isinstance(1, torch.monitor.EventHandlerHandle)
    False
    """


def register_event_handler(callback):
    """Calls `callback` with each event from now on. Returns a handle for `unregister_event_handler`.

    >>> handle = torch.monitor.register_event_handler(print)
    >>> torch.monitor.unregister_event_handler(handle)
    """
    if not callable(callback):
        raise TypeError(f"register_event_handler: expected a function of an event, got {type(callback).__name__}")
    handle = EventHandlerHandle()
    with _lock:
        _handlers[handle] = callback
    return handle


def unregister_event_handler(handler):
    """Ends the calls of what was registered. RuntimeError where nothing is registered under this handle.

    >>> handle = torch.monitor.register_event_handler(print)
    >>> torch.monitor.unregister_event_handler(handle)
    """
    with _lock:
        if _handlers.pop(handler, None) is None:
            raise RuntimeError("unregister_event_handler: nothing is registered under this handle")


def log_event(event):
    """Tells the event to every registered handler, in the order of their registration.

    >>> from datetime import datetime
    >>> torch.monitor.log_event(torch.monitor.Event("nobody listens", datetime.now(), {}))
    """
    if not isinstance(event, Event):
        raise TypeError(f"log_event: expected an Event, got {type(event).__name__}")
    with _lock:
        listening = list(_handlers.values())
    for callback in listening:
        callback(event)


_AGGREGATES = {
    Aggregation.VALUE: lambda samples: samples[-1],
    Aggregation.MEAN: lambda samples: sum(samples) / len(samples),
    Aggregation.COUNT: len,
    Aggregation.SUM: sum,
    Aggregation.MAX: max,
    Aggregation.MIN: min,
}


class Stat:
    """Samples of a number, aggregated over windows of `window_size`, a timedelta; a window of `max_samples` ends at once. The end of a window logs an
    event named "torch.monitor.Stat" whose data has "NAME.sum" for each aggregation.

    >>> from datetime import timedelta
    >>> stat = torch.monitor.Stat("loss", [torch.monitor.Aggregation.MEAN], timedelta(minutes=1))
    >>> stat.add(2.0)
    >>> stat.count
    1
    """

    def __init__(self, name, aggregations, window_size, max_samples=2**63 - 1):
        if max_samples < 1:
            raise ValueError(f"Stat: expected max_samples of 1 or more, got {max_samples}")
        self._name, self._aggregations = name, tuple(dict.fromkeys(map(Aggregation, aggregations)))
        self._length, self._max = window_size.total_seconds(), max_samples
        self._samples, self._last, self._end = [], dict.fromkeys(self._aggregations, 0.0), time.monotonic() + self._length
        self._lock = threading.RLock()

    @property
    def name(self):
        """Its name, the beginning of the names of its values."""
        return self._name

    @property
    def count(self):
        """How many samples the window that is open has.

        >>> from datetime import timedelta
        >>> torch.monitor.Stat("a", [], timedelta(1)).count
        0
        """
        with self._lock:
            self._close_if_over()
            return len(self._samples)

    def add(self, v):
        """Takes a sample.

        >>> from datetime import timedelta
        >>> torch.monitor.Stat("a", [], timedelta(1)).add(1)
        """
        with self._lock:
            self._close_if_over()
            self._samples.append(float(v))
            self._close_if_over()

    def get(self):
        """The values of the last window that ended, by aggregation; zeros before the first.

        >>> from datetime import timedelta
        >>> torch.monitor.Stat("a", [torch.monitor.Aggregation.SUM], timedelta(1)).get()
        {<Aggregation.SUM: 4>: 0.0}
        """
        with self._lock:
            self._close_if_over()
            return dict(self._last)

    def _close_if_over(self):
        now = time.monotonic()
        if now < self._end and len(self._samples) < self._max:
            return
        samples, self._samples, self._end = self._samples, [], now + self._length
        self._last = {a: float(_AGGREGATES[a](samples)) if samples else 0.0 for a in self._aggregations}
        if samples:
            log_event(Event("torch.monitor.Stat", datetime.now(), {f"{self._name}.{a.name.lower()}": value for a, value in self._last.items()}))


class TensorboardEventHandler:
    """A handler that writes the numbers of "torch.monitor.Stat" events with a `SummaryWriter`; other events it leaves.

    >>> torch.monitor.TensorboardEventHandler(None)(torch.monitor.Event("other", __import__("datetime").datetime.now(), {}))
    """

    def __init__(self, writer):
        self._writer = writer

    def __call__(self, event):
        if event.name != "torch.monitor.Stat":
            return
        for name, value in event.data.items():
            if not isinstance(value, (int, float)):
                raise TypeError(f"TensorboardEventHandler: {name}: expected a number, got {type(value).__name__}")
            self._writer.add_scalar(name, value, walltime=event.timestamp.timestamp())
