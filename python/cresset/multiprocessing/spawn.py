"""Processes that begin together, and of which the first to fail ends all."""

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

__all__ = [
    "ENV_VAR_PARALLEL_START",
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"


class ProcessException(Exception):
    """A process failed: ``error_index`` is its number, ``pid`` its id."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid
        self.error_pid = pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process raised an exception, whose traceback is in the message."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process was ended by a signal, or by itself with a status other than 0: ``exit_code`` and ``signal_name``."""

    exit_code = signal_name = None

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _begin(fn, i, args, error_file):
    """Main function of a process: an exception goes to its file."""
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that run, and the files that their errors go to. `join` waits for them.

    >>> torch.multiprocessing.ProcessContext([], []).join()
    True
    """

    def __init__(self, processes, error_files):
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self):
        """The ids of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Waits until one or more have ended. True once all have, False where some still run.

        Where one failed, the others are ended (killed after `grace_period` seconds), and `ProcessRaisedException` or
        `ProcessExitedException` tells why.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(self.sentinels.keys(), timeout=timeout):
            i = self.sentinels.pop(sentinel)
            self.processes[i].join()
            if self.processes[i].exitcode != 0:
                failed = i
                break
        if failed is None:
            if not self.sentinels:
                for path in self.error_files:
                    _remove(path)
            return not self.sentinels
        self._end_all(grace_period)
        raise self._error(failed)

    def _end_all(self, grace_period):
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        limit = time.monotonic() + (30 if grace_period is None else grace_period)
        for process in self.processes:
            process.join(max(0, limit - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _error(self, i):
        process, path = self.processes[i], self.error_files[i]
        if os.path.exists(path) and os.path.getsize(path):
            with open(path, "rb") as file:
                text = pickle.load(file)
            error = ProcessRaisedException(f"\n\n-- Process {i} ended with this error:\n{text}", i, process.pid)
        elif process.exitcode < 0:
            name = signal.Signals(-process.exitcode).name
            error = ProcessExitedException(f"process {i} terminated with signal {name}", i, process.pid, process.exitcode, name)
        else:
            error = ProcessExitedException(f"process {i} terminated with exit code {process.exitcode}", i, process.pid, process.exitcode)
        for path in self.error_files:
            _remove(path)
        return error


class SpawnContext(ProcessContext):
    """Result of `spawn` without `join`.

    >>> torch.multiprocessing.SpawnContext([], []).join()
    True
    """


def _remove(path):
    if os.path.exists(path):
        os.remove(path)


def _start(processes, at_once):
    if not (at_once and processes):
        for process in processes:
            process.start()
        return
    with ThreadPoolExecutor(max_workers=len(processes)) as pool:
        list(pool.map(lambda process: process.start(), processes))


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs fn(i, *args) in `nprocs` processes, i from 0.

    Args:
        fn: a function that can be pickled, for other start methods than "fork".
        args: what follows the number.
        nprocs: how many.
        join: whether to wait for all; else a `ProcessContext` is returned.
        daemon: whether they end with this process.
        start_method: "spawn", "fork" or "forkserver". With the last, TORCH_MP_PARALLEL_START=1 in the environment sends the function
            to all processes at once, instead of to one after the other.

    Errors: what `ProcessContext.join` raises.

    >>> torch.multiprocessing.start_processes(print, ("started",), nprocs=0, start_method="fork")
    """
    context = multiprocessing.get_context(start_method)
    processes, files = [], []
    for i in range(nprocs):
        handle, path = tempfile.mkstemp(prefix="cresset-errorfile-", suffix=".pickle")
        os.close(handle)
        processes.append(context.Process(target=_begin, args=(fn, i, args, path), daemon=daemon))
        files.append(path)
    _start(processes, at_once=start_method == "forkserver" and os.environ.get(ENV_VAR_PARALLEL_START) == "1")
    made = (SpawnContext if start_method == "spawn" else ProcessContext)(processes, files)
    if not join:
        return made
    while not made.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """`start_processes` by the start method "spawn"; warns for another.

    >>> torch.multiprocessing.spawn(print, nprocs=0)
    """
    if start_method != "spawn":
        import warnings

        warnings.warn(f"spawn: expected start_method='spawn' (got: {start_method}); start_processes takes others.", FutureWarning, stacklevel=2)
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
