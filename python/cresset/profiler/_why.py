"""`why`: what the time of a step went to."""

import collections
import dataclasses
import os
import sys
import threading
import time


@dataclasses.dataclass
class Answer:
    """Shares of a step's time, which sum to 1, and the operators that took most of it.

    `kernels`: within operators; `python`: between them, in the program itself; `allocation`: taking and giving back memory, estimated from the number of
    blocks; `waiting`: the thread had no processor. `operators`: (name, share, share of the machine's peak that its operations reached, or None).
    `lines`: (line of the program, share of the samples that found it running, or waiting for an operator that it calls).
    """

    seconds: float
    kernels: float
    python: float
    allocation: float
    waiting: float
    operators: list
    lines: list

    def __str__(self):
        lines = [f"one call takes {1e3 * self.seconds:.3f} ms"]
        lines += [f"  {name:<10} {100 * getattr(self, name):5.1f} %" for name in ("kernels", "python", "allocation", "waiting")]
        for name, share, peak in self.operators:
            lines.append(f"    {name:<40} {100 * share:5.1f} %" + ("" if peak is None else f", {100 * peak:.0f} % of the fastest product here"))
        lines += [f"    {100 * share:5.1f} % of samples at {line}" for line, share in self.lines]
        return "\n".join(lines)


class _Sampler(threading.Thread):
    """Looks a thousand times a second at which line the thread is that makes it, while that thread is in the function."""

    def __init__(self, function):
        super().__init__(daemon=True)
        self._code, self._of, self._done = function.__code__, threading.get_ident(), threading.Event()
        self.found = collections.Counter()

    def run(self):
        while not self._done.wait(0.001):
            frame = sys._current_frames().get(self._of)
            if self._is_inside(frame):
                self.found[f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}"] += 1

    def _is_inside(self, frame):
        caller = frame
        while caller is not None and caller.f_code.co_filename != __file__:
            caller = caller.f_back
        return caller is not None and caller is not frame and caller.f_code is self._code

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self._done.set()
        self.join()


def _lines_of(function, samples=100, seconds=1.0):
    """Where the thread is while the function is called, until there are so many samples, or at least one when the time is over."""
    end = time.perf_counter() + seconds
    with _Sampler(function) as sampler:
        while (count := sampler.found.total()) < samples and time.perf_counter() < (end if count else end + 10):
            function()
    total = max(sampler.found.total(), 1)
    return [(os.path.relpath(line) if line.startswith(os.getcwd() + os.sep) else line, n / total) for line, n in sampler.found.most_common(5)]


def _seconds_of(function, calls):
    wall, cpu = time.perf_counter(), time.thread_time()
    for _ in range(calls):
        function()
    return (time.perf_counter() - wall) / calls, (time.thread_time() - cpu) / calls


def _peak():
    """Operations a second of a product that fills the machine."""
    from .. import ones

    a = ones(384, 384)
    a @ a
    return 2 * 384**3 / min(_seconds_of(lambda: a @ a, 1)[0] for _ in range(5))


def _block_seconds():
    """The cost of taking and giving back one block."""
    from .. import empty

    return min(_seconds_of(lambda: empty(1024), 200)[0] for _ in range(3))


def why(f, *args, calls=None, **kwargs):
    """Calls `f(*args, **kwargs)` a number of times, timed, then recorded, then sampled, and says what the time went to.

    Args:
        calls: how often; by default for about a tenth of a second, at least three times.

    The first call is not counted. The shares are of the calls without a recording: recording costs time of its own.

    >>> x = torch.ones(64, 64)
    >>> answer = torch.profiler.why(lambda: (x @ x).relu())
    >>> abs(answer.kernels + answer.python + answer.allocation + answer.waiting - 1) < 1e-6
    True
    """
    from .profiler import profile

    def call():
        return f(*args, **kwargs)

    once = max(_seconds_of(call, 1)[0], 1e-7)
    calls = calls or max(3, min(1000, int(0.1 / once)))
    wall, cpu = _seconds_of(call, calls)
    with profile(profile_memory=True, with_flops=True) as p:
        recorded = _seconds_of(call, min(calls, 50))[0]
    rounds = min(calls, 50)
    rows = [row for row in p.key_averages() if "::" in row.key]
    inside = sum(row.self_cpu_time_total for row in rows) / rounds / 1e6
    waiting = max(0.0, min(1.0, 1 - cpu / wall)) if not _runs_threads() else 0.0
    blocks = sum(len(records) for records in p.profiler._recording.trace.memory()) / 2 / rounds
    allocation = min(blocks * _block_seconds() / wall, inside / recorded) if wall else 0.0
    kernels = max(0.0, min(1.0, inside / recorded) - allocation)
    python = max(0.0, 1 - kernels - allocation)
    scale = (1 - waiting) / (kernels + allocation + python)
    peak = _peak()
    rows.sort(key=lambda row: row.self_cpu_time_total, reverse=True)
    operators = []
    for row in rows[:8]:
        seconds = row.self_cpu_time_total / 1e6
        operators.append((row.key, seconds / rounds / recorded, row.flops / seconds / peak if row.flops and seconds else None))
    return Answer(wall, kernels * scale, python * scale, allocation * scale, waiting, operators, _lines_of(call))


def _runs_threads():
    """With several threads the time of one says nothing of waiting."""
    from .. import get_num_threads

    return get_num_threads() > 1
