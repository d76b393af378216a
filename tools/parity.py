"""Runs the comparisons with PyTorch of a parity suite, holds them against tools/parity_floors.toml and writes docs/parity.md.

Needs an interpreter that has PyTorch 2.13, NumPy and expecttest; scripts/parity finds or makes one.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ROOT / "tools/parity_floors.toml"
REPORT = ROOT / "docs/parity.md"
BEGIN, END = "<!-- figures: written by scripts/parity --report -->", "<!-- end of figures -->"
TOOLS = {
    "op": "operators",
    "fuzz": "random programs",
    "kit": "the training kit",
    "api": "names of the Python API",
    "graph": "programs as graphs: torch.fx, torch.export, functorch.compile, torch.compile, TorchScript",
    "dist": "several processes: stores, collectives, data parallelism, RPC, launching",
    "deploy": "extending and profiling: operators of programs, modes, C++ extensions, the profiler",
}


class Check:
    """One row of the summary: how many of PyTorch's cases pass, and how many fail for want of a name."""

    def __init__(self, name):
        self.name = name
        self.passed = self.total = self.missing = 0
        self.of_names = False  # nothing but names is asked for

    @property
    def percent(self):
        return 100.0 * self.passed / self.total if self.total else 100.0

    @property
    def percent_of_present(self):
        present = self.total - self.missing
        return f"{100.0 * self.passed / present:.1f}" if present and not self.of_names else ""


def entry_checks(data):
    """The rows and the failures that are not missing names, of a tool that writes `entries` with `checks`."""
    rows = {name: Check(name) for name in data["summary"]}
    failures = []
    for entry, content in sorted(data["entries"].items()):
        for name, check in content.get("checks", {entry.partition("/")[0]: content}).items():
            name = content["family"] if "family" in content and content["family"] in rows else name
            if name not in rows:
                continue
            if check["status"] == "missing":
                rows[name].missing += 1
            elif check["status"] in ("fail", "error", "crash", "timeout"):
                first = next(iter(check.get("failures") or ()), check["status"])
                failures.append((entry, name, check["note"] or (first["note"] if isinstance(first, dict) else str(first))))
    return rows, failures


def read_op_or_kit(data):
    rows, failures = entry_checks(data)
    for name, counts in data["summary"].items():
        rows[name].passed, rows[name].total = counts["passed"], counts["total"]
    return list(rows.values()), failures


def read_fuzz(data):
    rows = []
    for name, counts in data["summary"].items():
        row = Check(name)
        row.passed, row.total, row.missing = counts["passed"], counts["total"], counts.get("missing", 0)
        rows.append(row)
    failures = [
        (case, content["status"], content["note"]) for case, content in data["cases"].items() if content["status"] in ("fail", "error", "crash", "timeout")
    ]
    return rows, failures


def read_api(data):
    rows = []
    for name, passed, total in (("names", "found", "names"), ("members", "members_found", "members"), ("signatures", "compatible", "comparable")):
        row = Check(name)
        for space in data["namespaces"].values():
            row.passed += space[passed]
            row.total += space[total]
        row.of_names = name != "signatures"
        row.missing = row.total - row.passed if row.of_names else 0
        rows.append(row)
    failures = [(name, "signature", "") for space in data["namespaces"].values() for name in space["incompatible"]]
    return rows, failures


# Options of a tool in a full run, beyond leaving out --quick.
FULL = {"op": ["--checks", "all", "--dtypes", "all"]}
# The families of tools whose wing stands.
ALWAYS = {
    "graph": ["--family", "fx,export,aot,compile,jit_script,jit_trace"],
    "dist": ["--family", "store,collectives,ddp,zero,rpc,elastic,multiprocess"],
    "deploy": ["--family", "custom_ops,dispatch,cpp_extension,profiler,nested_sparse,amp_misc"],
}
READERS = {"fuzz": read_fuzz, "api": read_api}


def run_tool(tool, options, folder):
    """Runs one comparison; returns its data, or exits when it does not end as it should."""
    output = folder / f"{tool}.json"
    output.unlink(missing_ok=True)
    command = [sys.executable, str(options.suite / f"{tool}_parity.py"), "--module", "cresset", "--path", str(options.path), "--json", str(output)]
    command += ALWAYS.get(tool, [])
    if options.full:
        command += FULL.get(tool, [])
    elif tool != "api":
        command.append("--quick")
    if options.seed is not None and tool == "fuzz":
        command += ["--seed", str(options.seed)]
    started = time.monotonic()
    done = subprocess.run(command + options.rest, capture_output=True, text=True)
    if not output.exists():
        sys.stderr.write(done.stdout[-4000:] + done.stderr[-4000:])
        sys.exit(f"parity: {tool}_parity.py ended with {done.returncode} and wrote no results")
    if options.rest:
        print(done.stdout, end="")
    else:
        print(done.stdout.rstrip().rsplit("\n", 1)[-1], f"({time.monotonic() - started:.0f} s)", flush=True)
    return json.loads(output.read_text())


def below_floors(tool, rows, floors):
    reached = {row.name: row.percent for row in rows}
    reached["all"] = 100.0 * sum(row.passed for row in rows) / max(1, sum(row.total for row in rows))
    unknown = floors.keys() - reached.keys()
    if unknown:
        sys.exit(f"parity: {FLOORS.name} names {', '.join(sorted(unknown))}, which {tool}_parity.py does not report")
    return [f"parity: {tool} {name} reaches {reached[name]:.1f} %, expected at least {floor} %" for name, floor in floors.items() if reached[name] < floor]


def markdown(results, options):
    run = "complete run" if options.full else "quick run"
    lines = [
        BEGIN,
        "",
        f"PyTorch 2.13 on a CPU, {run} (`scripts/parity{' --full' if options.full else ''}`). "
        "*Missing* cases ask for a name that is not there; the last column is without them, and empty where names alone are asked for.",
        "",
        "| comparison | passed | of | % | missing | % of what is there |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for tool, (rows, _) in results.items():
        lines += [f"| {TOOLS[tool]}: {row.name} | {row.passed} | {row.total} | {row.percent:.1f} | {row.missing} | {row.percent_of_present} |" for row in rows]
    lines += ["", "### Names that differ", ""]
    for tool, (_, failures) in results.items():
        if not failures:
            continue
        lines += [f"**{TOOLS[tool].capitalize()}**", ""]
        if tool == "fuzz":
            kinds = Counter((case.split(":")[0], note) for case, _, note in failures)
            lines += [f"- {family}: {text(note)} ({count} cases)" for (family, note), count in kinds.most_common(60)]
        else:
            checks, notes = {}, {}
            for entry, name, note in failures:
                checks.setdefault(entry, []).append(name)
                notes.setdefault(entry, note)
            lines += [f"- `{entry}` ({', '.join(checks[entry])}): {text(notes[entry])}" for entry in checks]
        lines.append("")
    return "\n".join(lines + [END])


def text(note):
    note = " ".join(note.replace("|", "\\|").replace("<", "&lt;").split())
    return note if len(note) <= 160 else note[:157] + "..."


def write_report(results, options):
    page = REPORT.read_text()
    head, begin, rest = page.partition(BEGIN)
    if not begin or END not in rest:
        sys.exit(f"parity: {REPORT} has no place for the figures, expected the lines {BEGIN} and {END}")
    changed = REPORT.with_suffix(".new")
    changed.write_text(head + markdown(results, options) + rest.partition(END)[2])
    os.replace(changed, REPORT)
    print(f"figures written to {REPORT.relative_to(ROOT)}")


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/parity",
        description=__doc__.split("\n")[0],
        epilog="Further options go to the tools, with --tool to one of them: --list-failing, --list-missing, --op REGEX, --family NAME.",
    )
    parser.add_argument("--full", action="store_true", help="all samples and data types (minutes); without it a quick choice (a minute)")
    parser.add_argument("--tool", choices=TOOLS, action="append", help="only this comparison (repeatable)")
    parser.add_argument("--seed", type=int, help="another seed of the random programs")
    parser.add_argument("--report", action="store_true", help="write the figures into docs/parity.md")
    parser.add_argument("--suite", type=Path, default=ROOT.parent / "shared/parity", help="folder of the comparisons (default: %(default)s)")
    parser.add_argument("--path", type=Path, default=ROOT / "build/release/python", help="folder of the package (default: %(default)s)")
    options, options.rest = parser.parse_known_args()
    if options.report and (options.tool or options.rest):
        parser.error("--report takes the figures of all tools, without --tool and their options")
    floors = tomllib.loads(FLOORS.read_text())["full" if options.full else "quick"]
    folder = ROOT / "build/parity"
    folder.mkdir(parents=True, exist_ok=True)
    results, faults = {}, []
    for tool in options.tool or TOOLS:
        rows, failures = READERS.get(tool, read_op_or_kit)(run_tool(tool, options, folder))
        results[tool] = rows, failures
        if not options.rest:
            faults += below_floors(tool, rows, floors.get(tool, {}))
        elif tool in floors:
            print(f"parity: {tool} is not held against its floors, since {' '.join(options.rest)} may choose cases")
    if options.report:
        write_report(results, options)
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"parity: {len(results)} comparisons, {len(faults)} below their floor")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
