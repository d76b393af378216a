#!/usr/bin/env python3
"""Gives each translation unit the declarations of the ops that it names, and no others.

`functions.h` and `tensor_methods.inc` declare every op, so a new row would recompile whatever includes them. For each unit this writes
both files anew under `units/<unit>/cresset/ops/`, a folder that stands first in its include path, with the overloads of the names
that occur in the unit or in the headers of the tree that it includes: a changed declaration reaches only the units that use it
(docs/records/0014-unit-declarations.md).
"""

from __future__ import annotations

import argparse
import re
import sys
from functools import cache
from pathlib import Path

DECLARATION = re.compile(r"[^(]*?(\w+)\(")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
FULL = ("functions.h", "tensor_methods.inc")


def unit_name(source: Path, root: Path, generated: Path) -> str:
    """The name of a unit's folder: its path inside the tree, or the whole path of one outside, as cmake/Units.cmake makes it."""
    for folder in (generated, root):
        if source.is_relative_to(folder):
            return "_".join(source.relative_to(folder).with_suffix("").parts)
    return str(source.with_suffix("")).replace("/", "_")


class Headers:
    """Words of files and of what they include, each file read once."""

    def __init__(self, folders: list[Path], names: frozenset[str]) -> None:
        self.folders = folders
        self.names = names

    def find(self, name: str, beside: Path) -> Path | None:
        return next((path for folder in (beside, *self.folders) if (path := folder / name).is_file()), None)

    @cache
    def read(self, path: Path) -> tuple[frozenset[str], tuple[Path, ...]]:
        text = path.read_text()
        included = [found for name in INCLUDE.findall(text) if not name.endswith(FULL) and (found := self.find(name, path.parent))]
        code = NOT_CODE.sub(" ", text)
        words = frozenset(re.findall(r"\w+", code))
        return self.names & words | self.pasted(code, words), tuple(included)

    def pasted(self, code: str, words: frozenset[str]) -> set[str]:
        """The names that macros put together of fixed text and other words of the file: `max_pool##N##d` with 2 gives `max_pool2d`."""
        parameters = {word for listed in re.findall(r"#\s*define\s+\w+\(([^)]*)\)", code) for word in re.findall(r"\w+", listed)}
        found: set[str] = set()
        for pieces in {tuple(word.split("##")) for word in re.findall(r"\w+(?:##\w+)+", code)}:
            pattern = re.compile("".join(r"(\w+)" if piece in parameters else piece for piece in pieces))
            found |= {name for name in self.names if (match := pattern.fullmatch(name)) and words.issuperset(match.groups())}
        return found

    def used(self, source: Path) -> set[str]:
        names: set[str] = set()
        seen, open_files = {source}, [source]
        while open_files:
            words, included = self.read(open_files.pop())
            names |= words
            open_files += [path for path in included if path not in seen]
            seen.update(included)
        return names


def declared_name(line: str) -> str | None:
    """The name that a line of `functions.h` or `tensor_methods.inc` declares; None for all other lines."""
    match = DECLARATION.match(line) if line.endswith((");", ") const;")) else None
    return match[1] if match else None


def write_if_changed(path: Path, text: str) -> bool:
    if path.exists() and path.read_text() == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, required=True, help="the source tree")
    parser.add_argument("--generated", type=Path, required=True, help="the folder in which cresset/ops/functions.h lies")
    parser.add_argument("--sources", type=Path, required=True, help="a file that names the units, a path a line")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the units' folders")
    options = parser.parse_args()
    lines = {name: (options.generated / "cresset/ops" / name).read_text().splitlines() for name in FULL}
    named = {name: [(declared_name(line), line) for line in text] for name, text in lines.items()}
    headers = Headers([options.root, options.generated, options.root / "tests"], frozenset(n for text in named.values() for n, _ in text if n))
    for source in map(Path, options.sources.read_text().split()):
        folder = options.out / unit_name(source, options.root, options.generated) / "cresset/ops"
        used = headers.used(source)
        for name, text in named.items():
            write_if_changed(folder / name, "\n".join([line for word, line in text if word is None or word in used]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
