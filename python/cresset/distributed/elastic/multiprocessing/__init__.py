"""Processes of a job on one machine: how they start, where their output goes, and how they ended."""

from .api import (
    DefaultLogsSpecs,
    LogsDest,
    LogsSpecs,
    MultiprocessContext,
    PContext,
    RunProcsResult,
    SignalException,
    Std,
    SubprocessContext,
    start_processes,
    to_map,
)
from .errors import ProcessFailure

__all__ = ["DefaultLogsSpecs", "LogsDest", "LogsSpecs", "MultiprocessContext", "PContext", "ProcessFailure", "RunProcsResult", "SignalException", "Std",
           "SubprocessContext", "start_processes", "to_map"]  # fmt: skip
_SUBMODULES = ...
