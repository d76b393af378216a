#!/usr/bin/env python3
"""Fails on words of comments, docs and docstrings that this project does not use, and on pages that name files which are not there.

tools/check_words.toml lists the words, with what to write.

A file listed there under [known] may have as many as it says, and no more; what falls is to be taken out (`--write` does it)."""

import argparse
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tools/check_words.toml"
EXEMPT = {"tools/check_words.toml", "tests/opgen/checks_test.py"}  # the words themselves
NAMED_FILE = re.compile(r"`((?:[\w-]+/)+[\w-]+\.(?:h|cpp|py|toml|md|sh))`")
SUFFIXES = {".py", ".pyi", ".cpp", ".h", ".inc", ".toml", ".md", ".cmake", ".sh"}


def texts(path: Path):
    """(line number, line) of the prose of a file: all of a page, comments of C++, and lines of Python and TOML, whose strings are docs."""
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        if path.suffix in {".cpp", ".h", ".inc"}:
            comment = re.search(r"(?:^|\s)//(.*)", line)
            if comment:
                yield number, comment[0].strip()
        else:
            yield number, line.strip()


def findings(root: Path, files, words: dict[str, str]):
    """Yields (path, line number, advice, line)."""
    patterns = {re.compile(pattern): advice for pattern, advice in words.items()}
    for path in files:
        for number, line in texts(root / path):
            for pattern, advice in patterns.items():
                if pattern.search(line):
                    yield str(path), number, advice, line


def listed_files(root: Path):
    return subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout.split("\n")


def tracked(root: Path):
    return [Path(name) for name in listed_files(root) if Path(name).suffix in SUFFIXES and (root / name).is_file() and name not in EXEMPT]


def missing_files(root: Path, pages, listed):
    """Yields (page, line number, file) where a page names a file, with its folder, that is neither in the tree nor made by the build."""
    makers = "".join(path.read_text() for folder in ("tools/opgen", "cmake") for path in (root / folder).glob("*.*"))
    for page in pages:
        for number, line in enumerate((root / page).read_text().splitlines(), 1):
            for name in NAMED_FILE.findall(line):
                if not any(path.endswith("/" + name) or path == name for path in listed) and Path(name).name not in makers:
                    yield str(page), number, name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write today's counts to tools/check_words.toml")
    options = parser.parse_args()
    text = TABLE.read_text()
    table = tomllib.loads(text)
    found = list(findings(ROOT, tracked(ROOT), table["words"]))
    counts = Counter(path for path, *_ in found)
    if options.write:
        head = text.split("[known]")[0]
        TABLE.write_text(head + "[known]\n" + "".join(f'"{path}" = {count}\n' for path, count in sorted(counts.items())))
        return 0
    over = {path for path, count in counts.items() if count > table["known"].get(path, 0)}
    for path, number, advice, line in found:
        if path in over:
            print(f"{path}:{number}: {advice}: {line[:120]}")
    stale = [path for path, count in table["known"].items() if counts.get(path, 0) < count]
    if stale:
        print(f"words: fewer than tools/check_words.toml says, run --write: {', '.join(stale)}")
    missing = list(missing_files(ROOT, [path for path in tracked(ROOT) if path.suffix == ".md"], listed_files(ROOT)))
    for page, number, name in missing:
        print(f"{page}:{number}: there is no file {name}")
    if not over and not stale:
        print(f"words: {sum(counts.values())} known ones in {len(counts)} files")
    return 1 if over or stale or missing else 0


if __name__ == "__main__":
    sys.exit(main())
