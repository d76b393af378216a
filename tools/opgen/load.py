"""Reads ops/*.toml into rows. Every mistake is reported as file:line: sentence."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from .foreach import list_rows
from .model import FORMS, GRAD_STATES, JVP_RULES, KINDS, POINTWISE_META, Row, RowError
from .schema import SchemaError, parse_schema

FIELDS = {
    "schema": str, "kind": str, "forms": list, "meta": str, "kernel": (dict, str), "inputs": list, "params": list, "check": str, "mask": str,
    "grad": (dict, str), "grad_name": (str, list), "grad_name_if": dict, "python_grad_name": str, "grad_once": bool, "cpp_name": str, "decomposition": str, "out_names": list, "out_overload": str, "contiguous_out": bool, "out_dtype": str, "out_apart": (bool, str), "out_body": bool, "out_same": bool, "out_overlap": bool, "any_device": bool, "any_layout": bool, "inplace_safe": bool, "inplace_promotes": bool,
    "output_differentiability": list, "aliases": list, "python": str, "jvp": str, "batch": str, "foreach": (list, bool), "test": dict, "doc": str, "example": str,
}  # fmt: skip


def _names(value: str | list[str] | None) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


def _overloads(value: list[str] | bool | None) -> tuple[str, ...]:
    return ("",) if value is True else tuple(value or ())


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
        kernel = table.get("kernel", {})
        row = Row(
            file=self.path, line=self.head, schema=schema, kind=table["kind"], forms=forms, meta=table.get("meta"),
            kernel={kernel: ""} if isinstance(kernel, str) else kernel, inputs=tuple(table.get("inputs", ())),
            params=tuple(table.get("params", ())), check=table.get("check"), mask=table.get("mask"), grad=table.get("grad"),
            grad_names=_names(table.get("grad_name")), grad_name_if=table.get("grad_name_if", {}), python_grad_name=table.get("python_grad_name"), grad_once=table.get("grad_once", False), cpp_name=table.get("cpp_name"), decomposition=table.get("decomposition"), out_names=tuple(table.get("out_names", ())),
            out_overload=table.get("out_overload"),
            contiguous_out=table.get("contiguous_out", False), out_dtype=table.get("out_dtype"), out_apart=table.get("out_apart", False), out_body=table.get("out_body", False), out_same=table.get("out_same", False), out_overlap=table.get("out_overlap", False), any_device=table.get("any_device", False), any_layout=table.get("any_layout", False), inplace_safe=table.get("inplace_safe", False), inplace_promotes=table.get("inplace_promotes", False),
            output_differentiability=tuple(table.get("output_differentiability", ())), aliases=tuple(table.get("aliases", ())),
            python=table.get("python", "torch"), jvp=table.get("jvp"), batch=table.get("batch"), foreach=_overloads(table.get("foreach")), test=table.get("test", {}),
            doc=table.get("doc", ""), example=table.get("example", ""),
        )  # fmt: skip
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
            raise self.fail(
                "jvp", f'"{row.jvp}" is no rule for this row; write linear, multilinear or a function `..._jvp`, or nothing: the rule comes from `grad`'
            )
        if row.out_dtype not in (None, "exact", "cast", "convert", "any"):
            raise self.fail("out_dtype", f'"{row.out_dtype}" is not a rule for the dtype of out; write exact, cast, convert or any')
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
