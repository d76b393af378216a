"""How a process of a job tells the one that started it why it failed, and how that one tells the user."""

import dataclasses
import datetime
import faulthandler
import functools
import json
import os
import signal
import socket
import time
import traceback
import warnings

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]

_NOT_THERE = "<N/A>"


class ErrorHandler:
    """Writes the error of this process to the file that TORCHELASTIC_ERROR_FILE names.

    >>> from cresset.distributed.elastic.multiprocessing.errors import ErrorHandler
    >>> ErrorHandler().initialize()
    """

    def _file(self):
        return os.environ.get("TORCHELASTIC_ERROR_FILE")

    def initialize(self):
        """Called before the process's function: a crash prints where it was."""
        try:
            faulthandler.enable(all_threads=True)
        except Exception as error:
            warnings.warn(f"elastic: faulthandler could not be enabled: {error}", stacklevel=2)

    def record_exception(self, error):
        """Writes an exception with its traceback."""
        extra = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
        self._write({"message": {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}})

    def _write(self, content):
        path = self._file()
        if not path:
            return
        part = f"{path}.{os.getpid()}"
        with open(part, "w") as file:
            json.dump(content, file)
        os.replace(part, path)

    def dump_error_file(self, rootcause_error_file, error_code=0):
        """Copies the file of the process that failed first to this process's."""
        with open(rootcause_error_file) as file:
            content = json.load(file)
        if error_code and isinstance(content.get("message"), dict):
            content["message"].setdefault("errorCode", error_code)
        self._write(content)


def get_error_handler():
    """The handler of this process.

    >>> from cresset.distributed.elastic.multiprocessing.errors import get_error_handler
    >>> type(get_error_handler()).__name__
    'ErrorHandler'
    """
    return ErrorHandler()


@dataclasses.dataclass
class ProcessFailure:
    """How a process ended, and what it wrote to its error file.

    >>> from cresset.distributed.elastic.multiprocessing.errors import ProcessFailure
    >>> ProcessFailure(0, 12, -9, "").signal_name()
    'SIGKILL'
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict = dataclasses.field(init=False)
    message: object = dataclasses.field(init=False)
    timestamp: int = dataclasses.field(init=False)

    def __post_init__(self):
        self.error_file_data = {}
        if self.error_file and os.path.isfile(self.error_file):
            try:
                with open(self.error_file) as file:
                    self.error_file_data = json.load(file)
            except (OSError, ValueError):
                self.error_file_data = {}
        if not self.error_file_data:
            self.error_file, self.timestamp = _NOT_THERE, int(time.time())
            self.message = (
                f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
                if self.exitcode < 0
                else "To enable traceback see: torch.distributed.elastic.multiprocessing.errors.record"
            )
            return
        message = self.error_file_data.get("message", "")
        self.message = message
        extra = message.get("extraInfo", {}) if isinstance(message, dict) else {}
        self.timestamp = int(extra.get("timestamp", time.time()))

    def signal_name(self):
        """The name of the signal that ended it, or "<N/A>"."""
        if self.exitcode >= 0:
            return _NOT_THERE
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return _NOT_THERE

    def timestamp_isoformat(self):
        """The time of the failure as text."""
        return datetime.datetime.fromtimestamp(self.timestamp).isoformat(sep="_")


class ChildFailedError(Exception):
    """A job failed: `failures` by global rank, of which the first in time is the root cause.

    >>> from cresset.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
    >>> ChildFailedError("train.py", {1: ProcessFailure(1, 12, 7, "")}).get_first_failure()[0]
    1
    """

    def __init__(self, name, failures):
        if not failures:
            raise ValueError("ChildFailedError: expected failures, got none")
        self.name, self.failures = name, failures
        super().__init__(self.format_msg())

    def get_first_failure(self):
        """(global rank, failure) of the first in time."""
        rank = min(self.failures, key=lambda r: self.failures[r].timestamp)
        return rank, self.failures[rank]

    def format_msg(self, boarder_delim="=", section_delim="-"):
        """The report of all failures."""
        first, _ = self.get_first_failure()
        others = [self._entry(i, rank) for i, rank in enumerate(r for r in self.failures if r != first)]
        parts = [f"{self.name} FAILED", section_delim * 60, "Failures:", *(others or ["  <NO_OTHER_FAILURES>"]), section_delim * 60,
                 "Root Cause (the failure that came first):", self._entry(0, first)]  # fmt: skip
        line = boarder_delim * 60
        return "\n".join(["", line, *parts, line])

    def _entry(self, number, rank):
        failure = self.failures[rank]
        message = failure.message
        text = message.get("message", message) if isinstance(message, dict) else message
        trace = message.get("extraInfo", {}).get("py_callstack", "") if isinstance(message, dict) else ""
        facts = {
            "time": failure.timestamp_isoformat(), "host": socket.gethostname(), "rank": f"{rank} (local_rank: {failure.local_rank})",
            "exitcode": f"{failure.exitcode} (pid: {failure.pid})", "error_file": failure.error_file, "traceback": (trace or str(text)).strip(),
        }  # fmt: skip
        return f"[{number}]:\n" + "\n".join(f"  {key:<10}: {value}" for key, value in facts.items())


def record(fn, error_handler=None):
    """`fn`, whose error is written as JSON to the file that TORCHELASTIC_ERROR_FILE names, where it names one, and raised.

    >>> @torch.distributed.elastic.multiprocessing.errors.record
    ... def main():
    ...     return 3
    >>> main()
    3
    """
    handler = error_handler or get_error_handler()

    @functools.wraps(fn)
    def recorded(*args, **kwargs):
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as end:
            if end.code:
                raise
            return None
        except ChildFailedError as error:
            _, failure = error.get_first_failure()
            if failure.error_file != _NOT_THERE:
                handler.dump_error_file(failure.error_file, failure.exitcode)
            else:
                handler.record_exception(error)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return recorded
