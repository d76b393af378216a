#!/usr/bin/env python3
"""Writes docs/front-ends.md: for each public name its Python and C++ spelling and a test that calls it.

    tools/front_ends.py --write   rewrites the page
    tools/front_ends.py --check   fails when the page is not what would be written, when a name of the package has no C++ counterpart and
                                  tools/front_ends.toml gives no reason, and when a reason is given for a name that is there, or not there at all

Python's names come from the built package, C++'s from the compiler: a using-declaration for each, over the headers of the compat folder and
those that LibTorch has none for. So the page is true of a build. Run it with the interpreter that the package was built for.
"""

from __future__ import annotations

import argparse
import ast
import doctest
import fnmatch
import importlib
import inspect
import re
import sys
import tomllib
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/front-ends.md"
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True

from cpp_names import undeclared  # noqa: E402

HEADERS = ("torch/torch.h", "cresset/autograd/anomaly_mode.h", "cresset/autograd/graph.h", "cresset/data/more.h", "cresset/dist/sync_batch_norm.h",
           "cresset/nn/layers/attention.h", "cresset/nn/more.h", "cresset/nn/layers/products.h", "cresset/transform/functional.h", "cresset/transform/functionalize.h", "cresset/transform/gradcheck.h", "cresset/transform/recompute.h",
           "cresset/transform/vmap.h")  # fmt: skip


class Name:
    """A public name of the package: where it stands, its C++ name (empty: none), why there is none, and a test that calls it."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name
        self.cpp = self.reason = self.test = ""

    @property
    def full(self) -> str:
        return f"{self.module}.{self.name}"


def python_names(modules: list[str]) -> list[Name]:
    found = []
    for module in modules:
        content = importlib.import_module(f"cresset.{module}")
        listed = getattr(content, "__all__", None)
        for name in sorted(listed or vars(content).keys() | set(dir(content))):
            if name.startswith("_"):
                continue
            value = getattr(content, name)
            home = getattr(value, "__module__", None)
            own = home is None or home.startswith(("cresset", "_cresset", "torch"))
            if inspect.isclass(value) and module != "" and getattr(sys.modules["cresset"], name, None) is value:
                continue  # of the top level, and only imported here
            if isinstance(value, types.ModuleType) or (not listed and not (own and (inspect.isclass(value) or callable(value)))):
                continue
            found.append(Name(module, name))
    return found


def find_in_cpp(names: list[Name], spelled: dict[str, str], modules: dict[str, str], build: Path) -> None:
    candidates = [spelled.get(n.full) or f"{modules[n.module]}::{n.name}" for n in names]
    distributions = sorted((ROOT / "cresset/distributions").glob("*.h"))
    preamble = "".join(f"#include <{h}>\n" for h in (*HEADERS, *(str(p.relative_to(ROOT)) for p in distributions)))
    preamble += "namespace torch { namespace func { using namespace cresset::func; } }\n"
    if distributions:
        preamble += "namespace torch { namespace distributions { using namespace cresset::distributions; } }\n"
    wrong = undeclared([f"namespace p{i} {{ using torch::{c}; }}" for i, c in enumerate(candidates)], build, preamble)
    for i, (name, candidate) in enumerate(zip(names, candidates, strict=True)):
        if i not in wrong:
            name.cpp = f"torch::{candidate}"


def cpp_names(rooms: list[str]) -> list[str]:
    """The public names of the headers of the rooms, with their namespaces below cresset: by the look of lines that begin a declaration."""
    names: dict[str, None] = {}
    for header in sorted(p for room in rooms for p in (ROOT / "cresset" / room).rglob("*.h")):
        spaces: list[str] = []
        depth = 0
        for line in header.read_text().splitlines():
            before = depth
            code = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|//.*', "", line)
            depth += code.count("{") - code.count("}")
            if (opened := re.match(r"namespace ([\w:]+) \{", line)) and depth > before:
                spaces.append(opened[1])
            spaces = spaces[:depth] if depth < len(spaces) else spaces
            inside = "::".join(spaces).split("::")
            if before != len(spaces) or inside[0] != "cresset" or "detail" in inside or "enumtype" in inside:
                continue
            declared = re.match(r"(?:CRESSET_(?:LAYER|MODULE|SIMPLE_LAYER|BARE_LAYER)\((\w+)|(?:class|struct|using) (?:CRESSET_API )?(\w+)(?! *;)"
                                r"|(?:CRESSET_API|inline) [^(=]*?(\w+)\()", line)  # fmt: skip
            if declared and not line.endswith(";") or declared and declared[3] or declared and declared[1]:
                names["::".join([*inside[1:], declared[1] or declared[2] or declared[3]])] = None
    return list(names)


def in_cpp_only(names: list[Name], rooms: list[str], groups: list[dict], modules: dict[str, str]) -> list[str]:
    """The names of C++ that stand in the namespaces of Python's modules, are no counterpart of one of its names, and have no reason."""
    known = {n.cpp.removeprefix("torch::") for n in names if n.cpp}
    known |= {f"{space}::{name}" for module, space in modules.items() for name in dir(importlib.import_module(f"cresset.{module}"))}
    known |= {f"data::{room}::{name}" for room in ("datasets", "samplers") for name in dir(importlib.import_module("cresset.utils.data"))}
    spaces = {*modules.values(), "data::datasets", "data::samplers", "data::transforms"}
    patterns = [re.compile(group["pattern"]) for group in groups]
    return [name for name in cpp_names(rooms) if name.rpartition("::")[0] in spaces and name not in known
            and not any(p.fullmatch(name) or p.fullmatch(name.rpartition("::")[2]) for p in patterns)]  # fmt: skip


def matches(full: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(full, pattern)


def give_reasons(names: list[Name], groups: list[dict]) -> list[str]:
    """Fills in why names are in Python only; returns the patterns that stand for no such name."""
    idle = []
    for group in groups:
        for pattern in group["names"]:
            hits = [n for n in names if not n.cpp and matches(n.full, pattern)]
            for name in hits:
                name.reason = name.reason or group["reason"]
            if not hits:
                idle.append(pattern)
    return idle


def called_names(tree: ast.AST) -> set[str]:
    """The last names of all that a program calls, derives from or decorates with, each also with the name before it: `nn.ReLU` and `ReLU`."""
    used = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            used += [node.func, *node.args]  # a class that is handed on is called by its receiver
        elif isinstance(node, ast.ClassDef):
            used += node.bases
        elif isinstance(node, (ast.FunctionDef, ast.With)):
            used += node.decorator_list if isinstance(node, ast.FunctionDef) else [item.context_expr for item in node.items]
        elif isinstance(node, (ast.List, ast.Tuple, ast.Dict)):
            used += node.values if isinstance(node, ast.Dict) else node.elts  # tables of what a test runs through
        elif isinstance(node, ast.Attribute):
            used.append(node.value)  # a member of a class or of an enumeration
        elif isinstance(node, ast.For):
            used.append(node.iter)
    attributes = [node for node in used if isinstance(node, ast.Attribute)]
    whole = {f"{getattr(node.value, 'attr', getattr(node.value, 'id', ''))}.{node.attr}" for node in attributes}
    return whole | {node.attr for node in attributes} | {node.id for node in used if isinstance(node, ast.Name)}


def tests_by_name() -> dict[str, str]:
    """For each name that a test of ours calls, that test: a file of tests/python, or a docstring's example, which docs_test.py runs."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "tests/python").rglob("*_test.py")):
        for name in called_names(ast.parse(path.read_text())):
            found.setdefault(name, str(path.relative_to(ROOT)))
    parser = doctest.DocTestParser()
    for path in sorted((ROOT / "python/cresset").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            text = ast.get_docstring(node) if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) else None
            for example in parser.get_examples(text) if text and ">>>" in text else ():
                for name in called_names(ast.parse(example.source)):
                    found.setdefault(name, f"example in {path.relative_to(ROOT / 'python')}")
    return found


# Names under which programs import modules.
SHORT = {"functional": "F"}


def find_tests(names: list[Name]) -> None:
    """Fills in the test that calls a name: with its module before it where others have the same name, as nn.init.eye and torch.eye."""
    tests, top = tests_by_name(), importlib.import_module("cresset")
    objects: dict[str, set[int]] = {}
    for name in names:
        modules = (top, importlib.import_module(f"cresset.{name.module}"))
        objects.setdefault(name.name, set()).update(id(getattr(module, name.name)) for module in modules if hasattr(module, name.name))
    for name in names:
        home = name.module.rpartition(".")[2]
        spelled = [f"{home}.{name.name}", f"{SHORT.get(home, home)}.{name.name}"] if len(objects[name.name]) > 1 else [name.name]
        name.test = next((tests[s] for s in spelled if s in tests), "")


def page(names: list[Name]) -> str:
    both = sum(bool(n.cpp) for n in names)
    lines = [
        "# The two front ends", "",
        "Written by `tools/front_ends.py --write`, which asks the built package for Python's names and the compiler for those of C++.",
        "Names of LibTorch come with `<torch/torch.h>`; what LibTorch lacks has headers of its own:",
        ", ".join(f"`{header}`" for header in HEADERS[1:]) + ".",
        "C++'s own `…Impl` and `…Options` classes, which are the module behind a holder and its keyword arguments, are not listed; `tools/cpp_names.py` asks for every name of LibTorch.",
        "The last column is a test of ours that calls the name; `scripts/parity` compares all of them with PyTorch besides.", "",
        f"{both} of {len(names)} names are in both languages.", "",
    ]  # fmt: skip
    modules = list(dict.fromkeys(n.module for n in names))
    for module in modules:
        own = [n for n in names if n.module == module]
        lines += [f"## torch.{module}", "", f"{sum(bool(n.cpp) for n in own)} of {len(own)} in both.", "", "| Python | C++ | called by |", "|---|---|---|"]
        lines += [f"| `{n.name}` | {f'`{n.cpp}`' if n.cpp else f'none: {n.reason}'} | {n.test} |" for n in own]
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    options = parser.parse_args()
    if not list((options.build / "python").glob("_cresset*.so")):
        print("front_ends skipped 1: the extension was not built")
        return 0
    sys.path.insert(0, str(options.build / "python"))
    data = tomllib.loads((ROOT / "tools/front_ends.toml").read_text())
    names = python_names(list(data["modules"]))
    find_in_cpp(names, data["spelled"], data["modules"], options.build)
    idle = give_reasons(names, data["only_python"])
    find_tests(names)
    faults = [f"{n.full}: in Python only, and tools/front_ends.toml gives no reason" for n in names if not n.cpp and not n.reason]
    faults += [f"{pattern}: tools/front_ends.toml gives a reason, but no such name is in Python only" for pattern in idle]
    faults += [
        f"{name}: in C++ only, and tools/front_ends.toml gives no reason" for name in in_cpp_only(names, data["rooms"], data["only_cpp"], data["modules"])
    ]
    faults += [f"{n.full}: no test calls it" for n in names if not n.test]
    known = {n.full for n in names}
    faults += [f"{name}: tools/front_ends.toml spells it, but the package has no such name" for name in data["spelled"] if name not in known]
    text = page(names)
    if options.write:
        PAGE.write_text(text)
    elif options.check and (not PAGE.exists() or PAGE.read_text() != text):
        faults.append("docs/front-ends.md is not what would be written: run tools/front_ends.py --write")
    print("\n".join(faults + [f"front_ends {sum(bool(n.cpp) for n in names)}/{len(names)} in both languages, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
