"""Processes of a job on one machine."""

import abc
import ctypes
import dataclasses
import enum
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from .errors import ProcessFailure, record

__all__ = ["DefaultLogsSpecs", "LogsDest", "LogsSpecs", "MultiprocessContext", "PContext", "RunProcsResult", "SignalException", "Std", "SubprocessContext",
           "start_processes", "to_map"]  # fmt: skip


class SignalException(Exception):
    """This process was told to end: `sigval` is the signal.

    >>> from cresset.distributed.elastic.multiprocessing import SignalException
    >>> SignalException("told to end", 15).sigval
    15
    """

    def __init__(self, msg, sigval):
        super().__init__(msg)
        self.sigval = sigval


class Std(enum.IntFlag):
    """The streams of a process that go to a file, or to several places.

    >>> from cresset.distributed.elastic.multiprocessing import Std
    >>> Std.from_str("0:3,1:1")[0] == Std.ALL
    True
    """

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm):
        """From "3", or "0:3,1:1" for local ranks. Errors: ValueError."""
        text = str(vm)
        if re.fullmatch(r"[0-3]", text):
            return cls(int(text))
        if re.fullmatch(r"\d+:[0-3](,\d+:[0-3])*", text):
            return {int(rank): cls(int(value)) for rank, _, value in (part.partition(":") for part in text.split(","))}
        raise ValueError(f"Std: expected a number from 0 to 3, or local ranks with one as in 0:1,1:3, got {text!r}")


def to_map(val_or_map, local_world_size):
    """A value for each local rank, from one for all or for some (others: NONE).

    >>> from cresset.distributed.elastic.multiprocessing import Std, to_map
    >>> to_map(Std.OUT, 1)[0] == Std.OUT
    True
    """
    if isinstance(val_or_map, Std):
        return dict.fromkeys(range(local_world_size), val_or_map)
    return {rank: val_or_map.get(rank, Std.NONE) for rank in range(local_world_size)}


@dataclasses.dataclass
class LogsDest:
    """Files of the processes by local rank.

    >>> from cresset.distributed.elastic.multiprocessing import LogsDest
    >>> LogsDest().stdouts
    {}
    """

    stdouts: dict = dataclasses.field(default_factory=dict)
    stderrs: dict = dataclasses.field(default_factory=dict)
    tee_stdouts: dict = dataclasses.field(default_factory=dict)
    tee_stderrs: dict = dataclasses.field(default_factory=dict)
    error_files: dict = dataclasses.field(default_factory=dict)


class LogsSpecs(abc.ABC):
    """Where the output of processes goes: `reify(envs)` makes folders and gives a `LogsDest`.

    >>> from cresset.distributed.elastic.multiprocessing import DefaultLogsSpecs, LogsSpecs
    >>> issubclass(DefaultLogsSpecs, LogsSpecs)
    True
    """

    def __init__(self, log_dir=None, redirects=Std.NONE, tee=Std.NONE, local_ranks_filter=None):
        self._root_log_dir, self._redirects, self._tee, self._local_ranks_filter = log_dir, redirects, tee, local_ranks_filter

    @abc.abstractmethod
    def reify(self, envs):
        """The files for processes with these environments, by local rank."""

    @property
    @abc.abstractmethod
    def root_log_dir(self):
        """The folder of all files."""


class DefaultLogsSpecs(LogsSpecs):
    """Files at log_dir/RUN_ID_xxx/attempt_N/LOCAL_RANK/{stdout.log,stderr.log,error.json}.

    >>> from cresset.distributed.elastic.multiprocessing import DefaultLogsSpecs
    >>> DefaultLogsSpecs("/tmp").root_log_dir
    '/tmp'
    """

    def __init__(self, log_dir=None, redirects=Std.NONE, tee=Std.NONE, local_ranks_filter=None):
        if log_dir and os.path.exists(log_dir) and not os.path.isdir(log_dir):
            raise NotADirectoryError(f"elastic: the log_dir {log_dir} is a file")
        super().__init__(log_dir or tempfile.mkdtemp(prefix="torchelastic_"), redirects, tee, local_ranks_filter)
        self._own_folder, self._run_folder = log_dir is None, None

    @property
    def root_log_dir(self):
        """The folder of all files."""
        return str(self._root_log_dir)

    def reify(self, envs):
        """Makes the folders of these processes' attempt."""
        count = len(envs)
        first = envs[min(envs)] if envs else {}
        if self._run_folder is None:
            os.makedirs(self._root_log_dir, exist_ok=True)
            self._run_folder = tempfile.mkdtemp(prefix=f"{first.get('TORCHELASTIC_RUN_ID', 'test_run_id')}_", dir=self._root_log_dir)
        folder = os.path.join(self._run_folder, f"attempt_{first.get('TORCHELASTIC_RESTART_COUNT', '0')}")
        shutil.rmtree(folder, ignore_errors=True)
        redirects, tee, made = to_map(self._redirects, count), to_map(self._tee, count), LogsDest()
        shown = set(range(count)) if self._local_ranks_filter is None else set(self._local_ranks_filter)
        for rank in range(count):
            own = os.path.join(folder, str(rank))
            os.makedirs(own)
            for stream, files, copies in ((Std.OUT, made.stdouts, made.tee_stdouts), (Std.ERR, made.stderrs, made.tee_stderrs)):
                path = os.path.join(own, "stdout.log" if stream == Std.OUT else "stderr.log")
                wanted = (redirects[rank] | tee[rank]) & stream
                if wanted or rank not in shown:
                    files[rank] = path if wanted else os.devnull
                else:
                    files[rank] = ""
                if tee[rank] & stream and rank in shown:
                    copies[rank] = path
            made.error_files[rank] = os.path.join(own, "error.json")
        return made


@dataclasses.dataclass
class RunProcsResult:
    """How processes ended: values that functions returned, or failures, by local rank; files of their output.

    >>> from cresset.distributed.elastic.multiprocessing import RunProcsResult
    >>> RunProcsResult().is_failed()
    False
    """

    return_values: dict = dataclasses.field(default_factory=dict)
    failures: dict = dataclasses.field(default_factory=dict)
    stdouts: dict = dataclasses.field(default_factory=dict)
    stderrs: dict = dataclasses.field(default_factory=dict)

    def is_failed(self):
        """Whether one failed."""
        return bool(self.failures)


class _Tail:
    """Copies lines that processes write to files to a stream of ours, each with the name and rank of its process before it."""

    def __init__(self, name, files, to, prefixes):
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._follow, args=(prefixes.get(rank, f"[{name}{rank}]:"), path, to), daemon=True) for rank, path in files.items()
        ]

    def start(self):
        for thread in self._threads:
            thread.start()

    def _follow(self, prefix, path, to):
        while not os.path.exists(path):
            if self._ended.wait(0.02):
                return
        with open(path, errors="replace") as file:
            while True:
                ended = self._ended.is_set()
                line = file.readline()
                if line:
                    to.write(prefix + line + ("" if line.endswith("\n") else "\n"))
                    to.flush()
                elif ended:
                    return
                else:
                    self._ended.wait(0.05)

    def stop(self):
        self._ended.set()
        for thread in self._threads:
            thread.join(5)


class PContext(abc.ABC):
    """Processes that were started: `wait` gives their `RunProcsResult`, `close` ends them.

    >>> from cresset.distributed.elastic.multiprocessing import PContext, SubprocessContext
    >>> issubclass(SubprocessContext, PContext)
    True
    """

    def __init__(self, name, entrypoint, args, envs, logs_specs, log_line_prefixes=None):
        if set(args) != set(envs):
            raise RuntimeError(f"elastic: expected arguments and environments for the same local ranks, got {sorted(args)} and {sorted(envs)}")
        self.name, self.entrypoint, self.args, self.envs, self.nprocs = name, entrypoint, args, envs, len(args)
        logs = logs_specs.reify(envs)
        self.stdouts, self.stderrs, self.error_files = logs.stdouts, logs.stderrs, logs.error_files
        self._handlers = {}
        prefixes = log_line_prefixes or {}
        self._tails = [_Tail(name, logs.tee_stdouts, sys.stdout, prefixes), _Tail(name, logs.tee_stderrs, sys.stderr, prefixes)]

    def start(self):
        """Starts the processes, which a signal to this one ends."""
        if threading.current_thread() is threading.main_thread():
            for name in os.environ.get("TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT").split(","):
                number = getattr(signal, name.strip())
                self._handlers.setdefault(number, signal.signal(number, _terminated))
        self._start()
        for tail in self._tails:
            tail.start()

    @abc.abstractmethod
    def _start(self):
        """Starts the processes."""

    @abc.abstractmethod
    def _poll(self):
        """The result, or None while some run and none has failed."""

    @abc.abstractmethod
    def pids(self):
        """The processes' numbers by local rank."""

    @abc.abstractmethod
    def _end(self, death_sig, timeout):
        """Ends all."""

    def wait(self, timeout=-1, period=1):
        """The result once all have ended or one has failed; None after `timeout` seconds."""
        if timeout == 0:
            return self._poll()
        end = sys.maxsize if timeout < 0 else time.monotonic() + timeout
        while True:
            result = self._poll()
            if result is not None or time.monotonic() >= end:
                return result
            time.sleep(min(period, 0.05))

    def close(self, death_sig=None, timeout=30):
        """Ends the processes by a signal, and after `timeout` seconds by SIGKILL."""
        self._end(death_sig or signal.SIGTERM, timeout)
        for tail in self._tails:
            tail.stop()
        if threading.current_thread() is threading.main_thread():
            while self._handlers:
                signal.signal(*self._handlers.popitem())

    def _counted_as_failed(self, rank, code):
        """The result of a process that is to count as failed."""
        return self._result({}, {rank: self._failure(rank, self.pids()[rank], code)})

    def _failure(self, rank, pid, code):
        return ProcessFailure(rank, pid, code, self.error_files[rank])

    def _result(self, values, failures):
        return RunProcsResult(values, failures, self.stdouts, self.stderrs)


def _terminated(number, frame):
    raise SignalException(f"Process {os.getpid()} got signal: {signal.Signals(number).name}", signal.Signals(number))


_prctl = ctypes.CDLL(None).prctl
_PR_SET_PDEATHSIG = 1


def _end_with_parent():
    """Lets the kernel end this process when the one that started it is gone, even where that is killed."""
    _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))


class SubprocessContext(PContext):
    """Processes that run a program.

    >>> from cresset.distributed.elastic.multiprocessing import PContext, SubprocessContext
    >>> SubprocessContext.__mro__[1] is PContext
    True
    """

    def _start(self):
        self._processes = {}
        for rank in range(self.nprocs):
            environment = {**os.environ, **self.envs[rank], "TORCHELASTIC_ERROR_FILE": self.error_files[rank]}
            out, err = (open(path, "wb") if path else None for path in (self.stdouts[rank], self.stderrs[rank]))
            try:
                command = [self.entrypoint, *map(str, self.args[rank])]
                self._processes[rank] = subprocess.Popen(command, env=environment, stdout=out, stderr=err, preexec_fn=_end_with_parent)
            finally:
                for file in (out, err):
                    if file is not None:
                        file.close()

    def pids(self):
        """The processes' numbers by local rank."""
        return {rank: process.pid for rank, process in self._processes.items()}

    def _poll(self):
        codes = {rank: process.poll() for rank, process in self._processes.items()}
        failed = {rank: code for rank, code in codes.items() if code}
        if failed:
            failures = {rank: self._failure(rank, self._processes[rank].pid, code) for rank, code in failed.items()}
            self.close()
            for rank, process in self._processes.items():  # those that were ended with it
                if process.returncode and rank not in failures:
                    failures[rank] = self._failure(rank, process.pid, process.returncode)
            return self._result({}, failures)
        if any(code is None for code in codes.values()):
            return None
        self.close()
        return self._result(dict.fromkeys(range(self.nprocs)), {})

    def _end(self, death_sig, timeout):
        processes = list(getattr(self, "_processes", {}).values())
        for process in processes:
            if process.poll() is None:
                process.send_signal(death_sig)
                process.send_signal(signal.SIGCONT)  # one that stands still gets the other signal then
        end = time.monotonic() + timeout
        for process in processes:
            try:
                process.wait(max(0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _run_function(rank, function, args, environment, stdout, stderr, error_file, pipe):
    _end_with_parent()
    for number, path in ((1, stdout), (2, stderr)):
        if path:
            (sys.stdout if number == 1 else sys.stderr).flush()
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(fd, number)
            os.close(fd)
    os.environ.update(environment, TORCHELASTIC_ERROR_FILE=error_file)
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    pipe.send(record(function)(*args))
    pipe.close()


class MultiprocessContext(PContext):
    """Processes that run a function.

    >>> from cresset.distributed.elastic.multiprocessing import MultiprocessContext, PContext
    >>> MultiprocessContext.__mro__[1] is PContext
    True
    """

    def __init__(self, name, entrypoint, args, envs, start_method, logs_specs, log_line_prefixes=None):
        super().__init__(name, entrypoint, args, envs, logs_specs, log_line_prefixes)
        self.start_method, self._values = start_method, {}

    def _start(self):
        import cresset.multiprocessing as multiprocessing

        context = multiprocessing.get_context(self.start_method)
        self._processes, self._pipes = {}, {}
        for rank in range(self.nprocs):
            self._pipes[rank], theirs = context.Pipe(duplex=False)
            arguments = (rank, self.entrypoint, self.args[rank], self.envs[rank], self.stdouts[rank], self.stderrs[rank], self.error_files[rank], theirs)
            self._processes[rank] = context.Process(target=_run_function, args=arguments, daemon=False)
            self._processes[rank].start()
            theirs.close()

    def pids(self):
        """The processes' numbers by local rank."""
        return {rank: process.pid for rank, process in self._processes.items()}

    def _poll(self):
        for rank, pipe in self._pipes.items():
            if rank not in self._values and pipe.poll():
                try:
                    self._values[rank] = pipe.recv()
                except EOFError:
                    pass
        codes = {rank: process.exitcode for rank, process in self._processes.items()}
        failed = {rank: code for rank, code in codes.items() if code}
        if failed:
            result = self._result({}, {rank: self._failure(rank, self._processes[rank].pid, code) for rank, code in failed.items()})
            self.close()
            return result
        if (
            any(code is None for code in codes.values())
            or len(self._values) < self.nprocs
            and any(p.poll() for r, p in self._pipes.items() if r not in self._values)
        ):
            return None
        self.close()
        return self._result({rank: self._values.get(rank) for rank in range(self.nprocs)}, {})

    def _end(self, death_sig, timeout):
        processes = list(getattr(self, "_processes", {}).values())
        for process in processes:
            if process.is_alive():
                os.kill(process.pid, death_sig)
                os.kill(process.pid, signal.SIGCONT)
        end = time.monotonic() + timeout
        for process in processes:
            process.join(max(0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


def start_processes(name, entrypoint, args, envs, logs_specs, log_line_prefixes=None, start_method="spawn", numa_options=None,
                    duplicate_stdout_filters=None, duplicate_stderr_filters=None):  # fmt: skip
    """Starts a process for each local rank: of a program, where `entrypoint` is a text, or of a function.

    >>> from cresset.distributed.elastic.multiprocessing import DefaultLogsSpecs, start_processes
    >>> start_processes("job", "/bin/true", {0: ()}, {0: {}}, DefaultLogsSpecs()).wait().is_failed()
    False
    """
    if isinstance(entrypoint, str):
        made = SubprocessContext(name, entrypoint, args, envs, logs_specs, log_line_prefixes)
    else:
        made = MultiprocessContext(name, entrypoint, args, envs, start_method, logs_specs, log_line_prefixes)
    try:
        made.start()
    except BaseException:
        made.close()
        raise
    return made
