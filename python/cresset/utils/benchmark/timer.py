"""Timing of statements."""

import enum
import textwrap
import timeit

import cresset as torch

from .common import Measurement, TaskSpec, now, set_torch_threads

__all__ = ["Language", "Timer", "timer"]


def timer():
    """The time in seconds, from an arbitrary moment; on the CPU all work is done when a call returns.

    >>> before = torch.utils.benchmark.timer()
    >>> torch.utils.benchmark.timer() >= before
    True
    """
    return now()


class Language(enum.Enum):
    """Language of a statement.

    >>> torch.utils.benchmark.Language.PYTHON
    <Language.PYTHON: 0>
    """

    PYTHON = 0
    CPP = 1


class Timer:
    """Times a Python statement, after warming up, with a set number of threads.

    Args:
        stmt: the statement, text; indented text is moved left.
        setup: what is run before it, once for each measurement.
        timer: a function that gives the time.
        globals: names for both; ``torch`` is there by itself.
        label, sub_label, description, env: names for `Compare`: of a table, a row, a column, and a part of the row.
        num_threads: how many threads operators use.
        language: Python; there is no compiler of C++ statements here.

    Errors: ValueError for what is no text, for `global_setup`, which C++ alone has, and for another language.

    >>> timer = torch.utils.benchmark.Timer("x + 1", globals={"x": torch.ones(3)})
    >>> timer.timeit(3).number_per_run
    3
    """

    def __init__(self, stmt="pass", setup="pass", global_setup="", timer=timer, globals=None, label=None, sub_label=None, description=None, env=None,
                 num_threads=1, language=Language.PYTHON):  # fmt: skip
        if not isinstance(stmt, str):
            raise ValueError("expected stmt to be a str.")
        if language in ("c++", "cpp", Language.CPP):
            raise RuntimeError("Timer: C++ statements are not timed here; write a benchmark in C++")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Timer: expected Python as language, got {language}")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`; move that code to `setup`.")
        self._globals = {"torch": torch, **(globals or {})}
        stmt, setup = (textwrap.dedent(text).strip("\n").rstrip() for text in (stmt, setup))
        self._spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)
        self._timer = timeit.Timer(stmt, setup, timer, self._globals)

    def _time(self, number):
        taken = self._timer.timeit(number)
        return max(taken, 1e-9)  # clocks may be coarse

    def timeit(self, number=1000000):
        """One measurement of `number` executions, after a few that are not counted."""
        with set_torch_threads(self._spec.num_threads):
            self._time(max(number // 100, 2))
            return Measurement(number, [self._time(number)], self._spec)

    def repeat(self, repeat=-1, number=-1):
        """Not offered: see `blocked_autorange`."""
        raise NotImplementedError("Timer: expected blocked_autorange, which repeats too, got repeat")

    def autorange(self, callback=None):
        """Not offered: see `blocked_autorange`."""
        raise NotImplementedError("Timer: expected blocked_autorange, which says how often it ran, got autorange")

    def _block_size(self, min_run_time):
        """How many executions take long enough that the clock's own time does not count."""
        overhead = sorted(self._empty() for _ in range(5))[2]
        number = 1
        while True:
            taken = self._time(number)
            if overhead / taken <= 1e-4 and taken >= min_run_time / 1000 or taken > min_run_time:
                return number
            number *= 10

    @staticmethod
    def _empty():
        return max(timeit.Timer("pass", "pass", now).timeit(0), 1e-9)

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Measurements of a number of executions that suits the statement, until `min_run_time` seconds are spent."""
        with set_torch_threads(self._spec.num_threads):
            number = self._block_size(min_run_time)
            times, total = [], 0.0
            while total < min_run_time:
                taken = self._time(number)
                times.append(taken)
                total += taken
                if callback:
                    callback(number, taken)
        return Measurement(number, times, self._spec)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """As `blocked_autorange`, until the middle half of the times is narrower than `threshold` times the median, or `max_run_time` is over."""
        with set_torch_threads(self._spec.num_threads):
            number = self._block_size(min_run_time)
            times, total = [], 0.0
            while total < max_run_time:
                taken = self._time(number)
                times.append(taken)
                total += taken
                if callback:
                    callback(number, taken)
                if total >= min_run_time and len(times) > 3 and Measurement(number, times, self._spec).meets_confidence(threshold):
                    break
        return Measurement(number, times, self._spec)

    def collect_callgrind(self, number=100, *, repeats=None, collect_baseline=True, retain_out_file=False):
        """Counts of instructions need Valgrind, which knows nothing of this library's work memory: OSError."""
        raise OSError("collect_callgrind: instructions are not counted here; `valgrind --tool=callgrind` counts those of a whole program")
