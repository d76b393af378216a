#!/usr/bin/env python3
"""Compiled functions beside our own eager mode, in turns: `name<TAB>compiled<TAB>eager<TAB>eager / compiled`, in microseconds of
the thread.

    bench/compile_peer.py [--only REGEX] [--pairs N] [--models] [--chart FILE]

Rows: the overhead of a compiled call and of its guards; chains of pointwise operators, with the time of one copy of the same memory; layers written in plain
operators beside our own kernels. With --models the training and inference steps of ../shared/bench, whose first step, compilation included, is a row too, and
peak memory in bytes; then the geometric means of ratios of least times. Other ratios are medians over the pairs. A row of
functions whose compiled result has other bits than eager mode's ends the program, and so does a model whose first losses or output differ by more
than rounding. --chart writes the ratios as an SVG.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "build" / "release" / "python"))

import cresset as torch  # noqa: E402
from cresset import nn  # noqa: E402
from cresset.nn import functional as F  # noqa: E402

Pair = tuple[Callable[[], Any], Callable[[], Any], int]


def deep_module() -> nn.Module:
    """102 modules that compute nothing but the last addition."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleList(nn.Sequential(*(nn.Identity() for _ in range(4))) for _ in range(20))

        def forward(self, x: Any) -> Any:
            for part in self.parts:
                x = part(x)
            return x + 1

    return Net()


def chain(x: Any) -> Any:
    return ((((x * 2 + 1) * x - 0.5) * x + 0.25) * x - 1) * x * 0.5


def functions(x: Any) -> Any:
    return ((((x * 2 + 1).sin() * 0.5 - x).abs() + 0.1).sqrt() * x).tanh() + x


def plain_gelu(x: Any) -> Any:
    return 0.5 * x * (1 + torch.erf(x * 0.7071067811865476))


def plain_norm(x: Any, w: Any, b: Any) -> Any:
    centred = x - x.mean(-1, keepdim=True)
    return centred * (centred.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt() * w + b


def plain_softmax(x: Any) -> Any:
    e = (x - x.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def pairs() -> Iterator[tuple[str, Callable[[], Pair]]]:
    """Rows: a compiled call, what it is compared with, and how many calls make a turn."""

    def against(function: Any, other: Any, args: tuple[Any, ...], calls: int = 3) -> Callable[[], Pair]:
        def make() -> Pair:
            compiled = torch.compile(function)
            if not torch.equal(compiled(*args), function(*args)):
                sys.exit(f"bench/compile_peer.py: {getattr(function, '__name__', type(function).__name__)}: compiled and eager results differ")
            return lambda: compiled(*args), lambda: other(*args), calls

        return make

    one, million = torch.ones(1), torch.randn(1 << 20)
    yield "call_of_one_operator", against(lambda x: x + 1, lambda x: x + 1, (one,), 2000)
    yield "call_through_102_modules", against(deep_module(), lambda x: x + 1, (one,), 500)
    yield "chain_10_operators_1M", against(chain, chain, (million,))
    yield "chain_10_operators_1M_beside_a_copy", against(chain, torch.clone, (million,))
    yield "functions_11_operators_1M", against(functions, functions, (million,))
    rows, weight = torch.randn(4096, 768), torch.randn(768)
    yield "gelu_in_plain_operators_1M", against(plain_gelu, plain_gelu, (million,))
    yield "gelu_in_plain_operators_1M_beside_ours", against(plain_gelu, F.gelu, (million,))
    yield "layer_norm_in_plain_operators", against(plain_norm, plain_norm, (rows, weight, weight))
    yield "layer_norm_in_plain_operators_beside_ours", against(plain_norm, lambda x, w, b: F.layer_norm(x, (768,), w, b), (rows, weight, weight))
    yield "softmax_in_plain_operators", against(plain_softmax, plain_softmax, (rows,))
    yield "softmax_in_plain_operators_beside_ours", against(plain_softmax, lambda x: x.softmax(-1), (rows,))


def least(call: Callable[[], Any], count: int) -> float:
    start = time.thread_time()  # one thread: neighbours do not count
    for _ in range(count):
        call()
    return (time.thread_time() - start) / count * 1e6


def compared(first: Callable[[], Any], second: Callable[[], Any], calls: int, turns: int) -> tuple[float, float, float]:
    found = [(least(first, calls), least(second, calls)) for _ in range(turns)]
    return min(a for a, _ in found), min(b for _, b in found), statistics.median(b / a for a, b in found)


def models(turns: int) -> Iterator[tuple[str, float, float, float]]:
    """Training steps of ../shared/bench, compiled and not; the first compiled step beside an eager one."""
    sys.path.insert(0, str(ROOT.parent / "shared" / "bench"))
    suite = importlib.import_module("models").suite
    compiled, eager = suite(torch, True), suite(torch)
    for name in compiled:
        torch._dynamo.reset()
        step, other = (seeded(make[name]) for make in (compiled, eager))
        first_losses: list[Any] = []
        first = least(lambda run=step, found=first_losses: found.append(run()), 1)
        agree(name, [*first_losses, step(), step()], [other() for _ in range(3)])
        ours, theirs, ratio = compared(step, other, 1, turns)
        yield name, ours, theirs, ratio
        if name.startswith("infer_"):
            with torch._inductor.config.patch(freezing=True):
                frozen = seeded(compiled[name])
                frozen()
            agree(f"{name}.frozen", [frozen()], [other()])
            yield f"{name}.frozen", *compared(frozen, other, 1, turns)
            del frozen
        yield f"{name}.first_step", first, theirs, theirs / first
        del step, other
        bytes_of = [peak(make[name]) for make in (compiled, eager)]
        yield f"{name}.peak_bytes", bytes_of[0], bytes_of[1], bytes_of[1] / bytes_of[0]


def seeded(make: Callable[[], Any]) -> Callable[[], Any]:
    """A step of a model whose parameters and data are the same at each call."""
    torch.manual_seed(0)
    return make()[0]


def agree(name: str, ours: list[Any], theirs: list[Any]) -> None:
    """Ends the program where losses or outputs differ by more than a hundredth of the largest, as after some steps they do by rounding."""
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a.shape != b.shape or not (a - b).abs().max() <= 1e-2 * b.abs().max():
            sys.exit(f"bench/compile_peer.py: {name}: result {i} differs, compiled and eager")


def peak(make: Callable[[], Any]) -> float:
    """Bytes that a model and a step take at most."""
    torch._dynamo.reset()
    gc.collect()
    before = torch.cpu.memory_stats()["allocated_bytes"]
    step = make()[0]
    for _ in range(2):
        step()
    gc.collect()
    torch.cpu.reset_peak_memory_stats()
    step()
    return float(torch.cpu.memory_stats()["peak_allocated_bytes"] - before)


def means(rows: list[tuple[str, float, float, float]]) -> Iterator[tuple[str, float]]:
    """Geometric means of eager over compiled, of training, of inference, and of inference with packed weights."""
    steps = [row for row in rows if not row[0].endswith(("first_step", "peak_bytes"))]
    kinds = {"training": [], "inference": [], "frozen inference": []}
    for row in steps:
        kinds["training" if not row[0].startswith("infer_") else "frozen inference" if row[0].endswith(".frozen") else "inference"].append(row)
    for kind, chosen in kinds.items():
        if chosen:
            yield f"{kind}.geometric_mean", statistics.geometric_mean(theirs / ours for _, ours, theirs, _ in chosen)


def chart(rows: list[tuple[str, float]], path: Path) -> None:
    """Bars of the ratios, on a scale of logarithms, 1 in the middle."""
    import math

    height, lines = 18 * len(rows) + 30, []
    for i, (name, ratio) in enumerate(rows):
        x = 330 + 90 * max(-3.0, min(3.0, math.log2(ratio)))
        left, right, y = min(x, 330), max(x, 330), 18 * i + 24
        colour = "#2a7" if ratio >= 1 else "#c53"
        lines.append(f'<rect x="{left:.1f}" y="{y - 11}" width="{right - left:.1f}" height="13" fill="{colour}"/>')
        lines.append(f'<text x="4" y="{y}">{name}</text><text x="610" y="{y}">{ratio:.2f}</text>')
    body = "\n".join(lines)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="660" height="{height}" font-family="sans-serif" font-size="11">\n'
        f'<text x="330" y="10" text-anchor="middle">eager / compiled (1 at the line, each step doubles)</text>\n{body}\n'
        f'<line x1="330" x2="330" y1="14" y2="{height}" stroke="black"/>\n</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="rows whose names match")
    parser.add_argument("--pairs", type=int, default=11, metavar="N", help="turns")
    parser.add_argument("--models", action="store_true", help="training steps of ../shared/bench too")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="the ratios as an SVG")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    shown = []
    for name, make in pairs():
        if re.search(arguments.only, name):
            first, second, calls = make()
            first(), second()
            shown.append((name, *compared(first, second, calls, arguments.pairs)))
            print("\t".join([name, *(f"{v:.3f}" for v in shown[-1][1:])]), flush=True)
    if arguments.models:
        found = []
        for row in models(arguments.pairs):
            found.append(row)
            print("\t".join([row[0], *(f"{v:.3f}" for v in row[1:])]), flush=True)
        shown += found
        for name, mean in means(found):
            print(f"{name}\t\t\t{mean:.3f}", flush=True)
    if arguments.chart:
        chart([(name, ratio) for name, *_, ratio in shown], arguments.chart)


if __name__ == "__main__":
    main()
