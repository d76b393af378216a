#!/usr/bin/env python3
"""Instructions for each node of a graph that runs in C++, over the calls of the dispatcher and over the kernels alone, by valgrind's callgrind.

    bench/graph_nodes.py [--build build/release]

Compiles bench/programs/graph_nodes.cpp against the build, and prints `name<TAB>instructions`: the difference between two chains of nodes and two numbers of runs.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WAYS = ("program", "calls", "kernels")
NODES, RUNS = (20, 120), (200, 600)


def compiled(build: Path, folder: Path) -> Path:
    program = folder / "graph_nodes"
    flags = ["-std=c++20", "-O2", f"-I{ROOT}", f"-I{build / 'generated'}", f"-L{build}", "-lcresset_graph", "-lcresset", f"-Wl,-rpath,{build}"]
    subprocess.run(["c++", str(ROOT / "bench/programs/graph_nodes.cpp"), "-o", str(program), *flags], check=True)
    return program


def instructions(program: Path, folder: Path, way: str, nodes: int, runs: int) -> int:
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'out'}", str(program), way, str(nodes), str(runs)]
    said = subprocess.run(command, check=True, capture_output=True, text=True, env={"CRESSET_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}).stderr
    found = re.search(r"Collected : (\d+)", said)
    assert found, said
    return int(found[1])


def each(program: Path, folder: Path, way: str) -> float:
    """Of one node in one run: what more runs of a longer chain cost over those of a shorter one."""
    long, short = ([instructions(program, folder, way, n, r) for r in RUNS] for n in reversed(NODES))
    return ((long[1] - long[0]) - (short[1] - short[0])) / ((RUNS[1] - RUNS[0]) * (NODES[1] - NODES[0]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("graph_nodes.py needs valgrind, which is not installed (Debian: valgrind)", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = compiled(options.build.resolve(), folder)
        counts = {way: each(program, folder, way) for way in WAYS}
    for way, count in counts.items():
        print(f"{way}\t{count:.1f}")
    print(f"program_over_calls\t{counts['program'] - counts['calls']:.1f}")
    print(f"program_over_kernels\t{counts['program'] - counts['kernels']:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
