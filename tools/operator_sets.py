#!/usr/bin/env python3
"""Writes the page of the two small sets of operators that programs are taken apart into, from the rows: operator_sets.py [FILE], else to standard output.

Core ATen is what `torch.export` programs keep after `run_decompositions()`; primitives are the rows that have kernels or are views, of which all others are made.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True

from census import forward_mode, gradient  # noqa: E402
from opgen.load import load  # noqa: E402
from opgen.model import Row, families  # noqa: E402

NAMES = ROOT / "python/cresset/_core/aten_names.py"
FORMULAS = ROOT / "python/cresset/_decomp/decompositions.py"
# Calls of Python's brackets, which are no rows.
BRACKETS = {"index": "indexing by tensors", "select": "a view of one element of a dimension", "slice": "a view of a range of a dimension"}


def core_names() -> list[str]:
    """The overloads that have the tag `core`."""
    for statement in ast.parse(NAMES.read_text()).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name) and statement.targets[0].id == "TAGS":
            value = statement.value
            assert isinstance(value, ast.Dict)
            for key, words in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "core":
                    text = words.func.value  # type: ignore[attr-defined]
                    return str(text.value).split()
    raise SystemExit(f"{NAMES}: expected TAGS with the tag 'core'")


def formulas() -> set[str]:
    """Operators that have a formula of their own in the tables of `torch._decomp`."""
    return {f.name for f in ast.parse(FORMULAS.read_text()).body if isinstance(f, ast.FunctionDef) and not f.name.startswith("_")}


def taken_apart(row: Row, written: set[str]) -> str:
    if row.kind in ("composite", "fused"):
        return "its body"
    return "formula" if row.schema.full_name in written or row.schema.name in written else ""


def core_table(rows: list[Row]) -> list[str]:
    schemas = {op.schema.full_name: (op, row) for row in rows for op in row.ops}
    lines = ["| operator | schema | row |", "|---|---|---|"]
    for name in sorted(core_names()):
        if name in BRACKETS:
            lines.append(f"| `{name}` | {BRACKETS[name]} | |")
            continue
        found = [schemas[known] for known in schemas if known == name or (name.endswith(".*") and known.partition(".")[0] == name[:-2])]
        if not found:
            raise SystemExit(f"{NAMES}: the core operator {name} has no row")
        lines += [f"| `{op.schema.full_name}` | `{op.schema}` | {row.kind} |" for op, row in found]
    return lines


def primitive_table(rows: list[Row], written: set[str]) -> list[str]:
    lines: list[str] = []
    for family, members in families(rows).items():
        chosen = [row for row in members if row.kind in ("primitive", "view")]
        if not chosen:
            continue
        lines += [f"### {family}", "", "| schema | kind | gradient | forward mode | `torch._decomp` |", "|---|---|---|---|---|"]
        for row in chosen:
            kind = "pointwise" if row.kind == "primitive" and row.is_pointwise else row.kind
            cells = (f"`{row.schema}`", kind, gradient(row), forward_mode(row), taken_apart(row, written))
            lines.append("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
        lines.append("")
    return lines


def page(rows: list[Row]) -> str:
    kinds = Counter(row.kind for row in rows)
    return "\n".join(
        [
            "# Sets of operators",
            "",
            "Written from `ops/*.toml` by `tools/operator_sets.py`.",
            "",
            "## Core ATen",
            "",
            "What programs are made of after `ExportedProgram.run_decompositions()`, and what `torch._decomp.core_aten_decompositions()` leaves: operators with the tag",
            "`torch.Tag.core`. *row*: what stands behind it here; a composite or fused one has a body of other operators, which a compiler may open.",
            "",
            *core_table(rows),
            "",
            "## Primitives",
            "",
            f"The {kinds['primitive']} rows that have kernels and the {kinds['view']} that are views. The {kinds['composite']} composite and {kinds['fused']} fused rows are bodies over them:",
            "a program whose bodies are all opened (`graph::CaptureOptions::decompose_composites`, `torch._decomp.decomposition_table`) has these alone, so that a backend which",
            "knows them runs everything. The last column: PyTorch's tables of decompositions take it apart further.",
            "",
            *primitive_table(rows, formulas()),
        ]
    )


def main() -> int:
    text = page(load(list((ROOT / "ops").glob("*.toml"))))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text)
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
