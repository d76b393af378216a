"""Operators of programs under `functionalize`: what they write to becomes a new value."""

import re

import _cresset

import cresset as torch

from .._higher_order_ops.auto_functionalize import auto_functionalized_v2
from ..utils._pytree import tree_map


def called(op, values, tensors):
    """The call on the values of the wrappers; wrappers that it writes to get what was written.

    Errors: NotImplementedError for two written arguments that share memory.
    """
    inside = [tree_map(_value, value) for value in values]
    if not op._is_mutable:
        return tree_map(_wrapped, _cresset.with_functional(False, lambda: op._through(inside, _leaves(inside))))
    written, given = _arguments(op, values, inside)
    results = _cresset.with_functional(False, lambda: _computed(op, given, _leaves(inside)))
    own, left = results[: len(results) - len(written)], results[len(results) - len(written) :]
    for wrapper, new in zip(written, left, strict=True):
        _cresset.set_functional(wrapper, new)
    by_alias = {_alias(part): v for part, v in zip(_parts(op), [v for v, a in zip(values, op._form.arguments, strict=True) if a.mutated], strict=True)}
    found = [by_alias[_alias(text)] if "!" in text else tree_map(_wrapped, value) for text, value in zip(op._form.returns, own)]
    return None if not found else found[0] if len(found) == 1 else tuple(found)


def _arguments(op, values, inside):
    """The wrappers that are written, and the arguments of the form that writes nothing."""
    written, given = [], {}

    def noted(wrapper):
        place = next((i for i, one in enumerate(written) if one is wrapper), None)
        if place is None:
            written.append(wrapper)
        return len(written) - 1 if place is None else place

    for argument, value, shown in zip(op._form.arguments, inside, values, strict=True):
        name = argument.name
        if not argument.mutated:
            given[name] = value
        elif isinstance(value, (list, tuple)):
            given[f"_{name}_length"] = len(value)
            given.update({f"_{name}_{i}_base_index": None if one is None else noted(one) for i, one in enumerate(shown)})
        else:
            given[f"_{name}_base_index"] = None if value is None else noted(shown)
    given["_all_bases"] = [_value(wrapper) for wrapper in written]
    memory = [t.untyped_storage()._cdata for t in given["_all_bases"] if t.layout is torch.strided and not t._is_batched]
    if len(set(memory)) != len(memory):
        raise NotImplementedError(f"functionalize: {op} writes two arguments that share memory, whose values after it are not known apart; clone one of them")
    return written, given


def _computed(op, given, tensors):
    """The results of the operator, and the tensors that it writes as it leaves them."""
    results = auto_functionalized_v2(op, **given)
    wanting = [t for t in tensors if t.requires_grad] if torch.is_grad_enabled() else []
    if not wanting:
        return results
    bases = given["_all_bases"]
    own, left = results[: len(results) - len(bases)], results[len(results) - len(bases) :]
    own = [_Refusing.apply(op, r, *wanting) if isinstance(r, torch.Tensor) and (r.is_floating_point() or r.is_complex()) else r for r in own]
    return (*own, *[_Passing.apply(old, new) if old.requires_grad else new for old, new in zip(bases, left, strict=True)])


class _Passing(torch.autograd.Function):
    """The new value of a tensor that was written. Its gradient is that of the old one: what operators write, gradients pass by."""

    @staticmethod
    def forward(ctx, old, new):
        return new

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class _Refusing(torch.autograd.Function):
    """A result of an operator that writes: it has no formula."""

    @staticmethod
    def forward(ctx, op, result, *tensors):
        ctx.op = op
        return result

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError(f"{ctx.op}: it writes arguments, and where graphs hold no writes there is no formula for the gradients of its results")


def _alias(text):
    return text.partition("(")[2].partition(")")[0]


def _parts(op):
    """The texts of the arguments that are written."""
    return re.findall(r"Tensor\([^)]*!\)", op._form.text.rpartition(" -> ")[0])


def _value(value):
    return _cresset.from_functional(value) if isinstance(value, torch.Tensor) else value


def _wrapped(value):
    return value if not isinstance(value, torch.Tensor) or _cresset.is_functional(value) else _cresset.to_functional(value)


def _leaves(values):
    from .operators import tensors_of

    return tensors_of(values)
