"""Custom operators that write their arguments, as operators that return what they would have written: functional graphs hold these.

>>> from cresset._higher_order_ops.auto_functionalize import auto_functionalized_v2
>>> with torch.library._scoped_library("docs_written", "DEF") as lib:
...     lib.define("double(Tensor(a!) x) -> ()")
...     lib.impl("double", lambda x: x.mul_(2) and None, "CompositeExplicitAutograd")
...     auto_functionalized_v2(torch.ops.docs_written.double.default, _x_base_index=0, _all_bases=[torch.ones(1)])
(None, tensor([2.]))
"""

import _cresset
from _cresset import Tensor

import cresset as torch

from ..utils._pytree import tree_leaves, tree_map_only
from . import _capture
from ._operator import HigherOrderOperator

__all__ = ["auto_functionalized_v2", "functionalized"]


class _AutoFunctionalized(HigherOrderOperator):
    def __call__(self, op, /, **arguments):
        """What `op` returns, and then each of `_all_bases` as `op` leaves it; they themselves stay as they are.

        Args:
            op: the overload of a custom operator.
            arguments: those that it only reads, by name. For one `x` that it writes `_x_base_index` is its place in `_all_bases`, None where it is None;
                `_x_size`, `_x_stride` and `_x_storage_offset`, or `_x_slice_dim`, `_x_slice_start` and `_x_slice_end`, say which part it is.
                For a list of them `_x_length` says how many there are, which have numbers: `_x_0_base_index`.
        """
        mode = _capture.tracing_mode()
        if mode is None:
            return _run(op, arguments)
        given = mode.tracer.create_arg(arguments)
        results = _capture.unheard(_run, op, arguments)
        node = mode.tracer.create_node("call_function", self, (op,), given, self.name())
        mode.tracer.record_outputs(node, results)
        return results


def _run(op, arguments):
    bases = [None if base is None else base.clone() for base in arguments["_all_bases"]]
    plain, named = [], {}
    for argument in op._schema.arguments:
        name = argument.name
        if f"_{name}_length" in arguments:
            value = [_part(f"_{name}_{i}", arguments, bases) for i in range(arguments[f"_{name}_length"])]
        elif f"_{name}_base_index" in arguments:
            value = _part(f"_{name}", arguments, bases)
        elif name in arguments:
            value = arguments[name]
        else:
            continue  # it has a default
        if argument.kwarg_only:
            named[name] = value
        else:
            plain.append(value)
    with torch.no_grad():
        results = op(*plain, **named)
    return (*results, *bases) if isinstance(results, (tuple, list)) else (results, *bases)


def _part(prefix, arguments, bases):
    """The argument that a base, or a part of it, is."""
    index = arguments[f"{prefix}_base_index"]
    if index is None:
        return None
    base = bases[index]
    if f"{prefix}_size" in arguments:
        return base.as_strided(*(arguments[f"{prefix}_{what}"] for what in ("size", "stride", "storage_offset")))
    if f"{prefix}_slice_dim" in arguments:
        return torch.ops.aten.slice.Tensor(base, *(arguments[f"{prefix}_slice_{what}"] for what in ("dim", "start", "end")))
    return torch.ops.aten.alias.default(base) if arguments.get(f"{prefix}_alias") else base


auto_functionalized_v2 = _AutoFunctionalized("auto_functionalized_v2")


def functionalized(op, arguments, values):
    """The result of a custom operator on wrappers of functionalize: those that it writes get other values.

    Args:
        op: the overload.
        arguments: those of its schema, with `name`, `mutated` and `keyword`.
        values: a value for each.

    Errors: NotImplementedError for two written arguments that share memory.
    """
    wrappers = [t for t in tree_leaves(values) if isinstance(t, Tensor) and _cresset.is_functional(t)]
    given = tree_map_only(Tensor, _cresset.from_functional, list(values))
    if not any(a.mutated for a in arguments):
        plain = [v for v, a in zip(given, arguments, strict=True) if not a.keyword]
        named = {a.name: v for v, a in zip(given, arguments, strict=True) if a.keyword}
        return tree_map_only(Tensor, _cresset.to_functional, _below(wrappers[0], lambda: op(*plain, **named)))
    written, kwargs = [], {}
    for argument, value, shown in zip(arguments, given, values, strict=True):
        name = argument.name
        if not argument.mutated:
            kwargs[name] = value
        elif isinstance(value, (list, tuple)):
            kwargs[f"_{name}_length"] = len(value)
            for i, one in enumerate(shown):
                kwargs[f"_{name}_{i}_base_index"] = _noted(written, one)
        else:
            kwargs[f"_{name}_base_index"] = None if value is None else _noted(written, shown)
    kwargs["_all_bases"] = [_cresset.from_functional(w) for w in written]
    memory = {t.untyped_storage()._cdata for t in kwargs["_all_bases"]}
    if len(memory) != len(written):
        raise NotImplementedError(f"functionalize: {op} writes two arguments that share memory, whose values after it are not known apart; clone one of them")
    results = _below(wrappers[0], lambda: auto_functionalized_v2(op, **kwargs))
    count = len(results) - len(written)
    for wrapper, value in zip(written, results[count:], strict=True):
        _cresset.set_functional(wrapper, value)
    results = tree_map_only(Tensor, _cresset.to_functional, results[:count])
    return results if len(op._schema.returns) > 1 else results[0]


def _noted(written, wrapper):
    """The place of a wrapper among those that are written."""
    found = next((i for i, one in enumerate(written) if one is wrapper), None)
    if found is None:
        written.append(wrapper)
    return len(written) - 1 if found is None else found


def _below(wrapper, function):
    """What a function returns where functionalize does not see its calls."""
    results = []

    def run(value):
        results.append(function())
        return value

    _cresset.below_functional(run, wrapper)
    return results[0]
