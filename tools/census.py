"""The census: how many operators of each kind there are, and where each gets its gradient, its forward-mode derivative and its batching."""

from __future__ import annotations

from collections import Counter

from opgen.emit_autograd import AutogradEmitter
from opgen.emit_tables import forward_rule
from opgen.model import Row, families

# The most of each that the core may have; everything else is a composite of them.
LIMITS = {"primitive pointwise": 160, "primitive other": 200, "kind fused": 80, "kind view": 40}
KINDS = ("primitive", "view", "composite", "fused")
ASPECTS = ("gradient", "forward mode", "batching")
MEANING = {
    ("gradient", "formula"): "the row has a formula for each tensor that has a gradient",
    ("gradient", "by its parts"): "made of other operators",
    ("gradient", "non differentiable"): "no tensor has a gradient",
    ("gradient", "not implemented"): "some tensor has a gradient that is not written; asking for it is an error",
    ("forward mode", "formula"): "a function of `cresset/autograd/rules/forward.cpp`",
    ("forward mode", "pointwise"): "the gradient's formula, which is its own transpose",
    ("forward mode", "transposed"): "the gradient's formula, transposed",
    ("forward mode", "linear"): "the operator on the tangents",
    ("forward mode", "multilinear"): "the sum over the arguments of the operator with one replaced by its tangent",
    ("forward mode", "view"): "the view of the tangent",
    ("forward mode", "by its parts"): "made of other operators",
    ("forward mode", "none"): "no tensor has a derivative",
    ("batching", "pointwise"): "the operator on the batch, broadcast",
    ("batching", "rule"): "a rule that says where the batch's dimension goes",
    ("batching", "by its parts"): "made of other operators",
    ("batching", "by slices"): "the operator once for each element of the batch",
}


def gradient(row: Row) -> str:
    if row.kind == "composite" or row.writes_lists:
        return "by its parts"
    states = set(row.grad.values()) if isinstance(row.grad, dict) else {row.grad or "formula"}
    if "not_implemented" in states:
        return "not implemented"
    return "non differentiable" if states == {"non_differentiable"} else "formula"


def forward_mode(row: Row) -> str:
    if row.kind == "composite":
        return "by its parts"
    emitter = AutogradEmitter(row)
    if not any(emitter.has_layer(op) for op in row.ops) or not (emitter.records or row.kind == "view"):
        return "none"
    rule = forward_rule(row)
    return "formula" if rule.endswith("_jvp") else rule


def batching(row: Row) -> str:
    if row.kind == "composite":
        return "by its parts"
    if not row.batch:
        return "pointwise" if row.is_pointwise else "by slices"
    return "by slices" if row.batch in ("run_by_element", "depends_on_data") else "rule"


def states(rows: list[Row]) -> dict[str, Counter[str]]:
    """For each aspect how many rows are in which state."""
    return {
        "gradient": Counter(gradient(row) for row in rows),
        "forward mode": Counter(forward_mode(row) for row in rows),
        "batching": Counter(batching(row) for row in rows),
    }


def counts_of(rows: list[Row]) -> dict[str, int]:
    """How many of what: the figures that CI bounds."""
    counts: Counter[str] = Counter()
    kernels = {row.kernel["cpu"] for row in rows if row.kind == "primitive" and row.is_pointwise}
    counts["primitive pointwise"] = len(kernels)
    for row in rows:
        counts["rows"] += 1
        counts["forms"] += len(row.ops)
        counts[f"kind {row.kind}"] += 1
        if row.kind == "primitive" and not row.is_pointwise:
            counts["primitive other"] += 1
        if any(AutogradEmitter(row).has_layer(op) for op in row.ops) and (AutogradEmitter(row).records or row.kind == "view"):
            rule = forward_rule(row)
            counts[f"forward mode {'formula' if rule.endswith('_jvp') else rule}"] += 1
        if isinstance(row.grad, str):
            counts[f"gradient {row.grad}"] += 1
        elif row.grad is not None:
            for text in row.grad.values():
                counts[f"gradient {text}" if text in ("non_differentiable", "not_implemented") else "gradient formula"] += 1
    return dict(sorted(counts.items()))


def bounded(counts: dict[str, int]) -> str:
    """Each bounded count with its limit."""
    pointwise, other, fused, views = (f"{counts.get(name, 0)} of {most}" for name, most in LIMITS.items())
    return f"{pointwise} pointwise expressions, {other} other primitives, {fused} fused operators, {views} views"


def report(rows: list[Row]) -> str:
    counts = counts_of(rows)
    kinds = Counter(row.kind for row in rows)
    lines = [f"operators     {len(rows)} in {len(families(rows))} families, {counts['forms']} with their in-place and out= forms"]
    lines.append("kinds         " + ", ".join(f"{kinds[k]} {k}" for k in KINDS))
    lines.append("core          " + bounded(counts))
    for aspect, found in states(rows).items():
        lines.append(f"{aspect:<14}" + ", ".join(f"{n} {state}" for state, n in found.most_common()))
    missing = sorted({row.schema.full_name for row in rows if gradient(row) == "not implemented"})
    lines.append(f"gradients that are not written: {', '.join(missing) or 'none'}")
    return "\n".join(lines)


def page(rows: list[Row]) -> str:
    """The page that counts and lists all operators."""
    counts, kinds = counts_of(rows), Counter(row.kind for row in rows)
    lines = ["# Operators", "", "Generated from `ops/*.toml` by `tools/op_census`.", "", "| kind | operators |", "|---|--:|"]
    lines += [f"| {kind} | {kinds[kind]} |" for kind in KINDS]
    lines += [f"| all | {len(rows)} |", f"| with in-place and `out=` forms | {counts['forms']} |", ""]
    lines += [f"The core, and the most that it may have: {bounded(counts)}.", ""]
    for aspect, found in states(rows).items():
        lines += [f"| {aspect} | operators | |", "|---|--:|---|"]
        lines += [f"| {state} | {n} | {MEANING.get((aspect, state), '')} |" for state, n in found.most_common()]
        lines.append("")
    lines += ["In the lists, `m`: also a method; `_`: in-place form; `out`: out= form.", ""]
    for family, members in families(rows).items():
        lines += [f"## {family}", "", "| schema | kind | forms | gradient | forward mode | batching |", "|---|---|---|---|---|---|"]
        for row in members:
            forms = [text for form, text in (("method", "m"), ("inplace", "_"), ("out", "out")) if form in row.forms]
            cells = [f"`{row.schema}`", row.kind, " ".join(forms), formulas(row), forward_mode(row), batching(row)]
            lines.append("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def formulas(row: Row) -> str:
    if not isinstance(row.grad, dict):
        return gradient(row)
    return "; ".join(f"{k}: {v.replace('_', ' ')}" if v in ("non_differentiable", "not_implemented") else f"{k}: `{v}`" for k, v in row.grad.items())


__all__ = ["batching", "forward_mode", "gradient", "page", "report", "states"]
