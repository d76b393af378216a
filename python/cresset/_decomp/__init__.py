"""Tables of decompositions: for an operator, a function over simpler ones that computes the same.

A composite or fused row of the table of operators is decomposed by its body in C++; other operators by the formulas of `decompositions.py`. `make_fx`,
`aot_function` and exported programs take such tables.

>>> from cresset._decomp import get_decompositions
>>> table = get_decompositions([torch.ops.aten.silu])
>>> table[torch.ops.aten.silu.default](torch.zeros(2))
tensor([0., 0.])
"""

import functools

from ._tables import CoreTable, by_overload, overloads_of

__all__ = ["core_aten_decompositions", "decomposition_table", "get_decompositions", "global_decomposition_table", "meta_table",
           "pre_autograd_decomposition_table", "register_decomposition", "remove_decompositions"]  # fmt: skip

_KINDS = ("post_autograd", "pre_autograd", "meta")


@functools.cache
def _tables():
    return {"post_autograd": by_overload(), "pre_autograd": {}, "meta": {}}


def __getattr__(name):
    if name == "global_decomposition_table":
        return _tables()
    found = {"decomposition_table": "post_autograd", "pre_autograd_decomposition_table": "pre_autograd", "meta_table": "meta"}.get(name)
    if found is not None:
        return _tables()[found]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def _table_of(kind):
    if kind not in _KINDS:
        raise AssertionError(f"decompositions: expected type to be one of {', '.join(_KINDS)}, got {kind!r}")
    return _tables()[kind]


def register_decomposition(aten_op, registry=None, *, type="post_autograd", unsafe=False):
    """A decorator: the function decomposes an operator, in the global table of `type` or in `registry`.

    Args:
        aten_op: an overload of `torch.ops`, an operator with all its overloads, or a list or tuple of these.
        registry: a dict from overloads to functions.
        unsafe: without effect; PyTorch's checks of the function's arguments are not made.

    Errors: RuntimeError for an operator that the table has already, AssertionError for another type.
    """
    table = _table_of(type) if registry is None else registry

    def register(function):
        for overload in overloads_of(aten_op):
            if overload in table and registry is not None:
                raise RuntimeError(f"register_decomposition: the table has {overload} already")
            table[overload] = function
        return function

    return register


def get_decompositions(aten_ops, type="post_autograd"):
    """Part of the global table: a dict from overloads to functions, for those of `aten_ops` that have one. All overloads of an operator are looked up."""
    table = _table_of(type)
    return {overload: table[overload] for op in aten_ops for overload in overloads_of(op) if overload in table}


def remove_decompositions(decompositions, aten_ops):
    """Takes operators, or overloads, out of a table."""
    for op in aten_ops:
        for overload in overloads_of(op):
            decompositions.pop(overload, None)


def core_aten_decompositions():
    """A table, to be changed at will, that decomposes what is not one of the core operators (those with `torch.Tag.core`)."""
    return CoreTable(_tables()["post_autograd"])
