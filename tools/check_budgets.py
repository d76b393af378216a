#!/usr/bin/env python3
"""Prints file lengths, header cost, primitives and library size, and fails when one is over its budget."""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True

from census import LIMITS, counts_of  # noqa: E402
from opgen.load import load  # noqa: E402

MAX_LINES = 1500
MAX_EXAMPLE_LINES = 150
MAX_GENERATOR_LINES = 2000  # of tools/opgen, all files
# User seconds and resident MiB of g++ -std=c++17 -fsyntax-only.
HEADERS = {"cresset/tensor.h": (0.8, 180.0), "cresset/cresset.h": (1.5, 225.0), "compat/include/torch/torch.h": (1.8, 300.0)}
MAX_LIBRARY_MB = 20.0
MAX_GRAPH_MB = 4.5  # with libcresset.so: what a C++ program needs that runs .pt2 files, 25 MB in all
MAX_DISTRIBUTIONS_MB = 0.7
MAX_COMPILE_MB = 1.0
MAX_DIST_MB = 1.5
MAX_PROFILE_MB = 0.5
MAX_EXPORTED_NAMES = 6150  # of libcresset.so; only falls
MAX_THREAD_LOCAL_BYTES = 1024  # glibc keeps 1,664 for all libraries that are opened late
MAX_UNIT_SECONDS = 20.0  # CPU


def file_lengths() -> tuple[list[str], bool]:
    sources = [p for folder in ("cresset", "python", "ops", "tools", "tests", "bench", "examples", "compat") for p in (ROOT / folder).rglob("*")
               if p.suffix in {".cpp", ".h", ".py", ".toml"}]  # fmt: skip
    lengths = sorted(((len(p.read_text().splitlines()), p.relative_to(ROOT)) for p in sources), reverse=True)
    over = [(n, p) for n, p in lengths if n > MAX_LINES]
    return [f"longest file\t{lengths[0][0]} of {MAX_LINES}\t{lengths[0][1]}"] + [f"OVER: {p} has {n} lines" for n, p in over], not over


def counted_lines(title: str, paths: list[Path], most: int, together: bool) -> tuple[list[str], bool]:
    """The lines of the longest of some files, or of all of them together."""
    lengths = {p.relative_to(ROOT): len(p.read_text().splitlines()) for p in paths}
    if together:
        total = sum(lengths.values())
        return [f"{title}\t{total} of {most} lines" + ("" if total <= most else "\tOVER")], total <= most
    over = [f"OVER: {p} has {n} lines of {most}" for p, n in lengths.items() if n > most]
    longest = max(lengths, key=lambda p: lengths[p])
    return [f"longest {title}\t{lengths[longest]} of {most} lines\t{longest}", *over], not over


def spent(command: list[str], enough: tuple[float, float], tries: int = 5) -> tuple[float, float]:
    """Least user seconds and resident MiB of a few runs; a busy machine only adds, so one run within `enough` settles it."""
    seconds = mebibytes = float("inf")
    for _ in range(tries):
        process = subprocess.Popen(command)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, command)
        seconds, mebibytes = min(seconds, usage.ru_utime), min(mebibytes, usage.ru_maxrss / 1024)
        if seconds <= enough[0] and mebibytes <= enough[1]:
            break
    return seconds, mebibytes


def header_cost(build: Path, steady: bool) -> tuple[list[str], bool]:
    """Cost of including a header; with `steady` its memory alone, which does not depend on the load of the machine."""
    rows, good = [], True
    for header, budget in HEADERS.items():
        name = header.removeprefix("compat/include/")
        with tempfile.NamedTemporaryFile("w", suffix=".cpp") as unit:
            unit.write(f"#include <{name}>\n")
            unit.flush()
            command = ["g++", "-std=c++17", "-fsyntax-only", f"-I{ROOT}", f"-I{ROOT}/compat/include", f"-I{build}/generated", unit.name]
            seconds, mebibytes = spent(command, (float("inf"), budget[1]) if steady else budget)
        fine = (steady or seconds <= budget[0]) and mebibytes <= budget[1]
        good = good and fine
        rows.append(f"header {name}\t{seconds:.2f} s of {budget[0]} s, {mebibytes:.1f} MiB of {budget[1]:.0f} MiB" + ("" if fine else "\tOVER"))
    return rows, good


def primitives() -> tuple[list[str], bool]:
    counts = counts_of(load(list((ROOT / "ops").glob("*.toml"))))
    rows = [f"{name}\t{counts.get(name, 0)} of {most}" + ("" if counts.get(name, 0) <= most else "\tOVER") for name, most in LIMITS.items()]
    return rows, all(counts.get(name, 0) <= most for name, most in LIMITS.items())


def stripped_megabytes(library: Path) -> float:
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder) / library.name
        subprocess.run(["strip", "-o", str(stripped), str(library)], check=True)
        return stripped.stat().st_size / 1e6


def library_size(build: Path) -> tuple[list[str], bool]:
    rows, good = [], True
    for name, most in (
        ("libcresset.so", MAX_LIBRARY_MB),
        ("libcresset_graph.so", MAX_GRAPH_MB),
        ("libcresset_distributions.so", MAX_DISTRIBUTIONS_MB),
        ("libcresset_compile.so", MAX_COMPILE_MB),
        ("libcresset_dist.so", MAX_DIST_MB),
        ("libcresset_profile.so", MAX_PROFILE_MB),
    ):
        if not (build / name).exists():
            rows.append(f"{name}\tnot built")
            continue
        size = stripped_megabytes(build / name)
        rows.append(f"{name} stripped\t{size:.1f} MB of {most} MB" + ("" if size <= most else "\tOVER"))
        good = good and size <= most
    library = build / "libcresset.so"
    if not library.exists():
        return rows, good
    segments = subprocess.run(["readelf", "-lW", str(library)], check=True, capture_output=True, text=True).stdout.splitlines()
    thread_local = sum(int(line.split()[5], 16) for line in segments if line.split()[:1] == ["TLS"])
    rows.append(f"library thread-local\t{thread_local} bytes of {MAX_THREAD_LOCAL_BYTES}" + ("" if thread_local <= MAX_THREAD_LOCAL_BYTES else "\tOVER"))
    names = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True).stdout.count("\n")
    rows.append(f"libcresset.so exported names\t{names} of {MAX_EXPORTED_NAMES}" + ("" if names <= MAX_EXPORTED_NAMES else "\tOVER"))
    return rows, good and thread_local <= MAX_THREAD_LOCAL_BYTES and names <= MAX_EXPORTED_NAMES


def unit_cost(build: Path) -> tuple[list[str], bool]:
    """Compiles again, without a cache, the units that took longest in the last builds and those with the largest objects."""
    commands = json.loads((build / "compile_commands.json").read_text())
    units = {unit["command"].split(" -o ")[1].split()[0]: unit for unit in commands}
    took: dict[str, int] = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        if output in units:
            took[output] = max(took.get(output, 0), int(end) - int(start))
    sizes = {output: (build / output).stat().st_size for output in units if (build / output).exists()}
    suspects = set()
    for library, count in ((True, 6), (False, 3)):
        for costs in (took, sizes):
            some = [output for output in costs if output.startswith("CMakeFiles/") == library]
            suspects |= set(sorted(some, key=lambda output: costs[output], reverse=True)[:count])
    rows = []
    for output in suspects:
        command = units[output]["command"].replace(f"-o {output}", "-o /dev/null")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, shell=True, check=True, cwd=units[output]["directory"], env={**os.environ, "CCACHE_DISABLE": "1"})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        rows.append((after.ru_utime - before.ru_utime, output.split(".dir/")[-1]))
    rows.sort(reverse=True)
    over = [row for row in rows if row[0] > MAX_UNIT_SECONDS]
    return [f"unit {name}\t{cost:.1f} s of {MAX_UNIT_SECONDS} s" + ("" if cost <= MAX_UNIT_SECONDS else "\tOVER") for cost, name in rows], not over


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--units", action="store_true", help="compile the slowest units again and check their CPU time (a minute or two)")
    parser.add_argument("--steady", action="store_true", help="no times, which depend on the machine and its load")
    options = parser.parse_args()
    build = options.build.resolve()
    good = True
    examples = [p for p in (ROOT / "examples").rglob("*") if p.suffix in (".cpp", ".h", ".py")]
    generator = [p for p in (ROOT / "tools/opgen").iterdir() if p.is_file()]
    checks = [file_lengths(), counted_lines("example", examples, MAX_EXAMPLE_LINES, together=False), counted_lines("generator", generator, MAX_GENERATOR_LINES, together=True),
              primitives(), library_size(build), header_cost(build, options.steady)]  # fmt: skip
    if options.units:
        checks.append(unit_cost(build))
    for rows, fine in checks:
        print("\n".join(rows))
        good = good and fine
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
