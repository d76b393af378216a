"""Timed tasks and their results."""

import contextlib
import dataclasses
import math
import statistics
import textwrap
import time

import cresset as torch

__all__ = ["Measurement", "TaskSpec", "ordered_unique", "select_unit", "set_torch_threads", "trim_sigfig", "unit_to_english"]

_LEAST_CONFIDENCE, _CLOCK, _SPREAD = 1e-4, 1.25e-7, 0.1
_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1)}


def select_unit(t):
    """The unit in which a time of `t` seconds reads well: its name, and how many seconds it has.

    >>> torch.utils.benchmark.select_unit(2.5e-7)
    ('ns', 1e-09)
    """
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(math.log10(t) // 3), "ns" if t < 1e-9 else "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u):
    """The word for a unit.

    >>> torch.utils.benchmark.unit_to_english("us")
    'microsecond'
    """
    return _UNITS[u][0]


def trim_sigfig(x, n):
    """A number rounded to `n` significant figures.

    >>> torch.utils.benchmark.trim_sigfig(1234.567, 2)
    1200.0
    """
    if n != int(n):
        raise AssertionError("expected an int as number of significant figures")
    if x == 0:
        return 0.0
    scale = 10 ** int(math.floor(math.log10(abs(x))) + 1 - n)
    return float(round(x / scale) * scale)


def ordered_unique(elements):
    """The different elements, in the order in which they come first.

    >>> torch.utils.benchmark.ordered_unique([3, 1, 3, 2])
    [3, 1, 2]
    """
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n):
    """A context in which operators use so many threads.

    >>> with torch.utils.benchmark.set_torch_threads(1):
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(n)
        yield
    finally:
        torch.set_num_threads(before)


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """A timed task: a statement, its setup, and names for tables.

    >>> torch.utils.benchmark.TaskSpec("f(x)", "x = 1", label="f", sub_label="small").title
    'f: small'
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self):
        """The label and the one below it, or the statement."""
        name, below = self.stmt if self.label is None else self.label, self.sub_label
        if self.label is None and "\n" in name:
            return "stmt:" + (f" ({below})" if below else "") + "\n" + textwrap.indent(name, "  ")
        return f"{name}: {below}" if below else name

    def setup_str(self):
        """The setup as it is printed; empty for none."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self):
        """Title, description and what is run before."""
        parts = [self.title, self.description or "", *([] if not self.setup_str() else [self.setup_str()])]
        return "\n".join(part for part in parts if part) + ("\n" if "\n" in self.setup_str() else "")


_SPEC = tuple(field.name for field in dataclasses.fields(TaskSpec))


class Measurement:
    """Times of several runs: ``raw_times`` of `number_per_run` executions each.

    >>> from cresset.utils.benchmark import Measurement, TaskSpec
    >>> _, *lines = str(Measurement(1, [1e-6] * 3, TaskSpec("f()", ""))).splitlines()
    >>> lines
    ['f()', '  Median: 1.00 us', '  3 measurements, 1 runs per measurement, 1 thread']
    """

    metadata = None

    def __init__(self, number_per_run, raw_times, task_spec, metadata=None):
        self.number_per_run, self.raw_times, self.task_spec = number_per_run, list(raw_times), task_spec
        if metadata is not None:
            self.metadata = metadata
        self._sorted = None

    def __getattr__(self, name):
        if name in _SPEC:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __getstate__(self):
        return dict(self.__dict__)

    def __setstate__(self, state):
        self.__dict__.update(state)

    @property
    def times(self):
        """Seconds of one execution, for each run."""
        return [total / self.number_per_run for total in self.raw_times]

    def _quantile(self, share):
        if self._sorted is None or len(self._sorted) != len(self.raw_times):
            self._sorted = sorted(self.times)
            if not self._sorted:
                raise ValueError("Measurement has no times")
        place = share * (len(self._sorted) - 1)
        low = math.floor(place)
        high = min(low + 1, len(self._sorted) - 1)
        return self._sorted[low] + (place - low) * (self._sorted[high] - self._sorted[low])

    @property
    def median(self):
        """The time that half of the runs took less than."""
        return self._quantile(0.5)

    @property
    def mean(self):
        """The average time."""
        return statistics.fmean(self.times)

    @property
    def iqr(self):
        """The width of the middle half of the times."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self):
        """How many figures of the median mean something: those above the width of its error, estimated from the middle half and the clock."""
        error = max(1.645 * self.iqr / (1.35 * math.sqrt(len(self.raw_times))), self.median * _LEAST_CONFIDENCE, _CLOCK)
        return max(1, math.floor(math.log10(self.median) - math.log10(2 * error)) + 1 if self.median > 2 * error else 1)

    @property
    def has_warnings(self):
        """Whether the times differ so much that something else was going on."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold=_SPREAD):
        """Whether the middle half is narrower than a share of the median."""
        return self.iqr < threshold * self.median

    @property
    def title(self):
        """The title of what was timed."""
        return self.task_spec.title

    @property
    def env(self):
        """The environment it was timed in."""
        return "Unspecified env" if self.task_spec.env is None else self.task_spec.env

    @property
    def as_row_name(self):
        """Its name in a table."""
        names = (self.sub_label, self.stmt, "[Unknown]")
        return next(filter(None, names))

    def __repr__(self):
        unit, scale = select_unit(self.median)
        text = [object.__repr__(self), self.task_spec.summarize(), f"  {'Median: ' if len(self.raw_times) > 1 else ''}{self.median / scale:.2f} {unit}"]
        if len(self.raw_times) >= 4:
            text.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({self._quantile(0.25) / scale:.2f} to {self._quantile(0.75) / scale:.2f})")
        threads = f"{self.task_spec.num_threads} thread{'s' if self.task_spec.num_threads > 1 else ''}"
        count = f"{len(self.raw_times)} measurement{'s' if len(self.raw_times) > 1 else ''}"
        text.append(f"  {count}, {self.number_per_run} runs {'per measurement' if len(self.raw_times) > 1 else ''}, {threads}".replace(" ,", ","))
        if self.has_warnings:
            share = self.iqr / self.median
            text.append(f"  WARNING: Interquartile range is {100 * share:.1f}% of the median measurement.")
            text.append("           The machine was probably busy with other work." if share > 0.25 else "           The speed of the machine may have varied.")
        return "\n".join(text)

    @staticmethod
    def merge(measurements):
        """Measurements of the same task put together, one for each task."""
        groups = {}
        for one in measurements:
            groups.setdefault(one.task_spec, []).append(one)
        return [Measurement(1, [t for one in group for t in one.times], spec) for spec, group in groups.items()]


def now():
    return time.perf_counter()
