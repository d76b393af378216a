"""How each operator is written in MLIR: a rule gets the emitter, the node and its arguments, tensors being `Value`s, and gives a `Value`, or a list of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import cresset as torch

from .. import fx
from ._mlir import _WIDER, Emitter, Value, _is_float, region

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}


def _name(node: fx.Node) -> str:
    """The operator's name without namespace, and without an overload: "add"."""
    target = node.target
    if target is operator.getitem:
        return "getitem"
    return (
        str(target).removeprefix("aten.").removeprefix("prims.").partition(".")[0] if hasattr(target, "_schema") else getattr(target, "__name__", str(target))
    )


def rule_of(node: fx.Node) -> Rule:
    """The rule of a node's operator."""
    return RULES[_name(node)]


def check_rules(module: fx.GraphModule) -> None:
    """Errors: NotImplementedError for operators without a rule, all named."""
    missing = {
        str(n.target) for m in module.modules() if isinstance(m, fx.GraphModule) for n in m.graph.nodes if n.op == "call_function" and _name(n) not in RULES
    }
    if missing:
        raise NotImplementedError(f"mlir: there is no rule for {', '.join(sorted(missing))}")


def rule(*names: str) -> Callable[[Rule], Rule]:
    """A decorator: the function is the rule of these operators."""

    def keep(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return keep


def _shape(node: fx.Node) -> tuple[int, ...]:
    return tuple(node.meta["val"].shape)


def _dtype(node: fx.Node) -> Any:
    return node.meta["val"].dtype


def _elementwise(em: Emitter, node: fx.Node, operands: list[Any], compute: Any, body: Callable[..., Any]) -> Value:
    """`body` on elements of operands, tensors or numbers, in the dtype `compute`; the result is the node's."""
    compute = _WIDER.get(compute, compute)
    tensors = [v for v in operands if isinstance(v, Value)]

    def whole(s: Any, elements: list[Any]) -> Any:
        left = iter(elements)
        return body(s, *(s.cast(next(left), compute) if isinstance(v, Value) else s.number(v, compute) for v in operands))

    return em.pointwise(tensors, _shape(node), _dtype(node), whole)


def _joint_dtype(operands: list[Any]) -> Any:
    """The dtype in which operands are compared: dimensions count before numbers of one element."""
    shaped = [torch.empty((1,) * len(v.shape), dtype=v.dtype) if isinstance(v, Value) else v for v in operands]
    found = shaped[0]
    for other in shaped[1:]:
        found = torch.empty((1,) * max(getattr(found, "ndim", 0), getattr(other, "ndim", 0)), dtype=torch.result_type(found, other))
    return found.dtype


# ---- one operand -------------------------------------------------------------------------------------------------------------

_FUNCTIONS = {
    "exp": "math.exp", "log": "math.log", "log2": "math.log2", "log10": "math.log10", "log1p": "math.log1p", "expm1": "math.expm1", "sqrt": "math.sqrt",
    "rsqrt": "math.rsqrt", "sin": "math.sin", "cos": "math.cos", "tan": "math.tan", "tanh": "math.tanh", "atan": "math.atan", "erf": "math.erf",
    "exp2": "math.exp2",
}  # fmt: skip
_SAME_DTYPE = {"floor": "math.floor", "ceil": "math.ceil", "round": "math.roundeven", "trunc": "math.trunc"}


def _unary(operation: str) -> Rule:
    return lambda em, node, x: _elementwise(em, node, [x], _dtype(node), lambda s, a: s.one(operation, a) if _is_float(a[1]) else a)


RULES.update({name: _unary(operation) for name, operation in {**_FUNCTIONS, **_SAME_DTYPE}.items()})


def _formula(*names: str) -> Callable[[Callable[..., Any]], Rule]:
    """A decorator: the function computes an element, `body(scalars, element, numbers...)`, in the dtype of the result."""

    def make(body: Callable[..., Any]) -> Rule:
        def run(em: Emitter, node: fx.Node, *operands: Any, **named: Any) -> Value:
            tensors = [v for v in operands if isinstance(v, Value)]
            rest = [v for v in operands if not isinstance(v, Value)]
            return _elementwise(em, node, tensors, _dtype(node), lambda s, *e: body(s, *e, *rest, **named))

        return rule(*names)(run)

    return make


def _sigmoid(s: Any, a: Any) -> Any:
    one = s.number(1, a[1])
    return s.arithmetic("div", one, s.arithmetic("add", one, s.one("math.exp", s.one("arith.negf", a))))


@_formula("sigmoid")
def _(s: Any, a: Any) -> Any:
    return _sigmoid(s, a)


@_formula("silu")
def _(s: Any, a: Any) -> Any:
    return s.arithmetic("mul", a, _sigmoid(s, a))


@_formula("neg")
def _(s: Any, a: Any) -> Any:
    return s.one("arith.negf", a) if _is_float(a[1]) else s.arithmetic("sub", s.number(0, a[1]), a)


@_formula("abs")
def _(s: Any, a: Any) -> Any:
    return s.one("math.absf" if _is_float(a[1]) else "math.absi", a)


@_formula("sign", "sgn")
def _(s: Any, a: Any) -> Any:
    zero = s.number(0, a[1])
    return s.arithmetic("sub", s.cast(s.compare("gt", a, zero), a[1]), s.cast(s.compare("lt", a, zero), a[1]))


@_formula("reciprocal")
def _(s: Any, a: Any) -> Any:
    return s.arithmetic("div", s.number(1, a[1]), a)


@_formula("relu")
def _(s: Any, a: Any) -> Any:
    zero = s.number(0, a[1])
    return s.select(s.compare("lt", a, zero), zero, a)


@_formula("gelu")
def _(s: Any, a: Any, approximate: str = "none") -> Any:
    def number(value: float) -> Any:
        return s.number(value, a[1])

    if approximate == "none":
        inner = s.one("math.erf", s.arithmetic("mul", a, number(math.sqrt(0.5))))
    else:
        cube = s.arithmetic("mul", s.arithmetic("mul", a, a), a)
        inner = s.one("math.tanh", s.arithmetic("mul", number(math.sqrt(2 / math.pi)), s.arithmetic("add", a, s.arithmetic("mul", number(0.044715), cube))))
    return s.arithmetic("mul", s.arithmetic("mul", a, number(0.5)), s.arithmetic("add", number(1), inner))


@_formula("leaky_relu")
def _(s: Any, a: Any, negative_slope: float = 0.01) -> Any:
    return s.select(s.compare("gt", a, s.number(0, a[1])), a, s.arithmetic("mul", a, s.number(negative_slope, a[1])))


@_formula("elu")
def _(s: Any, a: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    low = s.arithmetic("mul", s.number(alpha * scale, a[1]), s.one("math.expm1", s.arithmetic("mul", a, s.number(input_scale, a[1]))))
    return s.select(s.compare("gt", a, s.number(0, a[1])), s.arithmetic("mul", a, s.number(scale, a[1])), low)


@_formula("hardtanh")
def _(s: Any, a: Any, min_val: float = -1, max_val: float = 1) -> Any:
    return _clamped(s, a, min_val, max_val)


def _clamped(s: Any, a: Any, low: Any, high: Any) -> Any:
    for limit, comparison in ((low, "lt"), (high, "gt")):
        if limit is not None:
            number = s.number(limit, a[1])
            a = s.select(s.compare(comparison, a, number), number, a)
    return a


@rule("clamp")
def _clamp(em: Emitter, node: fx.Node, x: Value, min: Any = None, max: Any = None) -> Value:
    if isinstance(min, Value) or isinstance(max, Value):
        raise NotImplementedError("mlir: clamp with limits that are tensors")
    return _elementwise(em, node, [x], _dtype(node), lambda s, a: _clamped(s, a, min, max))


@rule("logical_not", "bitwise_not")
def _not(em: Emitter, node: fx.Node, x: Value) -> Value:
    if _name(node) == "bitwise_not" and x.dtype is not torch.bool:
        return _elementwise(em, node, [x], x.dtype, lambda s, a: s.two("arith.xori", a, s.number(-1, a[1])))
    return _elementwise(em, node, [x], x.dtype, lambda s, a: s.two("arith.xori", s.cast(a, torch.bool), s.number(True, torch.bool)))


@rule("isnan")
def _isnan(em: Emitter, node: fx.Node, x: Value) -> Value:
    return _elementwise(em, node, [x], x.dtype, lambda s, a: s.compare("ne", a, a))


@rule("clone", "_to_copy", "convert_element_type", "alias", "detach", "lift_fresh_copy", "contiguous", "_to_dim_order_copy", "copy")
def _copy(em: Emitter, node: fx.Node, x: Value, source: Any = None, **_: Any) -> Value:
    x = source if isinstance(source, Value) else x
    return em.cast(em.expand(x, _shape(node)), _dtype(node))


@rule("_assert_tensor_metadata")
def _holds(em: Emitter, node: fx.Node, x: Value, *_: Any, **__: Any) -> None:
    """Nothing: types say it."""


# ---- two and three operands --------------------------------------------------------------------------------------------------


def _arithmetic(operation: str, scaled: bool = False) -> Rule:
    def run(em: Emitter, node: fx.Node, a: Any, b: Any, alpha: Any = 1, **_: Any) -> Value:
        def body(s: Any, x: Any, y: Any) -> Any:
            return s.arithmetic(operation, x, s.arithmetic("mul", y, s.number(alpha, y[1])) if scaled and alpha != 1 else y)

        return _elementwise(em, node, [a, b], _dtype(node), body)

    return run


RULES.update({
    "add": _arithmetic("add", True), "sub": _arithmetic("sub", True), "mul": _arithmetic("mul"), "maximum": _arithmetic("max"), "minimum": _arithmetic("min"),
})  # fmt: skip


@rule("rsub")
def _rsub(em: Emitter, node: fx.Node, a: Any, b: Any, alpha: Any = 1) -> Value:
    return RULES["sub"](em, node, b, a, alpha)


@rule("div")
def _div(em: Emitter, node: fx.Node, a: Any, b: Any, rounding_mode: str | None = None) -> Value:
    if rounding_mode is None or _is_float(_dtype(node)):
        rounds = {None: lambda s, q: q, "floor": lambda s, q: s.one("math.floor", q), "trunc": lambda s, q: s.one("math.trunc", q)}[rounding_mode]
        return _elementwise(em, node, [a, b], _dtype(node), lambda s, x, y: rounds(s, s.arithmetic("div", x, y)))
    if rounding_mode == "trunc":
        return _elementwise(em, node, [a, b], _dtype(node), lambda s, x, y: s.arithmetic("div", x, y))
    return _elementwise(em, node, [a, b], _dtype(node), lambda s, x, y: s.two("arith.floordivsi", x, y))


@rule("floor_divide")
def _floor_divide(em: Emitter, node: fx.Node, a: Any, b: Any) -> Value:
    return _div(em, node, a, b, "floor")


@rule("remainder", "fmod")
def _remainder(em: Emitter, node: fx.Node, a: Any, b: Any) -> Value:
    def body(s: Any, x: Any, y: Any) -> Any:
        rest = s.arithmetic("rem", x, y)
        if _name(node) == "fmod":
            return rest
        zero = s.number(0, x[1])
        other = s.two("arith.xori", s.compare("lt", rest, zero), s.compare("lt", y, zero))
        return s.select(s.two("arith.andi", other, s.compare("ne", rest, zero)), s.arithmetic("add", rest, y), rest)

    return _elementwise(em, node, [a, b], _dtype(node), body)


@rule("pow")
def _pow(em: Emitter, node: fx.Node, a: Any, b: Any) -> Value:
    def body(s: Any, x: Any, y: Any) -> Any:
        if not isinstance(b, Value) and b in (1, 2, 3, 0.5, -0.5, -1):
            if b in (1, 2, 3):
                return [x, s.arithmetic("mul", x, x), s.arithmetic("mul", s.arithmetic("mul", x, x), x)][b - 1 if isinstance(b, int) else int(b) - 1]
            return s.arithmetic("div", s.number(1, x[1]), x) if b == -1 else s.one("math.sqrt" if b == 0.5 else "math.rsqrt", x)
        return s.two("math.powf" if _is_float(x[1]) else "math.ipowi", x, y)

    return _elementwise(em, node, [a, b], _dtype(node), body)


@rule("atan2")
def _atan2(em: Emitter, node: fx.Node, a: Any, b: Any) -> Value:
    return _elementwise(em, node, [a, b], _dtype(node), lambda s, x, y: s.two("math.atan2", x, y))


def _comparison(operation: str) -> Rule:
    return lambda em, node, a, b: _elementwise(em, node, [a, b], _joint_dtype([a, b]), lambda s, x, y: s.compare(operation, x, y))


RULES.update({name: _comparison(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")})


def _bitwise(operation: str, logical: bool) -> Rule:
    def run(em: Emitter, node: fx.Node, a: Any, b: Any) -> Value:
        if logical:
            return _elementwise(em, node, [a, b], _joint_dtype([a, b]), lambda s, x, y: s.two(operation, s.cast(x, torch.bool), s.cast(y, torch.bool)))
        return _elementwise(em, node, [a, b], _dtype(node), lambda s, x, y: s.two(operation, x, y))

    return run


for _operation in ("and", "or", "xor"):
    RULES[f"logical_{_operation}"] = _bitwise(f"arith.{_operation}i", True)
    RULES[f"bitwise_{_operation}"] = _bitwise(f"arith.{_operation}i", False)


@rule("where")
def _where(em: Emitter, node: fx.Node, mask: Value, a: Any, b: Any) -> Value:
    return _select(em, node, mask, a, b)


def _select(em: Emitter, node: fx.Node, mask: Value, a: Any, b: Any) -> Value:
    dtype, operands = _dtype(node), [a, b]

    def body(s: Any, elements: list[Any]) -> Any:
        left = iter(elements[1:])
        chosen = [s.cast(next(left), dtype) if isinstance(v, Value) else s.number(v, dtype) for v in operands]
        return s.select(elements[0], *chosen)

    return em.pointwise([mask, *(v for v in operands if isinstance(v, Value))], _shape(node), dtype, body)


@rule("masked_fill")
def _masked_fill(em: Emitter, node: fx.Node, x: Value, mask: Value, value: Any) -> Value:
    return _select(em, node, mask, value, x)


@rule("addcmul", "addcdiv")
def _addc(em: Emitter, node: fx.Node, x: Value, a: Value, b: Value, value: Any = 1) -> Value:
    operation = _name(node)[4:]
    return _elementwise(
        em, node, [x, a, b], _dtype(node),
        lambda s, x, a, b: s.arithmetic("add", x, s.arithmetic("mul", s.number(value, x[1]), s.arithmetic(operation, a, b))),
    )  # fmt: skip


# ---- reductions --------------------------------------------------------------------------------------------------------------


def _dims(dim: Any) -> list[int]:
    return [] if dim is None else [dim] if isinstance(dim, int) else list(dim)


def _limit(dtype: Any, lowest: bool) -> Any:
    if _is_float(dtype):
        return -math.inf if lowest else math.inf
    if dtype is torch.bool:
        return not lowest
    info = torch.iinfo(dtype)
    return info.min if lowest else info.max


def _added(s: Any, x: Any, total: Any) -> Any:
    return s.arithmetic("add", total, x)


def _sum(em: Emitter, x: Value, dims: list[int], keep: bool, dtype: Any) -> Value:
    return em.cast(em.reduce(x, dims, _WIDER.get(dtype, dtype), 0, _added, keep), dtype)


@rule("sum")
def _sum_rule(em: Emitter, node: fx.Node, x: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Value:
    return _sum(em, x, _dims(dim), keepdim, _dtype(node))


def _each(em: Emitter, values: list[Value], body: Callable[..., Any], dtype: Any = None) -> Value:
    """A pointwise expression of values of a dtype, whose shapes broadcast to that of the first."""
    return em.pointwise(values, values[0].shape, dtype or values[0].dtype, lambda s, e: body(s, *e))


def _scaled(em: Emitter, x: Value, factor: float) -> Value:
    return _each(em, [x], lambda s, a: s.arithmetic("mul", a, s.number(factor, a[1])))


def _mean(em: Emitter, x: Value, dims: list[int], keep: bool) -> Value:
    count = math.prod(x.shape[d] for d in dims) if dims else math.prod(x.shape)
    return _each(em, [_sum(em, x, dims, keep, x.dtype)], lambda s, a: s.arithmetic("div", a, s.number(count, a[1])))


@rule("mean")
def _mean_rule(em: Emitter, node: fx.Node, x: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Value:
    dtype = _dtype(node)
    return em.cast(_mean(em, em.cast(x, _WIDER.get(dtype, dtype)), _dims(dim), keepdim), dtype)


def _centred(em: Emitter, x: Value, dims: list[int]) -> tuple[Value, Value, Value]:
    """Mean, the distance to it, and the mean of its square."""
    mean = _mean(em, x, dims, True)
    centred = _each(em, [x, mean], lambda s, a, b: s.arithmetic("sub", a, b))
    return mean, centred, _mean(em, _each(em, [centred], lambda s, a: s.arithmetic("mul", a, a)), dims, True)


@rule("var")
def _var(em: Emitter, node: fx.Node, x: Value, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Value:
    dims = [d % len(x.shape) for d in _dims(dim)] or list(range(len(x.shape)))
    count, correction = math.prod(x.shape[d] for d in dims), 1 if correction is None else int(correction)
    spread = _centred(em, x, dims)[2]
    return em.reshape(_scaled(em, spread, count / (count - correction)) if correction else spread, _shape(node))


def _extreme(em: Emitter, x: Value, dims: list[int], keep: bool, largest: bool) -> Value:
    step = "max" if largest else "min"
    return em.reduce(x, dims, x.dtype, _limit(x.dtype, largest), lambda s, a, best: s.arithmetic(step, best, a), keep)


@rule("amax", "amin")
def _amax(em: Emitter, node: fx.Node, x: Value, dim: Any = (), keepdim: bool = False) -> Value:
    return _extreme(em, x, _dims(dim), keepdim, _name(node) == "amax")


@rule("prod")
def _prod(em: Emitter, node: fx.Node, x: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Value:
    return em.reduce(x, _dims(dim), _dtype(node), 1, lambda s, a, total: s.arithmetic("mul", total, a), keepdim)


@rule("any", "all")
def _any(em: Emitter, node: fx.Node, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    is_any = _name(node) == "any"
    return em.reduce(x, _dims(dim), torch.bool, not is_any, lambda s, a, found: s.two("arith.ori" if is_any else "arith.andi", found, a), keepdim)


def _extreme_places(em: Emitter, x: Value, dim: int | None, keep: bool, largest: bool) -> list[Value]:
    """The extreme values along a dimension, and where the first of each is."""
    flat = dim is None
    shape, x = x.shape, em.reshape(x, (math.prod(x.shape),)) if flat else x
    n = len(x.shape)
    axis = 0 if flat or not n else dim % n
    if not n:
        return [x, em.full((), 0, torch.int64)]
    kept = [d for d in range(n) if d != axis]
    best = em.full(tuple(x.shape[d] for d in kept), _limit(x.dtype, largest), x.dtype)
    place = em.full(best.shape, -1, torch.int64)
    into = f"affine_map<({', '.join(f'd{i}' for i in range(n))}) -> ({', '.join(f'd{d}' for d in kept)})>"
    whole = f"affine_map<({', '.join(f'd{i}' for i in range(n))}) -> ({', '.join(f'd{d}' for d in range(n))})>"

    def body(s: Any, e: list[Any]) -> list[Any]:
        here = s.op(f"arith.index_cast {s.index(axis)} : index to i64", torch.int64)
        better = s.two("arith.ori", s.compare("gt" if largest else "lt", e[0], e[1]), s.compare("lt", e[2], s.number(0, torch.int64)))
        if _is_float(x.dtype):  # the first NaN wins
            fresh = s.two("arith.andi", s.compare("ne", e[0], e[0]), s.compare("eq", e[1], e[1]))
            better = s.two("arith.ori", better, fresh)
        return [s.select(better, e[0], e[1]), s.select(better, here, e[2])]

    kinds = ["reduction" if d == axis else "parallel" for d in range(n)]
    found = em.generic([(x, whole)], [(best, into), (place, into)], kinds, body)
    final = tuple(1 for _ in shape) if flat and keep else tuple(1 if d == axis else s for d, s in enumerate(x.shape)) if keep else found[0].shape
    return [em.reshape(v, final) for v in found]


@rule("argmax", "argmin")
def _argmax(em: Emitter, node: fx.Node, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    return _extreme_places(em, x, dim, keepdim, _name(node) == "argmax")[1]


@rule("max", "min")
def _max(em: Emitter, node: fx.Node, x: Value, dim: Any = None, keepdim: bool = False) -> Any:
    largest = _name(node) == "max"
    return _extreme(em, x, [], False, largest) if dim is None else _extreme_places(em, x, dim, keepdim, largest)


@rule("cumsum")
def _cumsum(em: Emitter, node: fx.Node, x: Value, dim: int, **_: Any) -> Value:
    n, dtype = len(x.shape), _dtype(node)
    if not n:
        return em.cast(x, dtype)
    axis = dim % n
    out = em.full(x.shape, 0, dtype)
    dims = ", ".join(f"d{i}" for i in range(n + 1))
    source = f"affine_map<({dims}) -> ({', '.join(f'd{n}' if d == axis else f'd{d}' for d in range(n))})>"
    into = f"affine_map<({dims}) -> ({', '.join(f'd{d}' for d in range(n))})>"

    def body(s: Any, e: list[Any]) -> Any:
        before = s.op(f"arith.cmpi ule, {s.index(n)}, {s.index(axis)} : index", torch.bool)
        return s.select(before, s.arithmetic("add", e[1], s.cast(e[0], dtype)), e[1])

    return em.generic([(x, source)], [(out, into)], ["parallel"] * n + ["reduction"], body)[0]


@rule("_softmax", "_log_softmax", "softmax", "log_softmax")
def _softmax(em: Emitter, node: fx.Node, x: Value, dim: int, *_: Any) -> Value:
    dtype = _dtype(node)
    x = em.cast(x, _WIDER.get(dtype, dtype))
    if not x.shape:
        return em.full((), 0 if "log" in _name(node) else 1, dtype)
    shifted = _each(em, [x, _extreme(em, x, [dim], True, True)], lambda s, a, b: s.arithmetic("sub", a, b))
    powers = _each(em, [shifted], lambda s, a: s.one("math.exp", a))
    total = _sum(em, powers, [dim], True, x.dtype)
    if "log" in _name(node):
        return em.cast(_each(em, [shifted, total], lambda s, a, b: s.arithmetic("sub", a, s.one("math.log", b))), dtype)
    return em.cast(_each(em, [powers, total], lambda s, a, b: s.arithmetic("div", a, b)), dtype)


# ---- norms -------------------------------------------------------------------------------------------------------------------


def _normal(em: Emitter, centred: Value, spread: Value, eps: float) -> tuple[Value, Value]:
    scale = _each(em, [spread], lambda s, a: s.one("math.rsqrt", s.arithmetic("add", a, s.number(eps, a[1]))))
    return _each(em, [centred, scale], lambda s, a, b: s.arithmetic("mul", a, b)), scale


def _affine(em: Emitter, x: Value, weight: Value | None, bias: Value | None) -> Value:
    for operation, v in (("mul", weight), ("add", bias)):
        if v is not None:
            x = _each(em, [x, em.cast(v, x.dtype)], lambda s, a, b, operation=operation: s.arithmetic(operation, a, b))
    return x


@rule("native_layer_norm")
def _layer_norm(em: Emitter, node: fx.Node, x: Value, sizes: list[int], weight: Any, bias: Any, eps: float) -> list[Value]:
    dtype, dims = x.dtype, list(range(len(x.shape) - len(sizes), len(x.shape)))
    mean, centred, spread = _centred(em, em.cast(x, _WIDER.get(dtype, dtype)), dims)
    found, scale = _normal(em, centred, spread, eps)
    return [em.cast(_affine(em, found, weight, bias), dtype), mean, scale]


@rule("native_group_norm")
def _group_norm(em: Emitter, node: fx.Node, x: Value, weight: Any, bias: Any, n: int, c: int, hw: int, groups: int, eps: float) -> list[Value]:
    grouped = em.reshape(x, (n, groups, c // groups * hw))
    mean, centred, spread = _centred(em, grouped, [2])
    found, scale = _normal(em, centred, spread, eps)
    found = em.reshape(found, x.shape)
    column = (c, *[1] * (len(x.shape) - 2))
    parts = [None if v is None else em.reshape(v, column) for v in (weight, bias)]
    return [_affine(em, found, *parts), em.reshape(mean, (n, groups)), em.reshape(scale, (n, groups))]


@rule("_native_batch_norm_legit_no_training")
def _batch_norm(em: Emitter, node: fx.Node, x: Value, weight: Any, bias: Any, mean: Value, spread: Value, momentum: float, eps: float) -> list[Value]:
    column = (x.shape[1], *[1] * (len(x.shape) - 2))
    weight, bias, mean, spread = (None if v is None else em.reshape(v, column) for v in (weight, bias, mean, spread))
    centred = _each(em, [x, mean], lambda s, a, b: s.arithmetic("sub", a, b))
    found, _ = _normal(em, centred, spread, eps)
    none = em.full((0,), 0, x.dtype)
    return [_affine(em, found, weight, bias), none, none]


# ---- products, convolutions, windows -----------------------------------------------------------------------------------------


@rule("mm", "bmm")
def _mm(em: Emitter, node: fx.Node, a: Value, b: Value) -> Value:
    wide = _WIDER.get(a.dtype, a.dtype)
    return em.cast(em.matmul(em.cast(a, wide), em.cast(b, wide)), _dtype(node))


@rule("mv", "dot")
def _mv(em: Emitter, node: fx.Node, a: Value, b: Value) -> Value:
    a = em.reshape(a, (1, *a.shape)) if len(a.shape) == 1 else a
    return em.reshape(em.matmul(a, em.reshape(b, (*b.shape, 1))), _shape(node))


@rule("addmm", "baddbmm")
def _addmm(em: Emitter, node: fx.Node, bias: Value, a: Value, b: Value, beta: Any = 1, alpha: Any = 1) -> Value:
    product = _mm(em, node, a, b)
    product, bias = (product if alpha == 1 else _scaled(em, product, alpha)), (bias if beta == 1 else _scaled(em, bias, beta))
    return _each(em, [product, bias], lambda s, x, y: s.arithmetic("add", x, y))


@rule("convolution")
def _convolution(em: Emitter, node: fx.Node, x: Value, w: Value, bias: Any, stride: list[int], padding: list[int], dilation: list[int], transposed: bool,
                 output_padding: list[int], groups: int) -> Value:  # fmt: skip
    n = len(w.shape) - 2
    stride, padding, dilation = ([v[0]] * n if len(v) == 1 else list(v) for v in (stride, padding, dilation))
    if transposed:
        raise NotImplementedError("mlir: there is no rule for transposed convolutions")
    found = em.convolution(x, w, stride, padding, dilation, groups)
    return found if bias is None else _affine(em, found, None, em.reshape(bias, (bias.shape[0], *[1] * n)))


def _window(values: Any, n: int, default: Any = None) -> list[int]:
    values = [values] if isinstance(values, int) else list(values or default)
    return values * n if len(values) == 1 else values


@rule("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(em: Emitter, node: fx.Node, x: Value, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False) -> list[Any]:
    if any(user.target is operator.getitem and user.args[1] == 1 and user.users for user in node.users):
        raise NotImplementedError("mlir: there is no rule for the places of maxima of windows")
    n = 2 if "2d" in _name(node) else 3
    kernel = _window(kernel, n)
    shape = tuple(node.meta["val"][0].shape)
    return [em.pool(x, shape, kernel, _window(stride, n, kernel), _window(padding, n), _window(dilation, n), _limit(x.dtype, True), "max"), None]


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(em: Emitter, node: fx.Node, x: Value, kernel: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
              divisor_override: Any = None) -> Value:  # fmt: skip
    n = int(_name(node)[8])
    kernel = _window(kernel, n)
    stride, padding, shape = _window(stride, n, kernel), _window(padding, n), _shape(node)
    total = em.pool(x, shape, kernel, stride, padding, [1] * n, 0, "add")
    if divisor_override or (not ceil_mode and (count_include_pad or not any(padding))):
        return _each(em, [total], lambda s, a: s.arithmetic("div", a, s.number(divisor_override or math.prod(kernel), a[1])))
    lead = len(x.shape) - n
    counted = em.full(x.shape[lead:], 1, x.dtype)
    if count_include_pad:
        counted = em.pad(counted, padding, padding, 1)
        padding = [0] * n
    counts = em.pool(counted, shape[lead:], kernel, stride, padding, [1] * n, 0, "add")
    return _each(em, [total, counts], lambda s, a, b: s.arithmetic("div", a, b))


@rule("_adaptive_avg_pool2d", "adaptive_avg_pool1d")
def _adaptive(em: Emitter, node: fx.Node, x: Value, sizes: list[int]) -> Value:
    n, lead = len(sizes), len(x.shape) - len(sizes)
    if any(x.shape[lead + i] % size for i, size in enumerate(sizes)):
        raise NotImplementedError(f"mlir: adaptive pooling of {x.shape[lead:]} to {sizes}, which does not divide it")
    kernel = [x.shape[lead + i] // size for i, size in enumerate(sizes)]
    total = em.pool(x, (*x.shape[:lead], *sizes), kernel, kernel, [0] * n, [1] * n, 0, "add")
    return _each(em, [total], lambda s, a: s.arithmetic("div", a, s.number(math.prod(kernel), a[1])))


# ---- shapes ------------------------------------------------------------------------------------------------------------------


@rule("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "view_copy", "flatten", "unflatten")
def _view(em: Emitter, node: fx.Node, x: Value, *_: Any, **__: Any) -> Value:
    return em.reshape(x, _shape(node))


@rule("permute", "t", "transpose")
def _permute(em: Emitter, node: fx.Node, x: Value, *dims: Any) -> Value:
    n = len(x.shape)
    if _name(node) == "permute":
        return em.permute(x, list(dims[0]))
    first, second = (dims[0] % n, dims[1] % n) if dims else (0, 1)
    order = list(range(n))
    if n > 1:
        order[first], order[second] = second, first
    return em.permute(x, order)


@rule("expand")
def _expand(em: Emitter, node: fx.Node, x: Value, *_: Any, **__: Any) -> Value:
    return em.expand(x, _shape(node))


@rule("repeat")
def _repeat(em: Emitter, node: fx.Node, x: Value, repeats: list[int]) -> Value:
    x = em.reshape(x, (1,) * (len(repeats) - len(x.shape)) + x.shape)
    inner = em.expand(
        em.reshape(x, tuple(n for size in x.shape for n in (1, size))), tuple(n for r, size in zip(repeats, x.shape, strict=True) for n in (r, size))
    )
    return em.reshape(inner, _shape(node))


@rule("slice")
def _slice(em: Emitter, node: fx.Node, x: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Value:
    n, dim = len(x.shape), dim % len(x.shape)
    first = slice(start, end, step).indices(x.shape[dim])[0]
    starts, sizes, steps = [0] * n, list(_shape(node)), [1] * n
    starts[dim], steps[dim] = min(first, x.shape[dim]), step
    return x if tuple(sizes) == x.shape else em.slice(x, starts, sizes, steps)


@rule("select")
def _select_rule(em: Emitter, node: fx.Node, x: Value, dim: int, index: int) -> Value:
    n, dim = len(x.shape), dim % len(x.shape)
    starts, sizes = [0] * n, list(x.shape)
    starts[dim], sizes[dim] = index % x.shape[dim], 1
    return em.slice(x, starts, sizes, [1] * n, _shape(node))


@rule("split_with_sizes", "split", "unbind", "chunk")
def _split(em: Emitter, node: fx.Node, x: Value, parts: Any = 0, dim: int = 0) -> list[Value]:
    if _name(node) == "unbind":
        dim = parts
    n, dim, at, found = len(x.shape), dim % len(x.shape), 0, []
    for part in node.meta["val"]:
        sizes, starts = list(x.shape), [0] * n
        sizes[dim], starts[dim] = 1 if _name(node) == "unbind" else part.shape[dim], at
        at += sizes[dim]
        found.append(em.slice(x, starts, sizes, [1] * n, tuple(part.shape)))
    return found


@rule("getitem")
def _getitem(em: Emitter, node: fx.Node, values: list[Value], index: int) -> Value:
    return values[index]


@rule("cat")
def _cat(em: Emitter, node: fx.Node, tensors: list[Value], dim: int = 0) -> Value:
    shape, dtype = _shape(node), _dtype(node)
    out, dim, at = em.empty(shape, dtype), dim % len(shape), 0
    for v in tensors:
        if len(v.shape) != len(shape):
            continue  # an empty vector counts for nothing
        starts = [0] * len(shape)
        starts[dim] = at
        out, at = em.insert(em.cast(v, dtype), out, starts), at + v.shape[dim]
    return out


@rule("stack")
def _stack(em: Emitter, node: fx.Node, tensors: list[Value], dim: int = 0) -> Value:
    dim %= len(_shape(node))
    return _cat(em, node, [em.reshape(v, (*v.shape[:dim], 1, *v.shape[dim:])) for v in tensors], dim)


@rule("constant_pad_nd")
def _pad(em: Emitter, node: fx.Node, x: Value, amounts: list[int], value: Any = 0) -> Value:
    n = len(x.shape)
    before, after = [0] * n, [0] * n
    for i in range(len(amounts) // 2):
        before[n - 1 - i], after[n - 1 - i] = amounts[2 * i], amounts[2 * i + 1]
    return em.pad(x, before, after, value)


@rule("flip")
def _flip(em: Emitter, node: fx.Node, x: Value, dims: list[int]) -> Value:
    flipped = {d % len(x.shape) for d in dims}

    def place(s: Any, _: list[Any]) -> list[str]:
        return [s.op(f"arith.subi {s.fixed_index(size - 1)}, {s.index(d)} : index", None)[0] if d in flipped else s.index(d) for d, size in enumerate(x.shape)]

    return em.gather(x, [], x.shape, place)


# ---- lookups -----------------------------------------------------------------------------------------------------------------


def _as_index(s: Any, element: Any, size: int) -> str:
    """A number as an index of a dimension; negative ones count from the end."""
    wide = s.cast(element, torch.int64)
    wrapped = s.select(s.compare("lt", wide, s.number(0, torch.int64)), s.arithmetic("add", wide, s.number(size, torch.int64)), wide)
    return s.op(f"arith.index_cast {wrapped[0]} : i64 to index", None)[0]


@rule("embedding")
def _embedding(em: Emitter, node: fx.Node, weight: Value, indices: Value, *_: Any, **__: Any) -> Value:
    column = em.reshape(indices, (*indices.shape, 1))
    return em.gather(weight, [column], _shape(node), lambda s, e: [_as_index(s, e[0], weight.shape[0]), s.index(len(indices.shape))])


@rule("index_select")
def _index_select(em: Emitter, node: fx.Node, x: Value, dim: int, index: Value) -> Value:
    n = len(x.shape)
    dim %= n
    shaped = em.reshape(index, tuple(-1 if False else (index.shape[0] if d == dim else 1) for d in range(n)))
    return em.gather(x, [shaped], _shape(node), lambda s, e: [_as_index(s, e[0], x.shape[d]) if d == dim else s.index(d) for d in range(n)])


@rule("gather")
def _gather(em: Emitter, node: fx.Node, x: Value, dim: int, index: Value, **_: Any) -> Value:
    n = len(x.shape)
    dim %= max(n, 1)
    return em.gather(x, [index], _shape(node), lambda s, e: [_as_index(s, e[0], x.shape[d]) if d == dim else s.index(d) for d in range(n)])


@rule("index")
def _index(em: Emitter, node: fx.Node, x: Value, indices: list[Any]) -> Value:
    indices = [*indices, *[None] * (len(x.shape) - len(indices))]
    which = [d for d, v in enumerate(indices) if v is not None]
    if any(indices[d].dtype is torch.bool for d in which):
        raise NotImplementedError("mlir: there is no rule for indexing by a mask, whose result has no fixed size")
    shape, together = _shape(node), which == list(range(which[0], which[-1] + 1))
    width = max(len(indices[d].shape) for d in which)
    first = which[0] if together else 0
    behind = len(shape) - first - width
    given = [em.reshape(indices[d], indices[d].shape + (1,) * behind) for d in which]

    def place(s: Any, elements: list[Any]) -> list[str]:
        found, other = {d: _as_index(s, e, x.shape[d]) for d, e in zip(which, elements, strict=True)}, 0
        for d in range(len(x.shape)):
            if d not in found:
                found[d] = s.index(other if other < first else other + width)
                other += 1
        return [found[d] for d in range(len(x.shape))]

    return em.gather(x, given, shape, place)


# ---- tensors from nothing ----------------------------------------------------------------------------------------------------


@rule("full", "full_like", "new_full", "scalar_tensor")
def _full(em: Emitter, node: fx.Node, *args: Any, **_: Any) -> Value:
    return em.full(_shape(node), args[-1], _dtype(node))


@rule("zeros", "zeros_like", "new_zeros", "empty", "empty_like", "new_empty")
def _zeros(em: Emitter, node: fx.Node, *_: Any, **__: Any) -> Value:
    return em.full(_shape(node), 0, _dtype(node))


@rule("ones", "ones_like", "new_ones")
def _ones(em: Emitter, node: fx.Node, *_: Any, **__: Any) -> Value:
    return em.full(_shape(node), 1, _dtype(node))


@rule("arange", "iota")
def _arange(em: Emitter, node: fx.Node, *args: Any, **named: Any) -> Value:
    start, step = (args[0] if len(args) > 1 else 0), (args[2] if len(args) > 2 else 1)
    start, step = named.get("start", start), named.get("step", step)
    if _name(node) == "iota":
        start = named["start"]
    dtype = _dtype(node)

    def body(s: Any, _: list[Any]) -> Any:
        at = s.op(f"arith.index_cast {s.index(0)} : index to i64", torch.int64)
        return s.arithmetic("add", s.number(start, dtype), s.arithmetic("mul", s.cast(at, dtype), s.number(step, dtype)))

    return em.pointwise([], _shape(node), dtype, body)


# ---- control flow ------------------------------------------------------------------------------------------------------------


def _truth(em: Emitter, v: Value) -> str:
    v = em.cast(em.reshape(v, ()), torch.bool)
    name = em.fresh()
    em.lines.append(f"{name} = tensor.extract {v.name}[] : {v.type}")
    return name


def _wrapped(em: Emitter, results: list[Value], operation: str, lines: list[str]) -> list[Value]:
    """An operation with regions, and its results."""
    found = [Value(em.fresh(), v.shape, v.dtype) for v in results]
    em.lines.append(f"{', '.join(v.name for v in found)} = {operation}")
    em.lines += lines
    return found


def _types(values: list[Value]) -> str:
    return ", ".join(v.type for v in values)


def _names(values: list[Value]) -> str:
    return ", ".join(v.name for v in values)


@rule("cond")
def _cond(em: Emitter, node: fx.Node, predicate: Value, true: fx.GraphModule, false: fx.GraphModule, operands: Any = ()) -> list[Value]:
    condition = _truth(em, predicate)
    yes, results = region(true, em, list(operands))
    no, others = region(false, em, list(operands))
    lines = [
        *yes, f"  scf.yield {_names(results)} : {_types(results)}", "} else {", *no, f"  scf.yield {_names(others)} : {_types(others)}", "}",
    ]  # fmt: skip
    return _wrapped(em, results, f"scf.if {condition} -> ({_types(results)}) {{", lines)


@rule("while_loop")
def _while(em: Emitter, node: fx.Node, test: fx.GraphModule, body: fx.GraphModule, carried: Any, more: Any = ()) -> list[Value]:
    carried, more = list(carried), list(more)
    before, after = ([Value(em.fresh(), v.shape, v.dtype) for v in carried] for _ in range(2))
    outside, em.lines = em.lines, []
    lines, (condition,) = region(test, em, [*before, *more])
    flag = _truth(em, condition)
    lines += ["  " + line for line in em.lines]
    em.lines = outside
    steps, results = region(body, em, [*after, *more])
    starts = ", ".join(f"{a.name} = {c.name}" for a, c in zip(before, carried, strict=True))
    text = [
        *lines, f"  scf.condition({flag}) {_names(before)} : {_types(before)}", "} do {", f"^bb0({', '.join(f'{v.name}: {v.type}' for v in after)}):",
        *steps, f"  scf.yield {_names(results)} : {_types(results)}", "}",
    ]  # fmt: skip
    return _wrapped(em, results, f"scf.while ({starts}) : ({_types(carried)}) -> ({_types(carried)}) {{", text)
