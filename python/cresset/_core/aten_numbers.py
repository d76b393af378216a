"""Overloads of operators on numbers, texts and lists, as programs of graphs name them: Python computes them.

>>> torch.ops.aten.add(2, 3.5), torch.ops.aten.floordiv.int(7, 2)
(5.5, 3)
>>> torch.ops.aten.div.int._schema
aten::div.int(int a, int b) -> float
"""

import functools
import math
import operator

from .operators import Composed

_TYPES = {
    "int": int,
    "float": float,
    "complex": complex,
    "bool": bool,
    "str": str,
    "t": list,
    "Scalar": (int, float, complex),
    "default": (int, float, complex),
}
_MIXED = "int complex float int_complex complex_int float_complex complex_float int_float float_int default"
_REAL = "int float int_float float_int default"
_EQUAL = "bool int complex float int_float float_int float_complex complex_float default str"


def _row_on(name, *numbers):
    """The row on tensors of one number: infinite and undefined results are IEEE's."""
    import cresset as torch

    dtype = torch.complex128 if any(isinstance(a, complex) for a in numbers) else torch.float64
    return getattr(torch, name)(*(torch.tensor(a, dtype=dtype) for a in numbers)).item()


def _by_row(name):
    return lambda *numbers: _row_on(name, *numbers)


def _logarithm(a, b):
    return _row_on("div", _row_on("log", a), _row_on("log", b))


# Operator -> overloads of two numbers, what computes them, and the type of the result where it does not follow from theirs.
_PAIRS = {
    "add": (f"t str {_MIXED}", operator.add, None), "sub": (_MIXED, operator.sub, None), "mul": (_MIXED, operator.mul, None),
    "div": ("int complex float default", _by_row("div"), "float"), "remainder": (_REAL, operator.mod, None), "floordiv": (_REAL, operator.floordiv, None),
    "fmod": (_REAL, _by_row("fmod"), "float"), "eq": (_EQUAL, operator.eq, "bool"), "ne": (_EQUAL, operator.ne, "bool"),
    **{name: (f"{_REAL} str", getattr(operator, name), "bool") for name in ("lt", "le", "gt", "ge")},
    "pow": ("int complex float int_float float_int float_complex complex_float Scalar_Scalar", _by_row("pow"), "float"),
    "log": ("int_int float_float complex_complex int_float float_int int_complex complex_int float_complex complex_float Scalar_Scalar", _logarithm, "float"),
    "copysign": (_REAL, _by_row("copysign"), "float"), "atan2": ("int float int_float float_int Scalar_Scalar", _by_row("atan2"), "float"),
    "gcd": ("int", math.gcd, "int"), "__and__": ("bool int", operator.and_, None), "__or__": ("bool int", operator.or_, None),
    "__xor__": ("bool int", operator.xor, None), "__lshift__": ("int", operator.lshift, None), "__rshift__": ("int", operator.rshift, None),
}  # fmt: skip
_OF_COMPLEX = "sqrt exp log log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"
_OF_REAL = {name: name for name in ("log1p", "expm1", "erf", "erfc", "lgamma")} | {"fabs": "abs", "degrees": "rad2deg", "radians": "deg2rad"}


def _rounded(function):
    return lambda a: a if isinstance(a, int) else function(a)


def _of_one():
    """Operator -> overloads of one number with the type of the result, and what computes them."""
    for name in _OF_COMPLEX.split():
        yield name, {"int": "float", "float": "float", "complex": "complex", "Scalar": "Scalar"}, _by_row(name)
    for name, row in _OF_REAL.items():
        yield name, {"int": "float", "float": "float", "Scalar": "Scalar"}, _by_row(row)
    yield "neg", {"int": "int", "float": "float", "complex": "complex", "Scalar": "Scalar"}, operator.neg
    yield "floor", {"int": "int", "float": "int", "Scalar": "Scalar"}, _rounded(math.floor)
    yield "ceil", {"int": "int", "float": "int", "Scalar": "Scalar"}, _rounded(math.ceil)
    yield "round", {"int": "float", "float": "float", "Scalar": "Scalar"}, _by_row("round")
    for name in ("isnan", "isinf", "isfinite"):
        yield name, {"float": "bool", "complex": "bool"}, _by_row(name)


def _suits(value, kind):
    if kind not in ("bool",) and isinstance(value, bool):
        return False
    return isinstance(value, _TYPES[kind]) or (kind == "float" and type(value) is int)


class OfNumbers(Composed):
    """An overload that takes no tensors."""

    takes_tensors = False

    def __init__(self, packet, overload, kinds, call, schema):
        super().__init__(packet, overload, call=self._checked, schema=schema)
        self._kinds, self._function = kinds, call

    def _checked(self, *args, **kwargs):
        args = (*args, *(kwargs.pop(name) for name in ("a", "b") if name in kwargs))
        if kwargs or len(args) != len(self._kinds) or not all(map(_suits, args, self._kinds)):
            raise RuntimeError(f"{self._name}: the arguments do not fit {self._text}, got {', '.join(type(a).__name__ for a in args)}")
        return self._function(*args)


OfNumbers.__name__ = OfNumbers.__qualname__ = "OpOverload"


def _kinds(overload, count):
    kinds = overload.split("_")
    return kinds if len(kinds) == count else kinds * count


def _type_name(kind):
    return {"default": "Scalar", "t": "t[]"}.get(kind, kind)


def _widest(kinds):
    return next(kind for kind in ("default", "complex", "float", "int", "bool", "str", "t") if kind in kinds)


def install(made):
    """Adds them to the namespace's table: name -> overload -> a function (packet, overload) that makes it."""
    for name, results, function in _of_one():
        for overload, result in results.items():
            _add(made, name, overload, [overload], function, result)
    for name, (overloads, function, result) in _PAIRS.items():
        for overload in overloads.split():
            kinds = _kinds(overload, 2)
            found = result or _type_name(_widest(kinds))
            _add(made, name, overload, kinds, function, "complex" if result == "float" and "complex" in kinds else found)
    _add(made, "pow", "int_to_int", ["int", "int"], operator.pow, "int")


def _add(made, name, overload, kinds, function, result):
    title = name if overload == "default" else f"{name}.{overload}"
    arguments = ", ".join(f"{_type_name(kind)} {letter}" for kind, letter in zip(kinds, "ab"))
    schema = f"{title}({arguments}) -> {result}"
    made.setdefault(name, {}).setdefault(overload, functools.partial(_made, kinds, function, schema))


def _made(kinds, function, schema, packet, overload):
    return OfNumbers(packet, overload, kinds, function, schema)
