#!/usr/bin/env python3
"""The same C++ programs on Cresset and on PyTorch: one `name<TAB>value<TAB>unit` a row, ours, the peer's and the ratio.

Usage: bench/peer.py [--pairs N] [--threads N] [GROUP...]   groups: calls header hello kernels mnist (default: all)

bench/programs/*.cpp include <torch/torch.h> alone. They are built against build/release and, where PEER names the Python of an environment
with torch (default: build/venv/bin/python), against that too. The two run in turns; a ratio is the median over the pairs, above 1 is ours
better. One thread is timed by thread CPU time, more by wall time. Instruction counts come from valgrind's callgrind.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
PROGRAMS = ROOT / "bench" / "programs"
GROUPS = ("calls", "header", "hello", "kernels", "mnist")


class Side:
    """One of the two libraries: its flags, and the programs built against it."""

    def __init__(self, name: str, include: list[str], link: list[str]) -> None:
        self.name, self.include, self.link = name, include, link
        self.folder = BUILD / "bench" / "programs" / name
        self.folder.mkdir(parents=True, exist_ok=True)

    def program(self, name: str) -> Path:
        source, binary = PROGRAMS / f"{name}.cpp", self.folder / name
        newest = max(p.stat().st_mtime for p in (source, PROGRAMS / "timing.h", *([BUILD / "libcresset.so"] if self.name == "cresset" else [])))
        if not binary.exists() or binary.stat().st_mtime < newest:
            command = ["g++", "-O2", "-std=c++17" if self.name == "cresset" else "-std=c++20", str(source), "-o", str(binary), *self.include, *self.link]
            subprocess.run([*command, "-lpthread"], check=True)
        return binary


def ours() -> Side:
    if not (BUILD / "libcresset.so").exists():
        sys.exit("peer.py: build/release has no libcresset.so; run scripts/bench, which builds it")
    include = [f"-I{p}" for p in (ROOT / "compat" / "include", ROOT, BUILD / "generated")]
    return Side("cresset", include, [f"-L{BUILD}", f"-Wl,-rpath,{BUILD}", "-lcresset"])


def peer() -> Side | None:
    python = os.environ.get("PEER", str(ROOT / "build" / "venv" / "bin" / "python"))
    question = "import torch, os; print(os.path.dirname(torch.__file__)); print(torch.__version__)"
    try:
        found = subprocess.run([python, "-c", question], check=True, capture_output=True, text=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        print(f"# no peer: {python} has no torch (scripts/parity makes build/venv; or set PEER)")
        return None
    print(f"# peer: torch {found[1]}")
    include = [f"-isystem{found[0]}/include", f"-isystem{found[0]}/include/torch/csrc/api/include"]
    libraries = ["-Wl,--no-as-needed", "-ltorch_cpu", "-lc10", "-Wl,--as-needed", "-Wl,--allow-shlib-undefined"]
    return Side("torch", include, [f"-L{found[0]}/lib", f"-Wl,-rpath,{found[0]}/lib", *libraries])


def rows_of(output: str) -> dict[str, tuple[float, str]]:
    rows = {}
    for line in output.splitlines():
        if line.startswith("#"):
            continue
        name, value, unit = line.split("\t")
        rows[name] = (float(value), unit)
    return rows


def run(command: list[str], threads: int = 1) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def report(pairs: list[list[dict[str, tuple[float, str]]]], better: dict[str, bool] | None = None) -> None:
    """pairs: for each side the rows of every turn. Rates count up, times and sizes down; `loss` rows are only shown."""
    for name, (_, unit) in pairs[0][0].items():
        mine = [turn[name][0] for turn in pairs[0]]
        print(f"{name}\t{statistics.median(mine):.5g}\t{unit}")
        if len(pairs) < 2 or name not in pairs[1][0]:
            continue
        theirs = [turn[name][0] for turn in pairs[1]]
        print(f"{name}.peer\t{statistics.median(theirs):.5g}\t{unit}")
        if "loss" not in name:
            rate = "/s" in unit
            ratios = [a / b if rate else b / a for a, b in zip(mine, theirs, strict=True) if a and b]
            if ratios:
                print(f"{name}.ratio\t{statistics.median(ratios):.3g}\tx (least {min(ratios):.3g})")
    sys.stdout.flush()


def alternate(sides: list[Side], name: str, arguments: list[str], pairs: int, threads: int) -> None:
    programs = [str(side.program(name)) for side in sides]
    turns: list[list[dict[str, tuple[float, str]]]] = [[] for _ in sides]
    for _ in range(pairs):
        for turn, program in zip(turns, programs, strict=True):
            turn.append(rows_of(run([program, *arguments], threads)))
    report(turns)


def calls(sides: list[Side], _: argparse.Namespace) -> None:
    turns = []
    for side in sides:
        with tempfile.TemporaryDirectory() as folder:
            run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", str(side.program("calls")), "callgrind"])
            counts: dict[str, float] = {}
            for dump in sorted(Path(folder).glob("out.*"), key=lambda p: int(p.suffix[1:])):
                name, total = "", 0.0
                for line in dump.read_text().splitlines():
                    if line.startswith("desc: Trigger: Client Request: "):
                        name = line.split(": ")[-1]
                    elif line.startswith(("totals:", "summary:")):
                        total = float(line.split()[1])
                if name:
                    counts[name] = total / 200
        turns.append([{f"{n}_instructions": (v - counts["loop"], "instructions") for n, v in counts.items() if n not in ("loop", "warm-up")}])
    report(turns)


def header(sides: list[Side], _: argparse.Namespace) -> None:
    def cost(side: Side, text: str) -> tuple[float, float]:
        best = (1e9, 0.0)
        for _ in range(3):
            with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
                source.write(f"#include <{text}>\n")
                source.flush()
                child = subprocess.Popen(["g++", "-std=c++17" if side.name == "cresset" else "-std=c++20", "-fsyntax-only", *side.include, source.name])
                _, status, usage = os.wait4(child.pid, 0)
                if status:
                    sys.exit(f"peer.py: <{text}> does not compile against {side.name}")
                best = min(best, (usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
        return best

    for text in ("torch/torch.h", "cresset/cresset.h", "cresset/tensor.h"):
        turns = []
        for side in sides if text.startswith("torch") else sides[:1]:
            seconds, memory = cost(side, text)
            turns.append([{f"header {text}": (seconds, "CPU s"), f"header {text} memory": (memory, "MiB")}])
        report(turns)


def hello(sides: list[Side], options: argparse.Namespace) -> None:
    turns: list[list[dict[str, tuple[float, str]]]] = [[] for _ in sides]
    programs = [str(side.program("hello")) for side in sides]
    for _ in range(options.pairs):
        for turn, program in zip(turns, programs, strict=True):
            start = time.perf_counter()
            rows = rows_of(run([program]))
            turn.append({"hello_wall": ((time.perf_counter() - start) * 1e3, "ms"), **rows})
    report(turns)


def kernels(sides: list[Side], options: argparse.Namespace) -> None:
    gemm = BUILD / "bench" / "limit_bench"
    if gemm.exists():
        report([[rows_of(run([str(gemm)]))]])
    alternate(sides, "kernels", [str(options.threads), options.only, "0.05"], options.pairs, options.threads)


def mnist(sides: list[Side], options: argparse.Namespace) -> None:
    alternate(sides, "mnist", [str(options.threads)], options.pairs, options.threads)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {' '.join(GROUPS)}; default: all")
    parser.add_argument("--pairs", type=int, default=11, help="turns of ours and the peer's (11)")
    parser.add_argument("--threads", type=int, default=1, help="threads to compute with (1)")
    parser.add_argument("--only", default="", help="kernels: rows whose name contains this")
    parser.add_argument("--no-peer", action="store_true", help="measure ours alone")
    options = parser.parse_args()
    for group in options.groups:
        if group not in GROUPS:
            parser.error(f"unknown group {group}, expected some of {' '.join(GROUPS)}")
    print(f"# load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, {resource.getpagesize()} B pages, {options.threads} threads")
    other = None if options.no_peer else peer()
    sides = [ours(), *([other] if other else [])]
    for group in options.groups or GROUPS:
        globals()[group](sides, options)


if __name__ == "__main__":
    main()
