"""Measurements by group and name."""

import abc
import dataclasses
import functools
import time

__all__ = ["ConsoleMetricHandler", "MetricHandler", "MetricStream", "MetricsConfig", "NullMetricHandler", "configure", "getStream", "prof", "put_metric"]


@dataclasses.dataclass
class MetricsConfig:
    """Options of handlers.

    >>> from cresset.distributed.elastic.metrics import MetricsConfig
    >>> MetricsConfig().params
    {}
    """

    params: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class MetricData:
    """A measurement."""

    timestamp: float
    group_name: str
    name: str
    value: float


class MetricHandler(abc.ABC):
    """Takes measurements: `emit(data)`.

    >>> from cresset.distributed.elastic.metrics import MetricHandler, NullMetricHandler
    >>> isinstance(NullMetricHandler(), MetricHandler)
    True
    """

    @abc.abstractmethod
    def emit(self, metric_data):
        """Takes one."""


class NullMetricHandler(MetricHandler):
    """Drops measurements.

    >>> from cresset.distributed.elastic.metrics import NullMetricHandler
    >>> NullMetricHandler().emit(None)
    """

    def emit(self, metric_data):
        return None


class ConsoleMetricHandler(MetricHandler):
    """Prints measurements.

    >>> from cresset.distributed.elastic.metrics import ConsoleMetricHandler, MetricHandler
    >>> issubclass(ConsoleMetricHandler, MetricHandler)
    True
    """

    def emit(self, metric_data):
        print(f"[{metric_data.timestamp}][{metric_data.group_name}]: {metric_data.name}={metric_data.value}")


_handlers = {}
_default = NullMetricHandler()


def configure(handler, group=None):
    """Sets the handler of a group, or of all without one of their own.

    >>> from cresset.distributed.elastic import metrics
    >>> metrics.configure(metrics.NullMetricHandler())
    """
    global _default
    if group is None:
        _default = handler
    else:
        _handlers[group] = handler


class MetricStream:
    """The measurements of a group: `add_value(name, value)`.

    >>> from cresset.distributed.elastic.metrics import MetricStream, NullMetricHandler
    >>> MetricStream("g", NullMetricHandler()).add_value("calls", 1)
    """

    def __init__(self, group_name, handler):
        self.group_name, self.handler = group_name, handler

    def add_value(self, metric_name, metric_value):
        """Hands over a measurement."""
        self.handler.emit(MetricData(time.time(), self.group_name, metric_name, metric_value))


def getStream(group):
    """The stream of a group.

    >>> from cresset.distributed.elastic import metrics
    >>> metrics.getStream("g").group_name
    'g'
    """
    return MetricStream(group, _handlers.get(group, _default))


def put_metric(metric_name, metric_value, metric_group="torchelastic"):
    """Hands over a measurement.

    >>> from cresset.distributed.elastic import metrics
    >>> metrics.put_metric("calls", 1)
    """
    getStream(metric_group).add_value(metric_name, metric_value)


def prof(fn=None, group="torchelastic"):
    """A decorator that measures calls: success or failure, and milliseconds.

    >>> from cresset.distributed.elastic import metrics
    >>> metrics.prof(lambda: 3)()
    3
    """

    def wrap(function):
        @functools.wraps(function)
        def measured(*args, **kwargs):
            begin, name, end = time.perf_counter(), function.__qualname__, "success"
            try:
                return function(*args, **kwargs)
            except Exception:
                end = "failure"
                raise
            finally:
                put_metric(f"{name}.{end}", 1, group)
                put_metric(f"{name}.duration.ms", int((time.perf_counter() - begin) * 1000), group)

        return measured

    return wrap(fn) if fn is not None else wrap
