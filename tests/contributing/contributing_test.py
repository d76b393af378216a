"""Follows CONTRIBUTING.md literally: adds its composite and its pointwise primitive to a copy of the tree, builds, and runs the tests of their rows.

    python3 tests/contributing/contributing_test.py [--keep FOLDER]

It builds the library for the processor at hand, some minutes without a cache, so it is no part of the plain test command."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_OBJECTS = 40  # that a new row may rebuild
MOST_LINES = 30  # by hand, for a composite


class Step:
    """A numbered step of a section: the file it names, the place in it, and the block of code."""

    def __init__(self, text: str, code: str):
        self.file = re.search(r"`((?:ops|cresset)/[\w/]+\.(?:toml|cpp|h))`", text)[1]
        at_list = re.search(r"at the end of the list `(\w+)`", text)
        self.list = at_list and at_list[1]
        self.in_namespace = "at the end of the namespace" in text
        self.code = code

    def apply(self, root: Path) -> None:
        path = root / self.file
        text = path.read_text()
        if self.list:
            start = text.index(f"#define {self.list}(X)")
            lines = text[start:].split("\n")
            last = next(i for i, line in enumerate(lines) if not line.endswith("\\"))
            lines[last] += " " + self.code.strip()
            path.write_text(text[:start] + "\n".join(lines))
        elif self.in_namespace:
            end = text.rindex("}  // namespace")
            path.write_text(text[:end] + self.code + "\n" + text[end:])
        else:
            path.write_text(text.rstrip("\n") + "\n\n" + self.code)


def steps(section: str) -> list[Step]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    body = text.split(f"## {section}\n")[1].split("\n## ")[0]
    found = re.findall(r"^\d+\. (.*?)\n\n   ```\w+\n(.*?)\n   ```", body, re.MULTILINE | re.DOTALL)
    return [Step(words, re.sub(r"^   ", "", code, flags=re.MULTILINE) + "\n") for words, code in found]


def run(command: list[str], where: Path, **environment: str) -> str:
    done = subprocess.run(command, cwd=where, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed in {where}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def build(copy: Path) -> int:
    """The number of objects that were compiled."""
    return run(["cmake", "--build", "--preset", "native", "--target", "cresset_python"], copy).count("Building CXX object")


def follow(copy: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    run(["cmake", "--preset", "native"], copy)
    print(f"contributing: the tree as it is: {build(copy)} objects", flush=True)
    for section, op, files in (("Add a composite op", "ptp", 2), ("Add a pointwise primitive", "cbrt", 2)):
        todo = steps(section)
        touched = {step.file for step in todo}
        lines = sum(step.code.count("\n") for step in todo)
        for step in todo:
            step.apply(copy)
        objects = build(copy)
        python = next(line.split("=")[1].strip() for line in (copy / "build/native/CMakeCache.txt").open() if line.startswith("CRESSET_PYTHON:"))
        report = run([python, "-m", "pytest", "-q", "tests/python/ops/rows_test.py"], copy,
                     CRESSET_ROWS=op, PYTHONPATH=str(copy / "build/native/python"), PYTHONDONTWRITEBYTECODE="1")  # fmt: skip
        print(f"contributing: {section}: {len(touched)} files, {lines} lines, {objects} objects, {report.strip().splitlines()[-1]}", flush=True)
        if len(touched) != files or lines > MOST_LINES or objects > MOST_OBJECTS or " passed" not in report:
            sys.exit(f"expected {files} files, at most {MOST_LINES} lines and {MOST_OBJECTS} objects, and tests that pass")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="build there, and leave it")
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        return follow(options.keep.resolve())
    with tempfile.TemporaryDirectory(prefix="cresset-contributing-") as folder:
        follow(Path(folder))


if __name__ == "__main__":
    main()
