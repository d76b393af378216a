#!/usr/bin/env python3
"""Loss curves of the examples on PyTorch and on Cresset, side by side, step by step from the same seed.

Two losses agree to 4 digits where they differ by less than one in the fourth. The C++ programs of the same name must print the very
numbers of the Python ones, here with another number of threads.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples" / "python"
NAMES = ("linear_regression", "mnist", "char_gpt", "vae", "names_lstm")
IN_CPP = ("mnist", "char_gpt")
QUIET = {"linear_regression": ["--plot", ""], "mnist": ["--save", ""], "char_gpt": ["--characters", "0"], "vae": ["--plot", ""], "names_lstm": ["--names"]}


def losses_of(output: str) -> list[float]:
    return [float(x) for x in re.findall(r"^loss \d+ (\S+)$", output, re.MULTILINE)]


def run(command: list[str], environment: dict[str, str] | None = None) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, **(environment or {})})
    if done.returncode:
        sys.exit(f"compare_losses: {' '.join(command)} failed with {done.returncode}:\n{done.stderr}")
    return losses_of(done.stdout)


def agree(a: float, b: float) -> bool:
    """To 4 digits; only finite numbers do."""
    largest = max(abs(a), abs(b))
    return a == b or (math.isfinite(a) and math.isfinite(b) and abs(a - b) < 10.0 ** (math.floor(math.log10(largest)) - 3))


def reference(name: str) -> list[float]:
    return losses_of((EXAMPLES / "losses" / f"{name}.txt").read_text())


def has_torch(python: str) -> bool:
    try:
        return subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0
    except OSError:
        return False


def compare(name: str, options: argparse.Namespace, peer: str | None) -> bool:
    program = [str(EXAMPLES / f"{name}.py"), *QUIET[name], "--losses", "--steps", str(options.steps), "--seed", str(options.seed)]
    threads = ["--threads", str(options.threads)]
    columns = {"PyTorch": run([peer, *program, *threads]) if peer else reference(name)[: options.steps]}
    path = os.pathsep.join(filter(None, [str(options.build / "python"), os.environ.get("PYTHONPATH")]))
    columns["Cresset"] = run([sys.executable, "-m", "cresset", *program, *threads], {"PYTHONPATH": path})
    binary = options.build / "examples" / name
    if name in IN_CPP and binary.exists():
        columns["C++"] = run([str(binary), *program[1:], "--threads", str(2 if options.threads == 1 else 1)])
    theirs, ours = columns["PyTorch"], columns["Cresset"]
    if len(theirs) != len(ours):
        sys.exit(f"compare_losses: {name} printed {len(ours)} losses on Cresset, {len(theirs)} on PyTorch")

    print(f"{name}: {'step':>{12 - len(name) + 8}}" + "".join(f"{c:>15}" for c in columns) + f"{'difference':>12}")
    relative = [abs(a - b) / max(abs(a), abs(b), 1e-300) for a, b in zip(theirs, ours, strict=True)]
    for i in range(len(ours)):
        if i % options.every == 0 or i == len(ours) - 1 or not agree(theirs[i], ours[i]):
            print(f"{i:22}" + "".join(f"{c[i]:15.8g}" for c in columns.values()) + f"{relative[i]:12.1e}")
    apart = [i for i in range(len(ours)) if not agree(theirs[i], ours[i])]
    print(f"{name}: {len(ours) - len(apart)} of {len(ours)} losses agree to 4 digits, largest relative difference {max(relative):.1e}")
    same = columns.get("C++", ours) == ours
    if "C++" in columns:
        print(f"{name}: C++ and Python give {'the same losses bit for bit' if same else 'DIFFERENT losses'}")
    sys.stdout.flush()
    return not apart and same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples", nargs="*", metavar="EXAMPLE", help=f"of {' '.join(NAMES)}; default: all")
    parser.add_argument("--steps", type=int, default=100, help="steps to run (100)")
    parser.add_argument("--every", type=int, default=10, help="print every so many steps, and those that differ (10)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="threads of the Python programs (1)")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="build folder (build/release)")
    parser.add_argument("--store", action="store_true", help="write PyTorch's losses to examples/python/losses instead")
    options = parser.parse_args()
    for name in options.examples:
        if name not in NAMES:
            parser.error(f"unknown example {name}, expected some of {' '.join(NAMES)}")
    names = options.examples or NAMES
    peer = os.environ.get("CRESSET_PARITY_PYTHON", str(ROOT / "build" / "venv" / "bin" / "python"))
    if not has_torch(peer):
        if options.store or options.seed != 1 or options.steps > 100:
            sys.exit(f"compare_losses: {peer} has no torch, and examples/python/losses holds 100 steps of seed 1 alone")
        print(f"# {peer} has no torch: against the losses of PyTorch 2.13 in examples/python/losses")
        peer = None
    if options.store:
        for name in names:
            command = [peer, str(EXAMPLES / f"{name}.py"), *QUIET[name], "--losses", "--steps", "100", "--seed", "1", "--threads", "1"]
            losses = run(command)
            (EXAMPLES / "losses" / f"{name}.txt").write_text("".join(f"loss {i} {x:.9g}\n" for i, x in enumerate(losses)))
        return
    results = [compare(name, options, peer) for name in names]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
