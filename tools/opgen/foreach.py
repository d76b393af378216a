"""List forms: `_foreach_add` of `add`, derived from the column `foreach` of its row, as rows of ops/foreach.toml."""

from __future__ import annotations

import dataclasses

from .model import Argument, Op, Row, RowError, Schema, Type
from .schema import SchemaError, parse_schema


def list_rows(row: Row) -> list[Row]:
    try:
        schemas = [list_schema(row.schema, text) for text in row.foreach]
    except SchemaError as error:
        raise RowError(row.file, row.line, f"foreach: {error}") from None
    return [list_row(row, schema) for schema in schemas]


def list_schema(one: Schema, text: str) -> Schema:
    """Of `List`, an overload whose tensors are all lists; of `Scalar(Tensor[] self, Scalar scalar)`; or of the same with another name."""
    head, _, rest = text.partition("(")
    name = head if head.startswith("_foreach_") else f"_foreach_{one.name}" + (f".{head}" if head else "")
    result = "()" if one.name.endswith("_") else "Tensor[]"
    if rest:
        return parse_schema(f"{name}({rest} -> {result}")
    arguments = (dataclasses.replace(a, type=Type("Tensor", list=True)) if a.type.is_tensor else a for a in one.arguments)
    return parse_schema(str(Schema(name, "", tuple(arguments), (Argument(Type("Tensor"), ""),))).removesuffix("Tensor") + result)


def list_row(row: Row, schema: Schema) -> Row:
    lists = schema.arguments[0].type.list
    return Row(
        file=row.file.with_name("foreach.toml"), line=row.line, schema=schema, kind="composite", each=row,
        forms=("function", *(form for form in row.forms if form == "inplace" and lists)),
        test={"skip": "a list form: tests/python/ops/foreach_test.py compares it with the op on each tensor"},
    )  # fmt: skip


def list_body(row: Row, op: Op) -> list[str]:
    """Checks the lists, then calls the op on their elements."""
    one = row.each.ops[0]
    lists = [p.name for p in op.params if p.argument.type.list]
    lines = [f'check_lists("{op.schema.name}", {{{", ".join(f"{name}.size()" for name in lists)}}});']
    values: list[str] = []
    for p, wanted in zip(op.params, one.params):
        if p.argument.type.list:
            values.append(f"{p.name}[i]")
        elif p.is_tensor and not wanted.is_tensor:
            lines.append(f'const std::vector<Scalar> numbers = list_numbers("{op.schema.name}", {p.name}, {lists[0]}.size());')
            values.append("numbers[i]")
        else:
            lines += [f'check_single_number("{op.schema.name}", {p.name});'] if p.is_tensor else []
            values.append(p.name)
    called = call(row.each, op, values)
    if op.form == "function" and op.returns != "void":
        return [*lines, f"return map_list({lists[0]}.size(), [&](size_t i) {{ return {called}; }});"]
    return [*lines, f"walk_list({lists[0]}.size(), [&](size_t i) {{ {called}; }});"]


def call(row: Row, op: Op, values: list[str]) -> str:
    name = row.cpp_name or row.schema.name
    name += "_" if op.form == "inplace" and not row.is_mutating else ""
    on_self = "method" in row.forms and op.params[0].argument.type.list
    return f"{values[0]}.{name}({', '.join(values[1:])})" if on_self else f"cresset::{name}({', '.join(values)})"


def is_apart(row: Row) -> bool:
    """Whether its functions are declared apart from functions.h, for the memory that they cost whoever includes that."""
    return row.family in ("foreach", "optim", "training")
