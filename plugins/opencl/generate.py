"""Writes expressions.inc and rows.inc: OpenCL C of the pointwise expressions, and the operators of ops/*.toml that they compute."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tools")]
import expressions  # noqa: E402
from opgen.load import load, pointwise_inputs, pointwise_params  # noqa: E402

TYPES = (("floating", "kFloats", ("float", "double")), ("whole", "kInts", ("long",)), ("truth", "kBools", ("bool",)))
SETS = {"kReals": ("kFloats", "kInts"), "kAll": ("kFloats", "kInts", "kBools")}
PROMOTE = {"unary_float": "Floating", "binary_float": "Floating", "pointwise_float": "Floating", "pointwise_first": "First"}


def literal(text):
    """A C++ string of any length, in pieces."""
    pieces = [text[i : i + 8000] for i in range(0, len(text), 8000)]
    return "\n".join(f'R"cl({piece})cl"' for piece in pieces) or '""'


def dtypes(expression):
    words = {w for w in expression.signature if w.startswith("k")}
    return words.union(*(SETS.get(w, ()) for w in words))


def main(compiler, out):
    reader = expressions.Reader(expressions.preprocessed(compiler, ROOT))
    lines, known = [], {}
    for name, struct in expressions.entries(ROOT):
        expression = reader.expressions[struct]
        parts = expressions.split(expression.signature)
        texts, far = {}, False
        for kind, words, types in TYPES:
            written = expressions.write(reader, expression, types) if words in dtypes(expression) else None
            texts[kind] = written[0] if written else ""
            far = far or bool(written and written[1])
        mask = parts[4][0] if len(parts) > 4 else "-1"
        boolean = "true" if "boolean" in expression.signature else "false"
        known[name] = len(lines)
        lines.append(
            f'{{"{name}", "{struct}", {parts[0][0]}, {parts[1][0]}, {mask}, {boolean}, {str(far).lower()},\n{literal(texts["floating"])},\n{literal(texts["whole"])},\n{literal(texts["truth"])}}},'
        )
    rows = []
    for row in load(sorted((ROOT / "ops").glob("*.toml"))):
        if not row.is_pointwise or row.each or row.kernel["cpu"] not in known:
            continue
        for op in row.ops:
            names = [a.name for a in op.schema.arguments]
            inputs, params = pointwise_inputs(row), pointwise_params(row)
            if any(p not in names for p in (*inputs, *params)):
                continue
            places = ", ".join(str(names.index(n)) for n in inputs), ", ".join(str(names.index(n)) for n in params)
            mask = inputs.index(row.mask) if row.mask else -1
            promote = PROMOTE.get(row.meta, "Common")
            rows.append(f'{{"{op.schema.full_name}", {known[row.kernel["cpu"]]}, Promote::{promote}, {mask}, {{{places[0]}}}, {{{places[1]}}}}},')
    (out / "expressions.inc").write_text("\n".join(lines) + "\n")
    (out / "rows.inc").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
