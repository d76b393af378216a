"""Numbers of symbolic shapes in graphs: sizes asked of tensors (`aten.sym_size.int`) and arithmetic on them."""

import math
import operator

import cresset as torch

_FUNCTIONS = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "abs")},
    **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "lshift", "rshift")},
    **{"and": operator.and_, "or": operator.or_, "bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor},
    **{"max": torch.sym_max, "min": torch.sym_min, "float": torch.sym_float, "not": torch.sym_not, "ite": torch.sym_ite, "sqrt": torch.sym_sqrt},
    **{"floor": math.floor, "ceil": math.ceil, "trunc": torch.sym_int, "round": round},
}


class UnknownNumber(RuntimeError):
    """A graph needs a number that none of its tensors has."""


def lifted(tracer, args, kwargs):
    """The arguments of a call with symbolic numbers where integers and floats stand for them."""
    env = getattr(tracer.fake_mode, "shape_env", None)
    if env is None:
        return args, kwargs
    return env.lift(tuple(args)), {name: env.lift(value) for name, value in kwargs.items()}


def is_at_most(number, limit):
    """Whether a plain number is; False for symbols, of which that is not asked."""
    return type(number) is int and number <= limit


def build(tracer, value):
    """The node of a symbolic number: a size, stride or offset of a tensor that has a node, or arithmetic on such.

    Errors: UnknownNumber for a symbol that no tensor of the graph has.
    """
    env = value.node.shape_env
    return _node(tracer, env, value.node.expr)


def _node(tracer, env, expr):
    known = tracer.symbols.get(expr)
    if known is None:
        known = tracer.symbols[expr] = _known_by_now(tracer, env, expr) or asked(tracer, expr) or _computed(tracer, env, expr)
        known.meta.setdefault("val", env.wrap(expr))
    return known


def _known_by_now(tracer, env, expr):
    """A node of an expression that equalities found since have made the same."""
    return next((node for other, node in tracer.symbols.items() if env.replace(other) == expr), None)


def asked(tracer, expr):
    """A node that asks a tensor for it: sizes first, and for a symbol that is none strides and offsets. Products are computed from sizes: another argument
    may have other strides."""
    aten = torch.ops.aten
    methods = [(aten.sym_size.int, torch.Tensor.size), (aten.sym_stride.int, torch.Tensor.stride)][: 2 if expr.is_symbol else 1]
    slots = [(slot, tensor) for slot, tensor in ((s, s.tensor) for s in list(tracer._order)) if tensor.layout is torch.strided]
    if not expr.is_symbol:  # what forward computes must not hang on gradients, which have the sizes of its results
        slots = [(slot, tensor) for slot, tensor in slots if not (slot.node.op == "placeholder" and str(slot.node.target).startswith("tangents"))]
    for function, read in methods:
        for slot, tensor in slots:
            for d, number in enumerate(read(tensor)):
                if isinstance(number, torch.SymInt) and number.node.expr == expr:
                    return tracer.create_node("call_function", function, (slot.node, d), {})
    for slot, tensor in slots if expr.is_symbol else ():
        number = tensor.storage_offset()
        if isinstance(number, torch.SymInt) and number.node.expr == expr:
            return tracer.create_node("call_function", aten.sym_storage_offset.default, (slot.node,), {})
    return None


def _computed(tracer, env, expr):
    tree = expr.tree()
    if isinstance(tree, str):
        found = tracer.number_from_around(env.wrap(expr))
        if found is not None:
            return found
        raise UnknownNumber(f"make_fx: the graph needs the number {expr}, and none of its tensors has it as a size, stride or offset")
    return _arithmetic(tracer, env, tree)


def _arithmetic(tracer, env, tree):
    """The node of an expression's `tree()`, or the number that it is."""
    import _cresset_graph

    if not isinstance(tree, (str, tuple)):
        return tree
    expr = _cresset_graph.expr_from_tree(tree)
    known = tracer.symbols.get(expr)
    if known is None and isinstance(tree, str):
        return _node(tracer, env, expr)
    if known is None:
        operation, *parts = tree
        arguments = tuple(_arithmetic(tracer, env, part) for part in parts)
        known = tracer.symbols[expr] = tracer.create_node("call_function", _function(operation), arguments, {})
        known.meta["val"] = env.wrap(expr)
    return known


def _function(operation):
    return _FUNCTIONS.get(operation) or getattr(torch, f"_sym_{operation}")
