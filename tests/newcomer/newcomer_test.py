"""Does literally what README.md and CONTRIBUTING.md say, in a copy of the tree and with an environment that holds a home and a path only.

    python3 tests/newcomer/newcomer_test.py [--pip] [--keep FOLDER]

README.md: the quickstart, the installation, the program as a project of its own; with --pip also the Python part, in a virtual environment.
CONTRIBUTING.md: its composite and its pointwise primitive, one after the other, with the tests of their rows.
It builds the library for the processor at hand, some minutes without a cache, so it is no part of the plain test command."""

import argparse
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


def run(command: list[str] | str, where: Path, **environment: str) -> str:
    """The output of a command, or of a line for the shell."""
    clean = {"HOME": str(where), "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", **environment}
    done = subprocess.run(command, cwd=where, env=clean, capture_output=True, text=True, shell=isinstance(command, str))
    if done.returncode:
        sys.exit(f"{command} failed in {where}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def block(text: str, start: str) -> str:
    """The block of code of a page that begins with `start`."""
    return next(code for code in re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL) if code.startswith(start))


def build(copy: Path) -> int:
    """The number of objects that were compiled."""
    return run(["cmake", "--build", "--preset", "native", "--target", "cresset_python"], copy).count("Building CXX object")


def copy_tree(copy: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)


def follow_readme(copy: Path, with_pip: bool) -> None:
    page = (copy / "README.md").read_text()
    report = run("scripts/quickstart --epochs 1", copy)
    accuracy = float(re.search(r"test accuracy[^\d]*([\d.]+)", report)[1])
    print(f"README: quickstart: test accuracy {accuracy} % after one epoch", flush=True)
    if accuracy < 97:
        sys.exit(f"expected a test accuracy of at least 97 %, got {accuracy} %")
    prefix, project = copy / "P", copy / "build/project"
    install = re.search(r"`(cmake --build [^`]* && cmake --install build/native --prefix P)`", page)[1]
    run(install, copy)
    project.mkdir(parents=True)
    (project / "program.cpp").write_text(block(page, '#include "cresset/cresset.h"'))
    (project / "CMakeLists.txt").write_text(block(page, "cmake_minimum_required"))
    run(block(page, "cmake -S . -B build").replace("=P", f"={prefix}"), project)
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", run("./build/program", project))]
    print(f"README: a project of its own: losses {losses}", flush=True)
    if len(losses) != 5 or losses[-1] > 0.1 * losses[0]:
        sys.exit("expected five losses, the last a tenth of the first")
    if with_pip:
        run("python3 -m venv build/env", copy)
        for line in block(page, "pip install .").splitlines():
            command = line.split("#")[0].strip()
            done = run(f". build/env/bin/activate && {command}{' --help' if 'char_gpt' in command else ''}", copy)
            print(f"README: {command}: {len(done.splitlines())} lines", flush=True)


def follow_contributing(copy: Path) -> None:
    print(f"CONTRIBUTING: the Python package as it is: {build(copy)} objects", flush=True)
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
        print(f"CONTRIBUTING: {section}: {len(touched)} files, {lines} lines, {objects} objects, {report.strip().splitlines()[-1]}", flush=True)
        if len(touched) != files or lines > MOST_LINES or objects > MOST_OBJECTS or " passed" not in report:
            sys.exit(f"expected {files} files, at most {MOST_LINES} lines and {MOST_OBJECTS} objects, and tests that pass")


def follow(copy: Path, with_pip: bool) -> None:
    copy_tree(copy)
    follow_readme(copy, with_pip)
    follow_contributing(copy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pip", action="store_true", help="also install the Python package, which is built for all processors")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="build there, and leave it")
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        return follow(options.keep.resolve(), options.pip)
    with tempfile.TemporaryDirectory(prefix="cresset-newcomer-") as folder:
        follow(Path(folder), options.pip)


if __name__ == "__main__":
    main()
