"""Sizes and ranges as `.pt2` files keep them."""


def size(value):
    """A size: a number, or an expression with the example's number."""
    if type(value) is int:
        return {"as_int": value}
    return {"as_expr": {"expr_str": expression(value), "hint": _hint(value, "as_int", int)}}


def truth(value):
    """A symbolic truth value."""
    return {"as_expr": {"expr_str": expression(value)}}


def real(value):
    """A symbolic number."""
    return {"as_expr": {"expr_str": expression(value), "hint": _hint(value, "as_float", float)}}


def _hint(value, key, kind):
    hint = value.node.hint
    return None if hint is None else {key: kind(hint)}


def expression(value):
    """The text of an expression: nested calls, as the format has them."""
    raise NotImplementedError(f"save: a size {value} that is a symbol")


def ranges(constraints):
    """The ranges of the symbols."""
    return {str(symbol): {"min_val": _bound(r.lower), "max_val": _bound(r.upper)} for symbol, r in constraints.items()}


def _bound(value):
    return int(value) if abs(value) < 2**62 else None
