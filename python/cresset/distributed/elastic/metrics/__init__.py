"""Measurements of agents: `put_metric` hands them to the handler that `configure` sets; by default they are dropped."""

from .api import ConsoleMetricHandler, MetricHandler, MetricsConfig, MetricStream, NullMetricHandler, configure, getStream, prof, put_metric

__all__ = ["ConsoleMetricHandler", "MetricHandler", "MetricStream", "MetricsConfig", "NullMetricHandler", "configure", "getStream", "prof", "put_metric"]
