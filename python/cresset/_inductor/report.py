"""Reports of compiled functions: graphs and where they break, the operators of each kernel, bytes that move, and the time of kernels beside what the
machine allows."""

import dataclasses
import functools
import html
import pathlib
import time

from _cresset import Tensor

import cresset as torch

from ..utils.flop_counter import flop_registry
from .compile_fx import Compiled

#: Kernels shown of each program, the slowest ones.
SHOWN = 12


@dataclasses.dataclass
class Row:
    """A step of a program: an operator or a kernel of several, the bytes that it reads and writes, its time and the least time for it, in seconds."""

    name: str
    operators: list
    bytes: int
    flops: int
    seconds: float
    limit: float


@dataclasses.dataclass
class Part:
    """A program, forward or backward: bytes that its operators would move one by one, and its rows."""

    name: str
    num_operators: int
    bytes_before: int
    rows: list

    @property
    def bytes_after(self):
        return sum(row.bytes for row in self.rows)


@dataclasses.dataclass
class GraphReport:
    """A graph of a function: its parts; none where it runs as it was captured."""

    function: str
    num_operators: int
    parts: list


class Report:
    """The result of `torch.compiler.report`: `graphs`, `breaks` (reason, hint, function), its text by `str`, its drawing by `svg`."""

    def __init__(self, graphs, breaks):
        self.graphs, self.breaks = graphs, breaks

    def __str__(self):
        lines = [f"{_counted(len(self.graphs), 'graph')}, {_counted(len(self.breaks), 'break')}"]
        for reason, hint, function in self.breaks:
            lines.append(f"  break in {function}: {reason}" + (f"; {hint}" if hint else ""))
        for i, graph in enumerate(self.graphs, 1):
            lines.append(f"graph {i} of {graph.function}: {_counted(graph.num_operators, 'call')}")
            if not graph.parts:
                lines.append("  runs as it was captured")
            for part in graph.parts:
                lines += _part_lines(part)
        return "\n".join(lines) + "\n"

    __repr__ = __str__

    def svg(self, path=None):
        """A drawing as SVG: a bar for the time of each kernel, the part of it that the machine cannot save filled. Also written to a file if `path` is
        given.

        >>> compiled = torch.compile(lambda x: x.sin() + 1)
        >>> _ = compiled(torch.zeros(1024))
        >>> torch.compiler.report(compiled).svg()[:4]
        '<svg'
        """
        text = _drawing(self)
        if path is not None:
            pathlib.Path(path).write_text(text, encoding="utf-8")
        return text


def _counted(n, name):
    return f"{n} {name}{'' if n == 1 else 's'}"


def _size(count):
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} B"


def _part_lines(part):
    fused = [row for row in part.rows if len(row.operators) > 1]
    lines = [
        f"  {part.name}: {_counted(part.num_operators, 'operator')}, {len(fused)} fused kernels of {sum(len(row.operators) for row in fused)}; "
        f"{_size(part.bytes_before)} to move, {_size(part.bytes_after)} fused"
    ]
    rows = sorted(part.rows, key=lambda row: -row.seconds)
    lines += [f"    {row.seconds * 1e6:9.1f} us, at least {row.limit * 1e6:9.1f}  {_size(row.bytes):>9}  {row.name}" for row in rows[:SHOWN]]
    if len(rows) > SHOWN:
        lines.append(f"    {sum(row.seconds for row in rows[SHOWN:]) * 1e6:9.1f} us in {len(rows) - SHOWN} more")
    return lines


# ---- measurements ------------------------------------------------------------------------------------------------------------


def _tensors(value):
    if isinstance(value, Tensor):
        return [value]
    return [t for v in value for t in _tensors(v)] if isinstance(value, (list, tuple)) else []


def _bytes(node):
    """Bytes that an operator reads and writes; views move nothing."""
    if node.op != "call_function" or getattr(node.target, "is_view", False) or getattr(node.target, "__name__", "") == "getitem":
        return 0
    read = [t for n in node.all_input_nodes for t in _tensors(n.meta.get("val"))]
    return sum(int(t.numel()) * t.element_size() for t in (*read, *_tensors(node.meta.get("val"))))


def _flops(node):
    formula = flop_registry.get(getattr(node.target, "overloadpacket", None))
    if formula is None:
        return 0
    try:
        given = torch.fx.map_arg((node.args, node.kwargs), lambda n: n.meta.get("val"))
        return int(formula(*given[0], **given[1], out_val=node.meta.get("val")))
    except (TypeError, ValueError, AttributeError, RuntimeError):
        return 0


def _best(call, turns=3):
    best = float("inf")
    for _ in range(turns):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


@functools.cache
def machine():
    """Bytes and floating-point operations of a second: of a copy of 32 MB, and of a product of matrices of 512 rows.

    >>> all(rate > 1e6 for rate in torch._inductor.report.machine())
    True
    """
    x, a = torch.ones(8 << 20), torch.ones(512, 512)
    y = torch.empty_like(x)
    return 2 * x.numel() * 4 / _best(lambda: y.copy_(x)), 2 * 512**3 / _best(lambda: a @ a)


def _example(value):
    """A tensor, or a number, of the kind of a fake one: numbers within 0 and 1, so that indices are there."""
    if not isinstance(value, Tensor):
        return value
    real = torch.empty_strided(tuple(map(int, value.shape)), tuple(map(int, value.stride())), dtype=value.dtype)
    return real.fill_(0.5 if value.is_floating_point() or value.is_complex() else 0)


def _measured(compiled):
    """Rows of a program, node by node, on tensors of the sizes it was compiled for."""
    module = compiled.fused.graph.to_fx() if isinstance(compiled, Compiled) else compiled.source
    bandwidth, speed = machine()
    operators = iter(compiled.fused.operators if isinstance(compiled, Compiled) else ())
    examples = (_example(node.meta.get("val")) for node in compiled.source.graph.find_nodes(op="placeholder"))
    values, rows, known = {}, [], {node.name: node.meta["val"] for node in compiled.source.graph.nodes if "val" in node.meta}
    for node in module.graph.nodes:
        if node.op == "placeholder":
            values[node] = next(examples)
        elif node.op == "get_attr":
            values[node] = _held(module, node.target)
        elif node.op == "call_function":
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: values[n])
            try:
                values[node] = node.target(*args, **kwargs)
            except (RuntimeError, ValueError, IndexError):  # the made-up numbers are none that it takes: it has no row
                if node.name not in known:
                    raise
                values[node] = torch.utils._pytree.tree_map(_example, known[node.name])
                continue
        if node.op == "output":
            continue
        node.meta["val"] = values[node]
        moved = _bytes(node)
        if moved:
            names = next(operators) if str(node.target).startswith("cresset_fused") else [str(node.target).removeprefix("aten.")]
            flops = _flops(node)
            name = " ".join(o.partition(".")[0] for o in names)
            seconds = _best(lambda: node.target(*args, **kwargs))  # noqa: B023  called at once
            rows.append(Row(name, names, moved, flops, seconds, max(moved / bandwidth, flops / speed)))
    return rows


def _held(module, path):
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _part(name, compiled):
    source = compiled.source
    operators = [node for node in source.graph.nodes if _bytes(node)]
    state = torch.get_rng_state()
    try:
        with torch.no_grad():
            rows = _measured(compiled)
    finally:
        torch.set_rng_state(state)
    return Part(name, len(operators), sum(map(_bytes, operators)), rows)


def report_of(compiler):
    """The report of what a compiler has compiled so far."""
    graphs = []
    for module, made in compiler.made:
        parts = [_part(name, half) for name, half in zip(("forward", "backward"), getattr(made, "parts", ()), strict=False) if hasattr(half, "source")]
        calls = [node for node in module.graph.nodes if node.op.startswith("call")]
        graphs.append(GraphReport(module.meta.get("function", "a function"), len(calls), parts))
    return Report(graphs, list(compiler.breaks))


# ---- the drawing -------------------------------------------------------------------------------------------------------------


def _drawing(report):
    lines, y, parts = [], 20, [(g, p) for g in report.graphs for p in g.parts]
    longest = max((row.seconds for _, part in parts for row in part.rows), default=1.0)

    def text(x, words, **style):
        extra = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
        lines.append(f'<text x="{x}" y="{y}"{extra}>{html.escape(words)}</text>')

    text(8, f"{_counted(len(report.graphs), 'graph')}, {_counted(len(report.breaks), 'break')}", font_weight="bold")
    for reason, hint, function in report.breaks:
        y += 16
        text(16, f"break in {function}: {reason}" + (f"; {hint}" if hint else ""))
    for graph, part in parts:
        y += 24
        text(8, f"{graph.function}, {part.name}: {_size(part.bytes_before)} to move, {_size(part.bytes_after)} fused", font_weight="bold")
        for row in sorted(part.rows, key=lambda r: -r.seconds)[:SHOWN]:
            y += 18
            width, least = 300 * row.seconds / longest, 300 * min(row.limit, row.seconds) / longest
            lines.append(f'<rect x="8" y="{y - 11}" width="{width:.1f}" height="13" fill="#f0c27a"/>')
            lines.append(f'<rect x="8" y="{y - 11}" width="{least:.1f}" height="13" fill="#2a7"/>')
            text(316, f"{row.seconds * 1e6:.1f} us  {row.name if len(row.name) < 90 else row.name[:87] + '...'}")
    y += 24
    text(8, "green: the least that memory and arithmetic of this machine take")
    body = "\n".join(lines)
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="900" height="{y + 12}" font-family="sans-serif" font-size="11">\n{body}\n</svg>\n'
