#!/usr/bin/env python3
"""Operators on Cresset and on PyTorch in one process, in turns: `name<TAB>ours<TAB>peer's<TAB>ratio`, sorted by the ratio.

Both results are compared first; a row whose results differ is named, and the program then ends with 1. Times are the least of several turns, in milliseconds of a call (CPU time where there is one thread, else wall time); a ratio below 1 means that ours takes longer. Arguments are 1 M float32 elements
unless the row's name says otherwise; both libraries get the same numbers. The interpreter needs torch and NumPy: $PEER, $CRESSET_PARITY_PYTHON or
build/venv/bin/python, which this program starts itself with where it runs in another.

    bench/ops_peer.py [--only REGEX] [--turns N] [--threads N] [--below RATIO] [--verbose]
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench" / "programs"))
N = 1 << 20
# Rows whose results are not determined: vectors up to sign, phase or order, positions among equal elements.
UNDETERMINED = re.compile(r"linalg_(svd|eig|eigh)_.*|mode_.*|(arg)?sort_.*")


def start_in_peer() -> None:
    named = os.environ.get("PEER") or os.environ.get("CRESSET_PARITY_PYTHON") or str(ROOT / "build" / "venv" / "bin" / "python")
    if os.environ.get("CRESSET_OPS_PEER") or not Path(named).exists():
        sys.exit(f"ops_peer.py: {named} has no torch (scripts/parity makes build/venv; or set PEER)")
    path = os.pathsep.join(filter(None, [str(ROOT / "build" / "release" / "python"), os.environ.get("PYTHONPATH")]))
    os.execve(named, [named, *sys.argv], {**os.environ, "CRESSET_OPS_PEER": "1", "PYTHONPATH": path})


def least(call: Callable[[], object], other: Callable[[], object], turns: int, now: Callable[[], float]) -> tuple[float, float]:
    """Seconds a call of each, the least of `turns` turns of at least 10 ms or one call."""
    repeats = []
    for f in (call, other):
        f()
        start = now()
        f()
        repeats.append(max(1, int(0.01 / max(now() - start, 1e-7))))
    best = [float("inf"), float("inf")]
    for _ in range(turns):
        for side, f in enumerate((call, other)):
            start = now()
            for _ in range(repeats[side]):
                f()
            best[side] = min(best[side], (now() - start) / repeats[side])
    return best[0], best[1]


def leaves(result: object) -> list[object]:
    """The tensors and numbers of a result, in order."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    return [] if result is None else [result]


def difference(ours: object, peers: object) -> str:
    """How two results differ; empty where they agree: whole numbers are equal, others near on the scale of the largest of the tensor."""
    import numpy as np

    a, b = leaves(ours), leaves(peers)
    if len(a) != len(b):
        return f"{len(a)} results against {len(b)}"
    for i, sides in enumerate(zip(a, b, strict=True)):
        x, y = (np.asarray(side.detach().double().numpy() if side.dtype.is_floating_point else side.detach().resolve_conj().numpy()) if hasattr(side, "detach") else np.asarray(side)
                for side in sides)  # fmt: skip
        if x.shape != y.shape:
            return f"result {i} has shape {x.shape} against {y.shape}"
        if x.size == 0:
            continue
        if x.dtype.kind in "biu":
            if wrong := int((x != y).sum()):
                return f"{wrong} of {x.size} whole numbers of result {i} differ"
            continue
        finite = np.isfinite(y)
        if not np.array_equal(np.isfinite(x), finite):
            return f"result {i} is finite in other places"
        scale = max(float(np.abs(y[finite]).max(initial=0)), 1e-30)
        if (most := float(np.abs(x[finite] - y[finite]).max(initial=0)) / scale) > 1e-3:
            return f"result {i} differs by {most:.1e} of its largest number"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose name matches this expression")
    parser.add_argument("--turns", "--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="also print rows as they come")
    parser.add_argument("--below", type=float, default=float("inf"), help="print rows below this ratio only")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        start_in_peer()
    from ops_rows import rows

    import cresset

    modules = [cresset, torch]
    for module in modules:
        module.set_num_threads(options.threads)
    print(f"# torch {torch.__version__}, {options.threads} threads, load {os.getloadavg()[0]:.1f}", flush=True)
    results, differing = [], []
    for name, make in rows(N):
        if not re.search(options.only, name):
            continue
        calls, outputs = [], []
        for module in modules:
            try:
                module.manual_seed(0)
                calls.append(make(module))
                outputs.append(calls[-1]())
            except Exception as error:  # a row that one side cannot run is shown as that
                print(f"{name}\t{module.__name__}: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
                break
        else:
            if not UNDETERMINED.fullmatch(name) and (how := difference(*outputs)):
                differing.append(name)
                print(f"{name}\tresults differ: {how}", flush=True)
            ours, peers = least(*calls, options.turns, time.thread_time if options.threads == 1 else time.perf_counter)
            results.append((peers / ours, name, ours, peers))
            if options.verbose:
                print(f"{name}\t{ours * 1e3:.4f}\t{peers * 1e3:.4f}\t{peers / ours:.2f}", flush=True)
    for ratio, name, ours, peers in sorted(results):
        if ratio < options.below:
            print(f"{name}\t{ours * 1e3:.4f}\t{peers * 1e3:.4f}\t{ratio:.2f}")
    slow = sum(ratio < 1 / 1.5 for ratio, *_ in results)
    print(f"# {len(results)} rows, {slow} of them slower than 1.5 times the peer, {len(differing)} with other results")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
