"""Parses schemas: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor."""

from __future__ import annotations

import re

from .model import CPP, Argument, Schema, Type

_NAME = re.compile(r"([A-Za-z_]\w*)(?:\.(\w+))?\(")
_TYPE = re.compile(r"(Sym(?=Int))?([A-Za-z]\w*)(?:\(([a-z])(!?)\))?(\?)?(\[(\d*)\])?(\?)?")


class SchemaError(Exception):
    """The fault, as a sentence."""


def _split(text: str) -> list[str]:
    """Split at commas outside brackets and quotes."""
    parts, depth, start, quoted = [], 0, 0, False
    for i, c in enumerate(text):
        if c in "\"'":
            quoted = not quoted
        elif not quoted:
            depth += (c in "([") - (c in ")]")
            if c == "," and depth == 0:
                parts.append(text[start:i])
                start = i + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]


def _typed(text: str) -> tuple[Type, str | None, bool, str]:
    match = _TYPE.match(text)
    symbolic, base, letter, writes, question, brackets, size, last = match.groups() if match else ("",) * 8
    if (base := "int" if symbolic else base) not in CPP:
        raise SchemaError(f"`{text}` does not begin with a type; the types are {', '.join(CPP)}")
    element_optional = bool(question and brackets)
    if element_optional and base != "Tensor":
        raise SchemaError(f"`{text}`: only Tensor?[] may have optional elements")
    kind = Type(base, bool(last or (question and not brackets)), bool(brackets), element_optional, int(size) if size else None, bool(symbolic))
    if not kind.cpp:
        raise SchemaError(f"`{text}`: there is no C++ type for {kind}")
    return kind, letter, bool(writes), text[match.end() :].strip()


def _argument(text: str, keyword_only: bool) -> Argument:
    kind, letter, writes, rest = _typed(text)
    name, _, default = rest.partition("=")
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise SchemaError(f"`{text}` has no argument name")
    return Argument(kind, name, default or None, keyword_only, letter, writes)


def parse_schema(text: str) -> Schema:
    head = _NAME.match(text)
    if not head:
        raise SchemaError(f'"{text}" does not begin with `name(` or `name.overload(`')
    depth, end = 1, head.end()
    while end < len(text) and depth:
        depth += (text[end] == "(") - (text[end] == ")")
        end += 1
    if depth:
        raise SchemaError(f'"{text}" has an unclosed parenthesis')
    arrow = re.match(r"\s*->\s*", text[end:])
    if not arrow:
        raise SchemaError(f'"{text}" has no `->` after its arguments')
    arguments: list[Argument] = []
    keyword_only = False
    for part in _split(text[head.end() : end - 1]):
        if part == "*":
            keyword_only = True
        else:
            arguments.append(_argument(part, keyword_only))
    names = [a.name for a in arguments]
    if twice := [name for name in names if names.count(name) > 1]:
        raise SchemaError(f"the argument `{twice[0]}` appears twice")
    results = text[end + arrow.end() :].strip()
    listed = _split(results[1:-1]) if results.startswith("(") and results.endswith(")") else [results]
    returns = []
    for part in listed:
        kind, letter, writes, name = _typed(part)
        returns.append(Argument(kind, name, None, False, letter, writes))
    return Schema(head.group(1), head.group(2) or "", tuple(arguments), tuple(returns))
