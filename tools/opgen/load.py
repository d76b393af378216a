"""Reads ops/*.toml into rows. Every mistake is reported as file:line: sentence."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any

from .foreach import list_rows
from .model import CAST_POLICIES, DRAWS, FLOAT8_EXCEPTIONS, FORMS, GRAD_STATES, JVP_RULES, KINDS, POINTWISE_META, Row, RowError
from .schema import SchemaError, parse_schema

TOML = {"str": str, "Schema": str, "bool": bool, "tuple": list, "dict": dict}
SHORT = {"kernel": str, "autocast": str, "float8": str, "grad_name": str, "foreach": bool}
# The fields of a row and their types: those of Row, and the short form.
FIELDS = {f.name: (*(TOML[t.split("[")[0]] for t in str(f.type).split(" | ") if t != "None"), *([SHORT[f.name]] if f.name in SHORT else []))
          for f in dataclasses.fields(Row) if f.name not in ("file", "line", "each")}  # fmt: skip
# How a field is kept where it has a short form.
LONG = {
    "kernel": lambda v: {v: ""}, "autocast": lambda v: {"cpu": v, "other": v}, "float8": lambda v: {"kernel": v}, "grad_name": lambda v: [v],
    "foreach": lambda v: [""] if v else [],
}  # fmt: skip


def load_file(path: Path) -> list[Row]:
    text = path.read_text()
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"at line (\d+)", str(error))
        raise RowError(path, int(where.group(1)) if where else 1, f"not valid TOML: {error}") from None
    lines = text.splitlines()
    heads = [i + 1 for i, line in enumerate(lines) if line.strip().startswith("[[op]]")]
    unknown = set(data) - {"op"}
    if unknown:
        raise RowError(path, 1, f"unknown table `{sorted(unknown)[0]}`; only [[op]] is allowed")
    rows = []
    for i, table in enumerate(data.get("op", [])):
        end = heads[i + 1] - 1 if i + 1 < len(heads) else len(lines)
        rows.append(_Reader(path, heads[i], lines[heads[i] : end], table).row())
    return rows


def load(paths: list[Path]) -> list[Row]:
    rows = [row for path in sorted(paths) for row in load_file(path)]
    rows += [listed for row in rows for listed in list_rows(row)]
    seen: dict[str, Row] = {}
    for row in rows:
        for op in row.ops:
            other = seen.setdefault(op.schema.full_name, row)
            if other is not row:
                raise RowError(row.file, row.line, f"`{op.schema.full_name}` is already declared at {other.where}")
    return rows


class _Reader:
    """One table, with the place of each of its keys."""

    def __init__(self, path: Path, line: int, lines: list[str], table: dict[str, Any]) -> None:
        self.path, self.head, self.lines, self.table = path, line, lines, table

    def fail(self, key: str | None, message: str) -> RowError:
        for i, text in enumerate(self.lines):
            if key and re.match(rf"\s*{re.escape(key)}\s*=", text):
                return RowError(self.path, self.head + 1 + i, message)
        return RowError(self.path, self.head, message)

    def row(self) -> Row:
        table = self.table
        for key, value in table.items():
            if key not in FIELDS:
                raise self.fail(key, f"unknown field `{key}`; the fields are {', '.join(FIELDS)}")
            if not isinstance(value, FIELDS[key]):
                raise self.fail(key, f"`{key}` has the wrong type ({type(value).__name__})")
        for key in ("schema", "kind"):
            if key not in table:
                raise self.fail(None, f"the row has no `{key}`")
        try:
            schema = parse_schema(table["schema"])
        except SchemaError as error:
            raise self.fail("schema", str(error)) from None
        if table["kind"] not in KINDS:
            raise self.fail("kind", f'unknown kind "{table["kind"]}"; the kinds are {", ".join(KINDS)}')
        forms = tuple(table.get("forms", ("function", "method") if any(a.name == "self" for a in schema.arguments) else ("function",)))
        for form in forms:
            if form not in FORMS:
                raise self.fail("forms", f'unknown form "{form}"; the forms are {", ".join(FORMS)}')
        values = {key: LONG[key](value) if isinstance(value, SHORT.get(key, ())) else value for key, value in table.items()}
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
        row = Row(self.path, self.head, **{**values, "schema": schema, "forms": forms})
        self.check(row)
        return row

    def check(self, row: Row) -> None:
        arguments = {a.name: a for a in row.schema.arguments}
        tensors = [a for a in row.schema.arguments if a.type.is_tensor]
        if row.is_pointwise:
            if not row.kernel.get("cpu"):
                raise self.fail("meta", f'a pointwise row (meta = "{row.meta}") needs `kernel = {{ cpu = "name" }}`')
            wanted = POINTWISE_META[row.meta or ""]
            if wanted is not None and len(pointwise_inputs(row)) != wanted:
                raise self.fail("meta", f'meta = "{row.meta}" takes {wanted} inputs, the schema gives {len(pointwise_inputs(row))}; name them in `inputs`')
        for key in ("inputs", "params"):
            for name in getattr(row, key):
                if name not in arguments and not re.search(r"\W", name):
                    raise self.fail(key, f"`{name}` in `{key}` is not an argument of the schema")
        if row.kind == "composite":
            for key in ("grad", "kernel", "meta"):
                if key in self.table:
                    raise self.fail(key, f"a composite row has no `{key}`: it is made of other ops and inherits theirs")
        if row.out_body and ((row.kind != "composite" and not row.is_direct) or "out" not in row.forms):
            raise self.fail("out_body", "`out_body` is for composite rows and direct kernels with an out form")
        if row.kind == "fused" and not row.decomposition:
            raise self.fail("kind", "a fused row needs `decomposition`, the composite that computes the same")
        if row.kind in ("primitive", "fused") and tensors and row.grad is None and not row.writes_lists:
            raise self.fail(None, f"`{row.schema.full_name}` has no `grad`; write a formula for each tensor, non_differentiable or not_implemented")
        if isinstance(row.grad, str) and row.grad not in GRAD_STATES:
            raise self.fail("grad", f'"{row.grad}" is not a gradient; write a table of formulas, non_differentiable or not_implemented')
        if isinstance(row.grad, dict):
            named = [name.strip() for key in row.grad for name in key.split(",")]
            for name in named:
                if name not in arguments:
                    raise self.fail("grad", f"`{name}` in `grad` is not an argument of the schema")
            for a in tensors:
                if a.name not in named:
                    raise self.fail("grad", f"the tensor `{a.name}` has no gradient; write a formula, non_differentiable or not_implemented")
        if row.jvp is not None and (not (row.jvp in JVP_RULES or row.jvp.endswith("_jvp")) or row.kind not in ("primitive", "fused")):
            rules = "linear, multilinear or a function `..._jvp`, or nothing: the rule comes from `grad`"
            raise self.fail("jvp", f'"{row.jvp}" is no rule for this row; write {rules}')
        if row.out_dtype not in (None, "exact", "cast", "convert", "any"):
            raise self.fail("out_dtype", f'"{row.out_dtype}" is not a rule for the dtype of out; write exact, cast, convert or any')
        for key, word, known in (*(("autocast", row.autocast.get(device), CAST_POLICIES) for device in ("cpu", "other")), ("draw", row.draw, DRAWS),
                                 ("float8", row.float8.get("unless"), FLOAT8_EXCEPTIONS)):  # fmt: skip
            if word is not None and word not in known:
                raise self.fail(key, f'`{key}` takes {", ".join(known)}, got "{word}"')
        for key in ("batch", "sparse", "coo", "mkldnn", "fast"):
            if isinstance(value := getattr(row, key), dict) and (unknown := set(value) - {op.form for op in row.ops}):
                raise self.fail(key, f"`{key}` names a form that the row does not have: {min(unknown)}")
        if row.kind == "view" and not (row.schema.returns and row.schema.returns[0].alias):
            raise self.fail("schema", "a view returns Tensor(a) or Tensor(a)[]")
        if bool(row.doc) != bool(row.example):
            raise self.fail("doc" if row.doc else "example", "`doc` and `example` go together")
        if row.example and not re.match(r"\s*>>> ", row.example):
            raise self.fail("example", "an example begins with `>>> `")
        if "inplace" in row.forms and (not row.schema.arguments or row.schema.arguments[0].name != "self"):
            raise self.fail("forms", "the in-place form needs `self` as the first argument")


def pointwise_inputs(row: Row) -> list[str]:
    """The arguments a pointwise kernel reads as inputs: tensors, and numbers that take part in promotion."""
    if row.inputs:
        return list(row.inputs)
    numbers = ("self", "other", "exponent")
    return [a.name for a in row.schema.arguments if a.type.is_tensor or (a.type.base == "Scalar" and a.name in numbers)]


def pointwise_params(row: Row) -> list[str]:
    if row.params or "params" in row.kernel:
        return list(row.params)
    inputs = pointwise_inputs(row)
    return [a.name for a in row.schema.arguments if a.name not in inputs and a.type.base in ("Scalar", "float", "int", "bool")]
