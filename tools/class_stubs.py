#!/usr/bin/env python3
"""Emits type stubs of classes and functions written in Python from the package itself.

Names, kinds and defaults of arguments are those of the running package; a type is the annotation of the source, or follows from the argument's name
(tools/class_stubs.toml) or its default. Run with the built package on PYTHONPATH: class_stubs.py --out FOLDER.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import importlib
import inspect
import re
import tomllib
from pathlib import Path

OPERATORS = {"__call__", "__getattr__", "__len__", "__iter__", "__contains__", "__getitem__", "__setitem__", "__delitem__", "__add__", "__iadd__", "__or__", "__ror__", "__ior__", "__enter__", "__exit__",
             "__init__"}  # fmt: skip
PLAIN = {bool: "_bool", int: "_int", float: "_float", str: "_str"}
NAME = re.compile(r"(?:def )?(\w+)")
WORD = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*")


class Types:
    """Types by name of argument, of function and of attribute, with exceptions for single ones."""

    def __init__(self, table: dict):
        self.arguments, self.results = ({name: kind for kind, names in table[part].items() for name in names} for part in ("arguments", "results"))
        self.exceptions, self.patterns = table["exceptions"], [name for name in table["exceptions"] if "*" in name or "?" in name]
        self.members, self.ignored = table["attributes"], set(table["ignore"]["override"])
        self.aliases = table["aliases"]
        self.imports = {name: module for module, names in table["imports"].items() for name in names}

    def exact(self, name: str) -> str | None:
        if name in self.exceptions:
            return self.exceptions[name]
        return next((self.exceptions[pattern] for pattern in self.patterns if fnmatch.fnmatchcase(name, pattern)), None)

    def attributes(self, cls: str) -> list[str]:
        return next((lines for pattern, lines in self.members.items() if fnmatch.fnmatchcase(cls, pattern)), [])

    def argument(self, owner: str, parameter: inspect.Parameter) -> str:
        exact = self.exact(f"{owner}.{parameter.name}")
        if exact is not None:
            return exact
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return "Any"
        guessed = PLAIN.get(type(parameter.default))
        kind = self.arguments.get(parameter.name) or guessed or "Any"
        if guessed == "_bool" or (guessed == "_str" and "_str" not in kind):
            kind = guessed
        return f"{kind} | None" if parameter.default is None and kind != "Any" and not kind.endswith("None") else kind

    def result(self, owner: str, name: str, usual: str = "Any") -> str:
        return self.exact(f"{owner}.return") or self.results.get(name, usual)


def default_text(value: object) -> str:
    simple = value is None or type(value) in (bool, int, str) or (type(value) is float and abs(value) < 1e300)
    return repr(value) if simple else "..."


def definition(types: Types, owner: str, name: str, function: object, indent: str, usual: str = "Any") -> str:
    """The line of a function; `owner` is its name with its class."""
    parts, named = [], False
    parameters = list(inspect.signature(function).parameters.values())
    for i, p in enumerate(parameters):
        if i == 0 and indent and p.name in ("self", "cls") and p.kind is not p.KEYWORD_ONLY:
            parts.append(p.name)
            continue
        if p.kind is p.KEYWORD_ONLY and not named and not any(q.kind is q.VAR_POSITIONAL for q in parameters):
            parts.append("*")
        named = named or p.kind is p.KEYWORD_ONLY
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        text = f"{star}{p.name}: {types.argument(owner, p)}"
        parts.append(text if p.default is p.empty else f"{text} = {default_text(p.default)}")
        if p.kind is p.POSITIONAL_ONLY and (i + 1 == len(parameters) or parameters[i + 1].kind is not p.POSITIONAL_ONLY):
            parts.append("/")
    result = "None" if name in ("__init__", "__setitem__", "__delitem__") else types.result(owner, name, usual)
    ignored = "  # type: ignore[override]" if owner in types.ignored else ""
    return f"{indent}def {name}({', '.join(parts)}) -> {result}: ...{ignored}\n"


def lines_of(types: Types, owner: str, name: str, member: object) -> str:
    """The lines of a member of a class, or nothing where stubs have none."""
    full = f"{owner}.{name}"
    if isinstance(member, (property, functools.cached_property)) or type(member).__name__.endswith("_property"):
        return f"    @property\n    def {name}(self) -> {types.result(full, name)}: ...\n"
    if isinstance(member, (staticmethod, classmethod)):
        inner = member.__func__
        decorator = type(member).__name__
        return f"    @{decorator}\n" + definition(types, full, name, inner, "    ") if inspect.isfunction(inner) else ""
    return definition(types, full, name, member, "    ") if inspect.isfunction(member) else ""


def says_the_same(types: Types, base: type, name: str, lines: str) -> bool:
    """Whether a base class shows a member with these lines already, or as a method or an attribute in place of this property."""
    for holder in base.__mro__:
        for line in types.attributes(holder.__name__):
            if NAME.match(line)[1] == name and "@property" in lines:
                return True
        if name in holder.__dict__:
            theirs = lines_of(types, holder.__name__, name, holder.__dict__[name])
            return theirs == lines or ("@property" in lines and "@property" not in theirs)
    return False


def class_text(types: Types, cls: type, public: set[type]) -> str:
    """A class with its own members and those of private bases, which stubs do not show."""
    bases, hidden = [], [cls]
    for base in cls.__mro__[1:]:
        if any(issubclass(shown, base) for shown in bases):
            continue
        if base in public or base.__name__ in types.imports or base is property:
            bases.append(base)
        elif base.__module__.startswith("cresset"):
            hidden.append(base)
    attributes = list(types.attributes(cls.__name__))
    told = {NAME.match(line)[1] for line in attributes}
    constraints = cls.__dict__.get("arg_constraints")
    for name in constraints if isinstance(constraints, dict) else {}:
        if name not in told and not isinstance(getattr(cls, name, None), property):
            attributes.append(f"{name}: Tensor")
            told.add(name)
    body = [f"    {line}\n" for line in attributes]
    for holder in hidden:
        for name, member in holder.__dict__.items():
            if name in told or (name.startswith("_") and name not in OPERATORS):
                continue
            told.add(name)
            lines = lines_of(types, cls.__name__, name, member)
            if not any(says_the_same(types, base, name, lines) for base in bases):
                body.append(lines)
    listed = f"({', '.join(base.__name__ for base in bases)})" if bases else ""
    text = "".join(body)
    return f"class {cls.__name__}{listed}:\n{text}" if text else f"class {cls.__name__}{listed}: ...\n"


def stub(types: Types, entry: dict, folder: str, elsewhere: set[str]) -> str:
    module = importlib.import_module(entry["module"])
    names = [name for name in entry.get("names") or vars(module) if not name.startswith("_") and name not in entry.get("without", [])]
    homes = tuple(entry.get("from", [entry["module"]]))
    objects = {name: getattr(module, name) for name in names}
    ours = {name: value for name, value in objects.items() if getattr(value, "__module__", "").startswith(homes) and value.__module__ not in elsewhere}
    classes = {name: value for name, value in ours.items() if inspect.isclass(value) and value.__name__ == name}
    functions = {name: value for name, value in ours.items() if inspect.isfunction(value)}
    public = set(classes.values())
    body = "".join("\n" + class_text(types, cls, public) for cls in classes.values())
    body += "\n" + "".join(definition(types, name, name, function, "", entry.get("result", "Any")) for name, function in functions.items())
    body += "".join(f"{line}\n" for line in entry.get("lines", []))
    used = set(WORD.findall(body))
    aliases = [name for name in types.aliases if name in used]
    used |= {word for name in aliases for word in WORD.findall(types.aliases[name])} | ({"TypeAlias"} if aliases else set())
    imported: dict[str, list[str]] = {}
    for name in sorted(used - set(classes)):
        if name in types.imports and types.imports[name] != f"{folder}.{entry['out']}":
            imported.setdefault(types.imports[name], []).append(name)
    head = f'"""Classes and functions of {entry["module"]}. Generated by tools/class_stubs.py."""\n\n'
    head += "".join(f"from {home} import {', '.join(names)}\n" for home, names in sorted(imported.items()))
    return head + "\n" + "".join(f"{name}: TypeAlias = {types.aliases[name]}\n" for name in aliases) + body


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the folder of the extension's stubs")
    options = parser.parse_args()
    table = tomllib.loads((Path(__file__).parent / "class_stubs.toml").read_text())
    types = Types(table)
    for entry in table["stub"]:
        others = {other["module"] for other in table["stub"]} - {entry["module"]}
        (options.out / f"{entry['out']}.pyi").write_text(stub(types, entry, options.out.name, others))


if __name__ == "__main__":
    main()
