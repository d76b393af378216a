#!/usr/bin/env python3
"""The same Python on Cresset and on PyTorch, in turns: one `name<TAB>value<TAB>unit` a row, ours, the peer's and the ratio.

Rows: `a + b` on one element (and NumPy's), Linear(4, 4) with gradient, a training step of a 64-64-64-64 MLP with AdamW, LSTM(64, 128)
over 32 steps with its gradient, the step of every program in examples/python and linear algebra with one thread and with two, and what
`import` costs over bare Python. `--only optim_`: a step of AdamW with 100 M parameters beside what memory allows, and of every optimizer with
the small MLP. `--only models`: the examples, and the suite of training steps in ../shared/bench where it is. Ours and the peer's run in one interpreter each, the peer's being $PEER, $CRESSET_PARITY_PYTHON or
build/venv/bin/python. A ratio is the median over the pairs; above 1 is ours better. Both sides' results are compared, of a training program the
parameters after its first steps: a row whose results differ is named, and the program then ends with 1.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time

from peer import BUILD, ROOT, report, rows_of
from programs.results import Comparison

CALLS = ("numpy_add", "add", "linear4_grad", "mlp64_step_adamw", "lstm_b1", "lstm_b32", "lstm_b32_2layers_bidirectional")
EXAMPLES = ("linear_regression", "mnist", "char_gpt", "vae", "names_lstm")
# One matrix of 16, 128 and 512 rows; 1000 of 4, 200 of 16 and 32 of 64.
LINALG = tuple(
    f"linalg_{op}_{shape}" for op in ("svd", "eigh", "solve", "cholesky", "qr", "inv", "det") for shape in ("16", "128", "512", "1000x4", "200x16", "32x64")
)
OPTIM = ("optim_100M_adamw_fused", "optim_100M_adamw_default",
         *(f"optim_mlp64_{kind}" for kind in ("SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "Adafactor", "RMSprop", "Rprop", "ASGD", "Muon", "LBFGS")))  # fmt: skip
THREADED = (*EXAMPLES, *LINALG)
# Rows that are measured only where --only names their group.
APART = ("optim_",)


def environment(threads: int = 1) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(BUILD / "python"), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}


def interpreter() -> tuple[str, bool]:
    """The Python to run, and whether it has torch."""
    named = os.environ.get("PEER") or os.environ.get("CRESSET_PARITY_PYTHON") or str(ROOT / "build" / "venv" / "bin" / "python")
    try:
        version = subprocess.run([named, "-c", "import torch; print(torch.__version__)"], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        print(f"# no peer: {named} has no torch (scripts/parity makes build/venv; or set PEER)")
        return sys.executable, False
    print(f"# peer: torch {version.strip()}")
    return named, True


class Worker:
    def __init__(self, python: str, module: str, threads: int, program: str = "python_worker.py") -> None:
        command = [python, str(ROOT / "bench" / "programs" / program), module, str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(threads))
        self.result: object = None  # of the row that was measured last

    def measure(self, name: str) -> tuple[float, str] | None:
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n").split("\t")
        if len(answer) != 4:
            sys.exit(f"python_peer.py: the worker ended while it measured {name}")
        self.result = json.loads(answer[3])
        return None if math.isnan(float(answer[1])) else (float(answer[1]), answer[2])

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def alternate(python: str, modules: list[str], names: list[str], pairs: int, threads: int, results: Comparison) -> None:
    workers = [Worker(python, module, threads) for module in modules]
    for name in names:
        turns: list[list[dict[str, tuple[float, str]]]] = [[] for _ in workers]
        for _ in range(pairs):
            for turn, worker in zip(turns, workers, strict=True):
                if value := worker.measure(name):
                    turn.append({f"python_{name}" + (f"_{threads}t" if name in THREADED else ""): value})
        if turns[0]:
            report(turns)
            results.check(name, workers[0].result, workers[-1].result)
    for worker in workers:
        worker.close()


def start_up(python: str, modules: list[str], pairs: int) -> None:
    """CPU time of a process that imports the module less that of one that does not, and its peak of resident memory."""

    def cost(code: str) -> tuple[float, float, float]:
        start = time.perf_counter()
        child = subprocess.Popen([python, "-c", code], env=environment())
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            sys.exit(f"python_peer.py: {python} -c {code!r} failed")
        return usage.ru_utime + usage.ru_stime, time.perf_counter() - start, usage.ru_maxrss / 1024

    turns: list[list[dict[str, tuple[float, str]]]] = [[] for _ in modules]
    for _ in range(pairs):
        bare = cost("pass")
        for turn, module in zip(turns, modules, strict=True):
            cpu, wall, memory = cost(f"import {module}")
            turn.append({"python_import_over_bare": ((cpu - bare[0]) * 1e3, "CPU ms"), "python_import_over_bare_wall": ((wall - bare[1]) * 1e3, "ms"),
                         "python_import_resident": (memory, "MiB")})  # fmt: skip
    report(turns)


def suite(python: str, modules: list[str], pairs: int, results: Comparison) -> None:
    """The training steps and inferences of ../shared/bench/train.py, the geometric mean of their ratios last. Losses and outputs are compared."""
    program = ROOT.parent / "shared" / "bench" / "train.py"
    if not program.exists():
        print(f"# the suite of training steps is skipped: there is no {program}")
        return
    turns: list[list[dict[str, tuple[float, str]]]] = [[] for _ in modules]
    for _ in range(pairs):
        for turn, module in zip(turns, modules, strict=True):
            rows = rows_of(subprocess.run([python, str(program), "--module", module], check=True, capture_output=True, text=True, env=environment()).stdout)
            turn.append({f"suite_{name}": value for name, value in rows.items() if value[1] in ("ms/step", "ms/call") or "rss" in name})
    report(turns)
    steps = [name for name, (_, unit) in turns[0][0].items() if unit == "ms/step"]
    if len(turns) > 1:
        ratios = [math.log(theirs[name][0] / ours[name][0]) for ours, theirs in zip(*turns, strict=True) for name in steps]
        print(f"suite_geomean.ratio\t{math.exp(sum(ratios) / len(ratios)):.3g}\tx ({len(steps)} rows)")
    workers = [Worker(python, module, 1) for module in modules]
    # Roundings of ResNet's third step differ by more than a thousandth of its loss, and not in float64.
    for name in (name for name, (_, unit) in turns[0][0].items() if unit in ("ms/step", "ms/call")):
        for worker in workers:
            worker.measure(name)
        results.check(name, workers[0].result, workers[-1].result, tolerance=1e-2)
    for worker in workers:
        worker.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5, help="turns of ours and the peer's (5)")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--no-peer", action="store_true", help="measure ours alone")
    options = parser.parse_args()
    print(f"# load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    python, has_torch = interpreter()
    modules = ["cresset", *(["torch"] if has_torch and not options.no_peer else [])]
    wanted = [n for n in (*CALLS, *THREADED, *OPTIM) if options.only in n and (options.only or not n.startswith(APART))]
    if options.only == "models":
        wanted = list(EXAMPLES)
    results = Comparison("python_peer.py")
    if options.only in "import":
        start_up(python, modules, options.pairs)
    if wanted:
        alternate(python, modules, wanted, options.pairs, 1, results)
    if options.only == "models":
        suite(python, modules, min(options.pairs, 3), results)
    if options.only.startswith("optim_") and (limit := BUILD / "bench" / "limit_bench").exists():
        print(subprocess.run([limit], check=True, capture_output=True, text=True).stdout, end="")
    if threaded := [n for n in wanted if n in THREADED]:
        alternate(python, modules, threaded, options.pairs, 2, results)
    results.finish()


if __name__ == "__main__":
    main()
