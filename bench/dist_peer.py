#!/usr/bin/env python3
"""Collectives and training steps of two processes, beside PyTorch's Gloo: one `name<TAB>value<TAB>unit` a row, ours, the peer's and the ratio.

Usage: bench/dist_peer.py [--pairs N] [--ranks N] [ROWS...]   rows: collectives steps (default: both)

bench/programs/dist_rows.py runs on both in turns, with one thread a process; the interpreter that PEER names (default: build/venv/bin/python) has torch.
A ratio is the median over the pairs, above 1 is ours better. The results of rank 0 are
compared: a row where they differ is named, and the program then ends with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
from pathlib import Path

from programs.results import Comparison

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "bench/programs/dist_rows.py"


def run(python: str, framework: str, ranks: int, rows: list[str]) -> dict[str, tuple[float, str, object]]:
    """The rows of one framework."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    common = dict(os.environ, WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo",
                  PYTHONPATH=str(ROOT / "build/release/python"), PYTHONWARNINGS="ignore")  # fmt: skip
    processes = [
        subprocess.Popen([python, str(PROGRAM), framework, *rows], env={**common, "RANK": str(r), "LOCAL_RANK": str(r)}, stdout=subprocess.PIPE, text=True)
        for r in range(ranks)
    ]
    out = [p.communicate(timeout=900)[0] for p in processes]
    if any(p.returncode for p in processes):
        sys.exit(f"bench/dist_peer.py: {framework} failed")
    found_rows = {}
    for line in out[0].splitlines():
        name, value, unit, result = line.split("\t")
        found_rows[name] = (float(value), unit, json.loads(result))
    return found_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("rows", nargs="*", default=["collectives", "steps"])
    arguments = parser.parse_args()
    peer = os.environ.get("PEER", str(ROOT / "build/venv/bin/python"))
    pairs = []
    for _ in range(arguments.pairs):
        theirs = run(peer, "torch", arguments.ranks, arguments.rows) if os.path.exists(peer) else {}
        pairs.append((run(sys.executable, "cresset", arguments.ranks, arguments.rows), theirs))
    results = Comparison("dist_peer.py")
    for name, (_, unit, result) in pairs[0][0].items():
        ours = statistics.median(own[name][0] for own, _ in pairs)
        print(f"{name}\t{ours:.3f}\t{unit}")
        if not pairs[0][1]:
            continue
        ratios = [own[name][0] / other[name][0] if unit == "GB/s" else other[name][0] / own[name][0] for own, other in pairs]
        print(f"{name} torch\t{statistics.median(other[name][0] for _, other in pairs):.3f}\t{unit}")
        print(f"{name} ratio\t{statistics.median(ratios):.2f}\tx")
        results.check(name, result, pairs[0][1][name][2])
    results.finish()


if __name__ == "__main__":
    main()
