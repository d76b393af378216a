#!/usr/bin/env python3
"""Lists the functions outside of the engine that compute on tensors although no row does: what both languages compute is an op row.

    tools/one_formula.py           fails when there are more such functions than tools/one_formula.toml says, or fewer (the number only falls,
                                   so write it down), and when a reason there is given for a function that does not compute
    tools/one_formula.py --list    prints them with the steps that each computes

A function computes when it takes at least two steps: calls of arithmetic rows (`torch.exp(x)`, `ops["exp"](x)`, `x.exp()`, `cresset::exp(x)`), and
operators between tensors. One step is a call of a row, which is the front end's work. The names of rows, and of arguments that are tensors, are
read from ops/*.toml; nothing is executed.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ("",)
CPP = ("nn", "optim", "distributions", "data", "dist", "graph", "train", "transform/func.cpp", "transform/gradcheck.cpp")
# Families of rows that compute numbers; others move, make or look at tensors.
ARITHMETIC = ("activation", "arithmetic", "conv", "fft", "linalg", "loss", "matmul", "nn", "norm", "numeric", "pointwise", "pool", "reduce", "rnn",
              "softmax", "special")  # fmt: skip
# Rows of those families that say something of a tensor, or move its elements, and compute nothing.
MOVING = {"all", "any", "allclose", "equal", "isclose", "is_nonzero", "conj", "resolve_conj", "resolve_neg", "real", "imag", "pad", "constant_pad_nd",
          "pixel_shuffle", "pixel_unshuffle", "im2col", "col2im", "positive", "to", "isnan", "isfinite", "isinf", "lt", "gt", "le", "ge", "eq", "ne",
          "embedding", "aminmax", "norm_except_dim", "view", "view_as", "unfold"}  # fmt: skip
# Words that are methods of other things too: lists, strings, options, generators.
AMBIGUOUS = {"add", "pop", "index", "count", "copy", "update", "min", "max", "sum", "abs", "round", "pow", "log", "norm", "mode", "std", "dist", "mean", "var", "floor",
             "ceil", "sqrt", "exp", "prod"}  # fmt: skip


@dataclass(frozen=True)
class Found:
    name: str  # path:function
    steps: tuple[str, ...]


class Rows:
    """Names of arithmetic rows, and of tensors among the arguments of all rows."""

    def __init__(self, root: Path) -> None:
        self.arithmetic, self.tensors, self.all = set(), set(), set()
        for path in sorted((root / "ops").glob("*.toml")):
            for row in tomllib.loads(path.read_text())["op"]:
                full, arguments = row["schema"].split("(", 1)
                name = full.split(".")[0]
                self.all.add(name)
                if path.stem in ARITHMETIC and name not in MOVING and name.rstrip("_") not in MOVING:
                    self.arithmetic.update((name, name.rstrip("_") + "_"))
                if path.stem not in ("optim", "training"):  # whose numbers may be tensors
                    self.tensors.update(re.findall(r"Tensor(?:\(\w+!?\))?\??\s(\w+)", arguments.split("->")[0]))
        self.tensors -= {
            "p",
            "n",
            "size",
            "dim",
            "sizes",
            "steps",
            "step",
            "self",
            "data",
            "state",
            "lr",
            "q",
            "other",
            "start",
            "end",
            "min",
            "max",
            "length",
            "lengths",
            "repeats",
            "std",
            "index",
        }


class Function(ast.NodeVisitor):
    """The steps that a Python function computes on tensors; functions inside of it are functions of their own."""

    OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.MatMult: "@",
                 ast.BitXor: "^", ast.BitAnd: "&", ast.BitOr: "|", ast.LShift: "<<", ast.RShift: ">>"}  # fmt: skip

    def __init__(self, rows: Rows, node: ast.FunctionDef) -> None:
        self.rows, self.steps = rows, []
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self.tensors = {a.arg for a in arguments if a.arg in rows.tensors or {"weight", "input", "tensor"} & set(a.arg.split("_")[:1])}
        for statement in node.body:
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        pass

    visit_ClassDef = visit_FunctionDef

    def visit_Assert(self, node: ast.AST) -> None:
        pass

    visit_Raise = visit_Assert

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            self.bind(target, node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if self.is_tensor(node.target) or self.is_tensor(node.value):
            self.steps.append(self.OPERATORS[type(node.op)] + "=")
        self.generic_visit(node)

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            (self.tensors.add if self.is_tensor(value) else self.tensors.discard)(target.id)
        elif isinstance(target, ast.Tuple):
            values = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else [value] * len(target.elts)
            for part, given in zip(target.elts, values):
                self.bind(part, given)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if self.is_tensor(node):
            self.steps.append(self.OPERATORS[type(node.op)])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub) and self.is_tensor(node.operand):
            self.steps.append("-")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = self.row_of(node)
        if name in self.rows.arithmetic:
            self.steps.append(name)
        self.generic_visit(node)

    def row_of(self, node: ast.Call) -> str:
        """The row that is called, or an empty text."""
        f = node.func
        if isinstance(f, ast.Subscript) and isinstance(f.value, ast.Name) and f.value.id in ("ops", "_ops") and isinstance(f.slice, ast.Constant):
            return str(f.slice.value)
        if not isinstance(f, ast.Attribute):
            return ""
        of = f.value
        if isinstance(of, ast.Name) and of.id in ("torch", "_torch", "cresset"):
            return f.attr if f.attr in self.rows.all else ""
        if isinstance(of, ast.Name) and of.id in ("math", "warnings", "np", "os", "operator"):
            return ""
        if f.attr in AMBIGUOUS:
            return f.attr if self.is_tensor(of) else ""
        return f.attr if f.attr in self.rows.all or f.attr.rstrip("_") in self.rows.all else ""

    def is_tensor(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.tensors
        if isinstance(node, ast.Attribute):
            return node.attr in ("T", "mT", "H", "mH", "grad") and self.is_tensor(node.value) or (
                isinstance(node.value, ast.Name) and node.value.id == "self" and node.attr in self.rows.tensors)  # fmt: skip
        if isinstance(node, ast.Call):
            row = self.row_of(node)
            return bool(row) and row not in ("size", "item", "dim", "numel", "tolist", "equal", "allclose", "is_floating_point", "is_complex", "is_nonzero",
                                             "unbind", "chunk", "split")  # fmt: skip
        if isinstance(node, ast.BinOp):
            return self.is_tensor(node.left) or self.is_tensor(node.right)
        if isinstance(node, ast.UnaryOp):
            return self.is_tensor(node.operand)
        if isinstance(node, ast.Subscript):
            return self.is_tensor(node.value)
        if isinstance(node, ast.IfExp):
            return self.is_tensor(node.body) or self.is_tensor(node.orelse)
        return False


def formula(steps: list[str]) -> bool:
    """Whether these are more than one call of a row; forms of it, in place and of other numbers of dimensions, are other ways to call one."""
    operators = [s for s in steps if not s[0].isalpha() and s[0] != "_"]
    return len(steps) > 1 and (bool(operators) or len({re.sub(r"\d?d?_?$", "", s) for s in steps}) > 1)


def of_python(text: str, path: str, rows: Rows) -> list[Found]:
    found = []

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, (ast.FunctionDef, ast.ClassDef))
            full = f"{prefix}.{child.name}".lstrip(".") if named else prefix
            if isinstance(child, ast.FunctionDef) and formula(steps := Function(rows, child).steps):
                found.append(Found(f"{path}:{full}", tuple(steps)))
            walk(child, full)

    walk(ast.parse(text), "")
    return found


NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
CHECK = re.compile(r"\bCRESSET_CHECK\w*\s*\(")
ROW_BODIES = re.compile(r"namespace cresset::ops::\w+ \{")
HEAD = re.compile(r"([\w:~#]+|operator\(\))\s*\(")
KEYWORDS = {"if", "for", "while", "switch", "catch", "return", "decltype", "noexcept", "sizeof", "alignof"}


def closing(text: str, start: int) -> int:
    """Where the bracket that opens at `start` is closed."""
    pairs, depth = {"(": ")", "{": "}"}, 0
    for i in range(start, len(text)):
        depth += (text[i] == text[start]) - (text[i] == pairs[text[start]])
        if depth == 0:
            return i
    return len(text)


def bodies(text: str):
    """(name, parameters, body) of each function; lambdas belong to theirs."""
    at = 0
    while match := HEAD.search(text, at):
        end = closing(text, match.end() - 1)
        rest = re.match(r"\s*(?:const|override|final|noexcept|->\s*[\w:<>&*\s]+)*\s*(?::\s[^;{}]*)?\{", text[end + 1 :])
        if match[1] in KEYWORDS or not rest:
            at = match.end()
            continue
        opens = end + rest.end()
        close = closing(text, opens)
        yield match[1], text[match.end() : end], text[opens : close + 1]
        at = close + 1


def of_cpp(text: str, path: str, rows: Rows) -> list[Found]:
    text = NOT_CODE.sub(lambda m: "0" if m[0][0] in "\"'" else " ", text.replace("\\\n", "\n"))
    while match := CHECK.search(text):  # conditions are no results
        text = text[: match.start()] + "CHECKED" + text[closing(text, match.end() - 1) + 1 :]
    while match := ROW_BODIES.search(text):
        text = text[: match.start()] + text[closing(text, match.end() - 1) + 1 :]
    found, names = [], {}
    for name, parameters, body in bodies(text):
        tensors = set(re.findall(r"\bTensor\s*&?\s+(\w+)", f"{parameters}; {body}")) | set(re.findall(r"\bTensor\s*&\s*(\w+)", f"{parameters}; {body}"))
        for more in re.findall(r"\b(?:const )?Tensor&?\s+([^;(){}]*);", body):
            tensors.update(re.findall(r"(?:^|,)\s*(\w+)\s*=", more))
        called = re.findall(r"(?:\bcresset::|\btorch::|\.)(\w+)\(", body)
        steps = [c for c in called if c in rows.arithmetic and c not in ("options",)]
        # Options have accessors of the same names: `o.weight()`, `options.p()`; a tensor's arithmetic is called on tensors.
        steps = [s for s in steps if not re.search(rf"\b(?:o|options|group|state|l)\.{s}\(", body)]
        if tensors:
            word = "|".join(map(re.escape, tensors))
            steps += re.findall(rf"(?<![\w.])(?:{word})\s([-+*/])=?\s", body)
            steps += re.findall(rf"\s([-+*/])\s(?:{word})\b(?!\.(?:size|dim|numel|item|sizes))", body)
            steps += re.findall(rf"[(=,]\s?(-)(?:{word})\b(?!\.(?:size|dim|numel))", body)
        if formula(steps):
            names[name] = names.get(name, 0) + 1
            found.append(Found(f"{path}:{name}" + (f"#{names[name]}" if names[name] > 1 else ""), tuple(steps)))
    return found


def kit(root: Path = ROOT) -> dict[str, list[Found]]:
    rows = Rows(root)
    found = {"cpp": [], "python": []}
    for language, base, places, suffixes, scan in (("python", "python/cresset", PYTHON, {".py"}, of_python), ("cpp", "cresset", CPP, {".h", ".cpp"}, of_cpp)):
        for place in places:
            top = root / base / place
            for path in [top] if top.is_file() else sorted(top.rglob("*")):
                if path.suffix in suffixes:
                    found[language] += scan(path.read_text(), str(path.relative_to(root)), rows)
    return found


def check(found: dict[str, list[Found]], listed: dict) -> list[str]:
    reasons, used, wrong = listed.get("reasons", {}), set(), []
    for language, functions in found.items():
        left = []
        for f in functions:
            matches = [pattern for pattern in reasons if fnmatch(f.name, pattern)]
            used.update(matches)
            if not matches:
                left.append(f)
        allowed = listed["remaining"][language]
        if len(left) > allowed:
            wrong.append(
                f"{language}: {len(left)} functions compute on tensors outside of rows, {allowed} are listed; make a row of it, or give a reason in tools/one_formula.toml"
            )
            wrong += [f"  {f.name}: {' '.join(f.steps)}" for f in left]
        elif len(left) < allowed:
            wrong.append(
                f"{language}: {len(left)} functions are left that compute on tensors outside of rows; write that down in tools/one_formula.toml, which says {allowed}"
            )
    return wrong + [f"tools/one_formula.toml: {pattern!r} names no function that computes on tensors" for pattern in reasons if pattern not in used]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true")
    found, listed = kit(), tomllib.loads((ROOT / "tools/one_formula.toml").read_text())
    if parser.parse_args().list:
        for f in (f for functions in found.values() for f in functions):
            reason = next((r for pattern, r in listed.get("reasons", {}).items() if fnmatch(f.name, pattern)), "")
            print(f.name, "|", " ".join(f.steps), "|", reason)
        return 0
    wrong = check(found, listed)
    print(
        "\n".join(wrong)
        if wrong
        else "one formula: outside of rows {cpp} functions of C++ and {python} of Python compute on tensors".format(**listed["remaining"])
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
