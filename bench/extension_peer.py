#!/usr/bin/env python3
"""The cost of extensions, on Cresset and on PyTorch in turns: `name<TAB>ours<TAB>peer's<TAB>ours / peer's`, in nanoseconds of the thread for a call.

Rows: an op that a program defines, from Python; an op under a mode that passes it on; an op that a profile records. From each the same call without
the mechanism is taken away. Each side runs in a process of its own, with one thread. The results of the calls, and what modes and profiles saw, are
compared: a row where they differ is named, and the program then ends with 1.

    bench/extension_peer.py [--only REGEX] [--pairs N]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from programs.results import Comparison

ROOT = Path(__file__).resolve().parent.parent
PEER = os.environ.get("PEER") or os.environ.get("CRESSET_PARITY_PYTHON") or str(ROOT / "build" / "venv" / "bin" / "python")

PROGRAM = """
import contextlib, json, sys, time
import {module} as torch
from {module}.overrides import TorchFunctionMode
from {module}.profiler import ProfilerActivity, profile
from {module}.utils._python_dispatch import TorchDispatchMode

torch.set_num_threads(1)
x = torch.ones(4)

@torch.library.custom_op("bench::same", mutates_args=())
def same(x: torch.Tensor) -> torch.Tensor:
    return x.clone()

library = torch.library.Library("bench_library", "DEF")
library.define("same(Tensor x) -> Tensor")
library.impl("same", lambda x: x.clone(), "CompositeExplicitAutograd")
in_library = torch.ops.bench_library.same

class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        return op(*args, **(kwargs or {}))

class Hearing(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))

class Listing(Passing):
    seen = []
    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        self.seen.append(str(op))
        return super().__torch_dispatch__(op, types, args, kwargs)

class Writing(Hearing):
    seen = []
    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen.append(function.__name__)
        return super().__torch_function__(function, types, args, kwargs)

def under(mode):
    with mode:
        y = torch.add(x, x)
    return y.tolist()

def profiled():
    with profile(activities=[ProfilerActivity.CPU]) as found:
        torch.add(x, x)
    return [[event.key, event.count] for event in found.key_averages() if event.key.startswith("aten::")]

def took(call, around=contextlib.nullcontext, calls=5000, times=5):
    best = float("inf")
    for _ in range(times):
        with around():
            call()
            start = time.thread_time_ns()
            for _ in range(calls):
                call()
            best = min(best, (time.thread_time_ns() - start) / calls)
    return best

add, clone = took(lambda: torch.add(x, x)), took(lambda: x.clone())
rows = {
    "custom_op": took(lambda: same(x)) - clone,
    "library_op": took(lambda: in_library(x)) - clone,
    "dispatch_mode": took(lambda: torch.add(x, x), Passing) - add,
    "function_mode": took(lambda: torch.add(x, x), Hearing) - add,
    "profiled_op": took(lambda: torch.add(x, x), lambda: profile(activities=[ProfilerActivity.CPU])) - add,
}
results = {
    "custom_op": same(x).tolist(),
    "library_op": in_library(x).tolist(),
    "dispatch_mode": [under(Listing()), Listing.seen],
    "function_mode": [under(Writing()), Writing.seen],
    "profiled_op": profiled(),
}
print(json.dumps([rows, results]))
"""


def measured(interpreter: str, module: str, environment: dict[str, str], folder: Path) -> tuple[dict[str, float], dict[str, object]]:
    """The rows of one side, and their results."""
    file = folder / f"side_{module}.py"
    file.write_text(PROGRAM.replace("{module}", module))
    done = subprocess.run([interpreter, "-W", "ignore", file], check=True, env=environment, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    if not Path(PEER).exists():
        sys.exit(f"extension_peer.py: {PEER} has no torch (scripts/parity makes build/venv; or set PEER)")
    ours = {**os.environ, "PYTHONPATH": str(ROOT / "build" / "release" / "python")}
    peers = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        pairs = []
        for _ in range(options.pairs):
            pairs.append((measured("/usr/bin/python3", "cresset", ours, Path(folder)), measured(PEER, "torch", peers, Path(folder))))
    results = Comparison("extension_peer.py")
    for name in pairs[0][0][0]:
        if re.search(options.only, name):
            mine, theirs = (statistics.median(pair[side][0][name] for pair in pairs) for side in (0, 1))
            print(f"{name}\t{mine:.0f}\t{theirs:.0f}\t{statistics.median(a[0][name] / b[0][name] for a, b in pairs):.2f}", flush=True)
            results.check(name, *(side[1][name] for side in pairs[0]))
    results.finish()


if __name__ == "__main__":
    main()
