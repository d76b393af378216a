"""Tables of measurements."""

import enum
import math

from .common import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

_BEST, _GOOD, _BAD, _VERY_BAD, _END = "\033[92m\033[1m", "\033[34m", "\033[2m\033[91m", "\033[31m\033[1m", "\033[0m\033[0m"


class Colorize(enum.Enum):
    """Within what the times of a table are compared by colours.

    >>> torch.utils.benchmark.Colorize.ROWWISE
    <Colorize.ROWWISE: 'rowwise'>
    """

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Measurements as a table for each label: a row for each sub-label, a column for each description.

    >>> from cresset.utils.benchmark import Compare, Measurement, TaskSpec
    >>> times = [Measurement(1, [1e-4] * 3, TaskSpec("s", "", label="add", sub_label="small", description=d)) for d in "AB"]
    >>> print(str(Compare(times)).splitlines()[0])
    [------------ add ------------]
    """

    def __init__(self, results):
        self._results = []
        self._trim, self._colorize, self._warn = False, Colorize.NONE, False
        self.extend_results(results)

    def __str__(self):
        return "\n".join(self._lines())

    def extend_results(self, results):
        """Adds measurements. ValueError for other values."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"expected a `Measurement`, got {type(result)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self):
        """Shows only figures that mean something."""
        self._trim = True

    def colorize(self, rowwise=False):
        """Colours times by how they compare in their column, or row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self):
        """Marks times that differ too much."""
        self._warn = True

    def print(self):
        """Prints the tables."""
        print(str(self))

    def _lines(self):
        results = Measurement.merge(self._results)
        tables = []
        for label in ordered_unique(r.label for r in results):
            tables.append(self._table(label, [r for r in results if r.label == label]))
        return ["\n".join(table) + "\n" for table in tables]

    def _table(self, label, results):
        unit, scale = select_unit(min(r.median for r in results))
        columns = ordered_unique(r.description for r in results)
        rows = sorted(
            ordered_unique((r.num_threads, r.env if r.task_spec.env is not None else None, r.as_row_name) for r in results),
            key=lambda row: (row[0], row[1] or ""),
        )
        cells = {(r.num_threads, r.env if r.task_spec.env is not None else None, r.as_row_name, r.description): r for r in results}
        envs = [env for _, env, _ in rows if env is not None]
        wide = max((len(env) for env in envs), default=0)
        heads = {row: (f"  ({row[1]})".ljust(wide + 4) if envs else "    ") + f"  {row[2]}" for row in rows}
        first = max(map(len, heads.values()))
        digits = {c: min(self._digits(r, scale) for key, r in cells.items() if key[-1] == c) for c in columns}
        texts = {key: self._number(r, scale, digits[key[-1]]) for key, r in cells.items()}
        widths = [max([len(str(c or "")), *(len(t) for key, t in texts.items() if key[-1] == c)]) for c in columns]
        lines, threads = [], None
        total = first + sum(5 + w for w in widths)
        lines.append(f"[{f' {label or chr(0)} '.replace(chr(0), '').center(total - 2, '-')}]")
        lines.append("  |  ".join([" " * first, *(str(c or "").center(w) for c, w in zip(columns, widths))]))
        for row in rows:
            if row[0] != threads:
                threads = row[0]
                lines.append(f"{threads} threads: ".ljust(total, "-"))
            shown = []
            for column, width in zip(columns, widths):
                text = texts.get((*row, column), "").rjust(width)
                shown.append(self._coloured(text, cells.get((*row, column)), row, column, cells))
            lines.append("  |  ".join([heads[row].ljust(first), *shown]))
        lines += ["", f"Times are in {unit_to_english(unit)}s ({unit})."]
        if self._warn and any(r.has_warnings for r in results):
            lines.append("(! XX%) marks numbers that vary much: XX is 100 times the IQR over the median.")
        return lines

    def _digits(self, result, scale):
        """How many digits after the point mean something, at most one."""
        return min(max(result.significant_figures - math.ceil(math.log10(result.median / scale)), 0), 1) if self._trim else 1

    def _number(self, result, scale, digits):
        value = result.median / scale
        text = f"{trim_sigfig(value, result.significant_figures) if self._trim else value:.{digits}f}"
        return f"{text} (! {100 * result.iqr / result.median:.0f}%)" if self._warn and result.has_warnings else text

    def _coloured(self, text, result, row, column, cells):
        if result is None or self._colorize is Colorize.NONE:
            return text
        if self._colorize is Colorize.ROWWISE:
            others = [r.median for key, r in cells.items() if key[:-1] == row]
        else:
            others = [r.median for key, r in cells.items() if key[-1] == column and key[0] == row[0]]
        ratio = result.median / min(others)
        colour = _BEST if ratio <= 1.05 else _GOOD if ratio <= 1.25 else _VERY_BAD if ratio >= 5 else _BAD if ratio >= 2 else None
        return text if colour is None else colour + text + (_END if colour != _GOOD else "\033[0m")
