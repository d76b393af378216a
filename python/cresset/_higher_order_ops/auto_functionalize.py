"""Custom operators that write their arguments, as operators that return what they would have written: functional graphs hold these.

>>> from cresset._higher_order_ops.auto_functionalize import auto_functionalized_v2
>>> with torch.library._scoped_library("docs_written", "DEF") as lib:
...     lib.define("double(Tensor(a!) x) -> ()")
...     lib.impl("double", lambda x: x.mul_(2) and None, "CompositeExplicitAutograd")
...     auto_functionalized_v2(torch.ops.docs_written.double.default, _x_base_index=0, _all_bases=[torch.ones(1)])
(None, tensor([2.]))
"""

import cresset as torch

from . import _capture
from ._operator import HigherOrderOperator

__all__ = ["auto_functionalized_v2"]


class _AutoFunctionalized(HigherOrderOperator):
    """The results of an operator, and then each of `_all_bases` as it leaves it; they themselves stay as they are.

    The first argument is the overload of a custom operator. Arguments that it only reads are given by name. For one `x` that it writes `_x_base_index` is
    its place in `_all_bases`, None where it is None; `_x_size`, `_x_stride` and `_x_storage_offset`, or `_x_slice_dim`, `_x_slice_start` and `_x_slice_end`,
    say which part it is. For a list of them `_x_length` says how many there are, which have numbers: `_x_0_base_index`.
    """

    def run(self, op, /, **arguments):
        """The results, by the operator on copies."""
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
        return (*results, *bases) if len(op._schema.returns) > 1 else (results, *bases)

    def trace(self, mode, op, /, **arguments):
        """The results, and the node of the call."""
        given = mode.tracer.create_arg(arguments)
        results = _capture.unheard(lambda: self.run(op, **arguments))
        node = mode.tracer.create_node("call_function", self, (op,), given, self.name())
        mode.tracer.record_outputs(node, results)
        return results


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
