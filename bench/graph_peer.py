#!/usr/bin/env python3
"""Capture of programs as graphs on Cresset and on PyTorch in one process, in turns: `name<TAB>ours<TAB>peer's<TAB>ours / peer's`, in milliseconds.

Both sides' graphs are run and their results compared: a row where they differ is named, and the program then ends with 1.
The interpreter needs torch: $PEER, $CRESSET_PARITY_PYTHON or build/venv/bin/python, which this program starts itself with where it runs in another.

    bench/graph_peer.py [--only REGEX] [--pairs N]
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ops_peer import difference

ROOT = Path(__file__).resolve().parent.parent
Row = tuple[Callable[[], Any], Callable[[Any], Any]]  # what makes a graph, and what runs it


def start_in_peer() -> None:
    named = os.environ.get("PEER") or os.environ.get("CRESSET_PARITY_PYTHON") or str(ROOT / "build" / "venv" / "bin" / "python")
    if os.environ.get("CRESSET_OPS_PEER") or not Path(named).exists():
        sys.exit(f"graph_peer.py: {named} has no torch (scripts/parity makes build/venv; or set PEER)")
    path = os.pathsep.join(filter(None, [str(ROOT / "build" / "release" / "python"), os.environ.get("PYTHONPATH")]))
    os.execve(named, [named, *sys.argv], {**os.environ, "CRESSET_OPS_PEER": "1", "PYTHONPATH": path})


def gpt_block(t: Any) -> tuple[Any, Any]:
    """A block of GPT with 4 heads of 16, and its input."""
    nn, functional = t.nn, t.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(64) for _ in range(2))
            self.mix, self.out = nn.Linear(64, 192), nn.Linear(64, 64)
            self.wide, self.narrow = nn.Linear(64, 256), nn.Linear(256, 64)

        def forward(self, x: Any) -> Any:
            b, n, d = x.shape
            heads = (part.view(b, n, 4, d // 4).transpose(1, 2) for part in self.mix(self.norms[0](x)).split(d, 2))
            mixed = functional.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).reshape(b, n, d)
            x = x + self.out(mixed)
            return x + self.narrow(functional.gelu(self.wide(self.norms[1](x))))

    return Block(), t.randn(2, 16, 64)


def resnet18(t: Any) -> tuple[Any, Any]:
    """ResNet-18 in evaluation, and a photo's worth of input."""
    nn = t.nn

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
            self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU(inplace=True)
            changes = stride != 1 or inputs != outputs
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)) if changes else None

        def forward(self, x: Any) -> Any:
            out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            out += x if self.downsample is None else self.downsample(x)
            return self.relu(out)

    class ResNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
            widths = [64, 64, 128, 256, 512]
            self.stages = nn.Sequential(*(nn.Sequential(Block(a, b, 1 + (a != b)), Block(b, b, 1)) for a, b in zip(widths, widths[1:], strict=False)))
            self.pool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(512, 1000)

        def forward(self, x: Any) -> Any:
            return self.fc(t.flatten(self.pool(self.stages(self.stem(x))), 1))

    return ResNet().eval(), t.randn(1, 3, 224, 224)


def trace_of_resnet(t: Any) -> Row:
    trace, (net, x) = importlib.import_module(f"{t.__name__}.fx").symbolic_trace, resnet18(t)
    return lambda: trace(net), lambda traced: traced(x)


def export_of_resnet(t: Any) -> Row:
    export, (net, x) = importlib.import_module(f"{t.__name__}.export").export, resnet18(t)
    return lambda: export(net, (x,)), lambda program: program.module()(x)


def make_fx_of_gpt(t: Any, mode: str) -> Row:
    """make_fx of the loss of a block with its gradients."""
    make_fx = importlib.import_module(f"{t.__name__}.fx.experimental.proxy_tensor").make_fx
    block, x = gpt_block(t)
    names = [name for name, _ in block.named_parameters()]

    def step(values: list[Any], x: Any) -> Any:
        loss = t.func.functional_call(block, dict(zip(names, values)), (x,)).pow(2).mean()
        return loss, t.autograd.grad(loss, values)

    def values() -> list[Any]:
        return [p.detach().requires_grad_() for p in block.parameters()]

    return lambda: make_fx(step, tracing_mode=mode)(values(), x), lambda graph: graph(values(), x)


ROWS: dict[str, Callable[[Any], Row]] = {
    "symbolic_trace_resnet18": trace_of_resnet,
    "export_resnet18": export_of_resnet,
    "make_fx_gpt_block_backward_real": lambda t: make_fx_of_gpt(t, "real"),
    "make_fx_gpt_block_backward_fake": lambda t: make_fx_of_gpt(t, "fake"),
}


def least(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="rows whose names match")
    parser.add_argument("--pairs", type=int, default=7, metavar="N", help="turns")
    arguments = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        start_in_peer()
    sides = [importlib.import_module(name) for name in ("cresset", "torch")]
    for side in sides:
        side.set_num_threads(1)
    differing = []
    for name, make in ROWS.items():
        if not re.search(arguments.only, name):
            continue
        calls, results = [], []
        for side in sides:
            side.manual_seed(0)
            call, run = make(side)
            calls.append(call)
            results.append(run(call()))
        if how := difference(*results):
            differing.append(name)
            print(f"{name}\tresults differ: {how}", flush=True)
        best = [float("inf")] * 2
        for _ in range(arguments.pairs):
            best = [min(b, least(call)) for b, call in zip(best, calls)]
        print(f"{name}\t{best[0] * 1e3:.2f}\t{best[1] * 1e3:.2f}\t{best[0] / best[1]:.3f}", flush=True)
    if differing:
        sys.exit(f"graph_peer.py: rows whose results are not the peer's: {', '.join(differing)}")


if __name__ == "__main__":
    main()
