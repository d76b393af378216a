"""Conditions on the arguments of an exported program as files keep them: Python text such as ``L['x'].size()[0] % 3 == 1``."""

import ast
import warnings

import _cresset_graph

import cresset as torch

from ..fx.experimental._guards import _outer, code
from ..utils import _pytree as pytree
from .graph_signature import InputKind

_OPERATORS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow", ast.Eq: "eq",
              ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.USub: "neg", ast.Not: "not", ast.And: "and", ast.Or: "or"}  # fmt: skip
_FUNCTIONS = {"max": "max", "min": "min", "abs": "abs", "float": "float", "round": "round", "math.floor": "floor", "math.ceil": "ceil", "math.trunc": "trunc",
              "int": "trunc", "math.sqrt": "sqrt"}  # fmt: skip


def written(program):
    """The conditions of a program as text."""
    names = {}
    for (place, d), size in _sizes(program).items() if program._guards else ():
        if isinstance(size, str):
            names.setdefault(size, f"{place}.size()[{d}]")
    return [_outer(code(guard.tree(), names)) for guard in program._guards if set(guard.symbols) <= set(names)]


def read(program, texts):
    """The conditions that texts state over a program's sizes; one that cannot be read is warned of, as nothing checks it."""
    sizes, found = _sizes(program) if texts else {}, []
    for text in texts:
        try:
            expr = _cresset_graph.expr_from_tree(_tree(ast.parse(text, mode="eval").body, sizes))
        except (SyntaxError, ValueError, TypeError, KeyError, RecursionError, RuntimeError, ArithmeticError) as error:
            warnings.warn(f"load: the condition {text[:200]!r} of the file is not checked: {error!r}", stacklevel=2)
            continue
        if expr.constant is not True:
            found.append(expr)
    return found


def _sizes(program):
    """(text of an argument, dimension) -> its size: a number, or the `tree()` of an expression."""
    nodes = zip(program.graph.find_nodes(op="placeholder"), program.graph_signature.input_specs, strict=True)
    values = [node.meta.get("val") for node, spec in nodes if spec.kind is InputKind.USER_INPUT]
    found = {}
    for place, value in zip(_places(program, values), values, strict=False):
        if isinstance(value, torch.Tensor):
            found.update({(place, d): n if type(n) is int else n.node.expr.tree() for d, n in enumerate(value.shape)})
    return found


def _places(program, values):
    """The texts of the arguments that are leaves, in order."""
    entries = program.module_call_graph
    signature = entries[0].signature if entries else None
    if signature is None:
        return
    spec, names = signature.in_spec, signature.forward_arg_names
    paths, _ = pytree.tree_flatten_with_path(pytree.tree_unflatten(values, spec))
    for (part, first, *rest), _ in paths:
        head = first.key if part.idx else names[first.idx] if names else f"arg_{first.idx}"
        yield ast.unparse(ast.parse(f"L[{head!r}]{''.join(map(str, rest))}", mode="eval"))


def _tree(node, sizes):
    match node:
        case ast.Constant(value=bool() | int() | float()):
            return node.value
        case ast.Subscript(value=ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[]), slice=ast.Constant(value=int(d))):
            return sizes[ast.unparse(tensor), d]
        case ast.BinOp(left=left, op=op, right=right):
            return (_OPERATORS[type(op)], _tree(left, sizes), _tree(right, sizes))
        case ast.UnaryOp(op=op, operand=operand):
            return (_OPERATORS[type(op)], _tree(operand, sizes))
        case ast.BoolOp(op=op, values=values):
            return (_OPERATORS[type(op)], *[_tree(value, sizes) for value in values])
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [_tree(side, sizes) for side in (left, *others)]
            parts = [(_OPERATORS[type(op)], a, b) for op, a, b in zip(ops, sides, sides[1:], strict=False)]
            return parts[0] if len(parts) == 1 else ("and", *parts)
        case ast.Call(func=function, args=args, keywords=[]):
            return (_FUNCTIONS[ast.unparse(function)], *[_tree(arg, sizes) for arg in args])
    raise ValueError(f"expected a condition on sizes, got {ast.unparse(node)[:80]}")
