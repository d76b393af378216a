"""Operators of programs under `functionalize`: what they write to becomes a new value.

An operator that writes has an overload beside it that does not: it takes the same arguments and returns, after the results, what was written. Graphs of
programs without changes in place hold that one.
"""

import re

import _cresset

import cresset as torch

from .._core.schema import parse
from ..utils._pytree import tree_map

NAME = "_functional"  # the overload, or the end of its name


def called(op, values, tensors):
    """The call on the values of the wrappers; wrappers that it writes to get what was written."""
    inside = [tree_map(_value, value) for value in values]
    target = op.functional if op._is_mutable else op
    out = _below(lambda: target._through(inside, _leaves(inside)), tensors[0])
    if target is op:
        return tree_map(_wrapped, out)
    out = list(out) if len(target._form.returns) > 1 else [out]
    written = [v for v, a in zip(values, op._form.arguments, strict=True) if a.mutated]
    for value, new in zip(written, out[len(out) - len(written) :], strict=True):
        for wrapper, tensor in zip(_leaves([value]), _leaves([new]), strict=True):
            wrapper.copy_(_wrapped(_below(lambda old=wrapper, new=tensor: _Passing.apply(_value(old), new) if _value(old).requires_grad else new, wrapper)))
    by_alias = {_alias(part): v for part, v in zip(_parts(op), written, strict=True)}
    own = iter(out)
    results = [by_alias[_alias(text)] if "!" in text else tree_map(_wrapped, next(own)) for text in op._form.returns]
    return None if not results else results[0] if len(results) == 1 else tuple(results)


class _Passing(torch.autograd.Function):
    """The new value of a tensor that was written. Its gradient is that of the old one: what operators write, gradients pass by."""

    @staticmethod
    def forward(ctx, old, new):
        return new

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def made(op):
    """The overload of an operator that writes nothing: it works on copies."""
    from .operators import Defined, tensors_of

    form = op._form
    inside = form.text.partition("(")[2].rpartition(") -> ")[0]
    written = [a.type for a in form.arguments if a.mutated]
    results = [_without_alias(text) for text in form.returns if "!" not in text] + written
    overload = NAME if form.overload == "default" else f"{form.overload}{NAME}"
    text = f"{op._namespace}::{form.name}.{overload}({_without_alias(inside)}) -> ({', '.join(results)})"
    found = Defined(op._namespace, parse(text, op._namespace), tuple(op._given_tags), op._overloadpacket)

    def run(*args, **kwargs):
        values = form.bind(args, kwargs, op.name())
        fresh = {id(t): t.clone() for v, a in zip(values, form.arguments, strict=True) if a.mutated for t in tensors_of([v])}
        given = [tree_map(lambda v: fresh.get(id(v), v), v) if a.mutated else v for v, a in zip(values, form.arguments, strict=True)]
        with torch.no_grad():
            out = op._spread(op, given)
        out = () if not form.returns else (out,) if len(form.returns) == 1 else out
        kept = [value for value, text in zip(out, form.returns, strict=True) if "!" not in text]
        kept += [v for v, a in zip(given, form.arguments, strict=True) if a.mutated]
        return kept[0] if len(kept) == 1 else tuple(kept)

    found.put("CompositeExplicitAutograd", run)
    return found


def _without_alias(text):
    return re.sub(r"Tensor\([^)]*\)", "Tensor", text)


def _alias(text):
    return text.partition("(")[2].partition(")")[0]


def _parts(op):
    """The texts of the arguments that are written."""
    return re.findall(r"Tensor\([^)]*!\)", op._form.text.rpartition(" -> ")[0])


def _below(function, tensor):
    """The result of a function, out of sight of functionalize, of which the tensor is a wrapper."""
    found = []

    def run(value):
        found.append(function())
        return value

    _cresset.below_functional(run, tensor)
    return found[0]


def _value(value):
    return _cresset.from_functional(value) if isinstance(value, torch.Tensor) else value


def _wrapped(value):
    return value if not isinstance(value, torch.Tensor) or _cresset.is_functional(value) else _cresset.to_functional(value)


def _leaves(values):
    from .operators import tensors_of

    return tensors_of(values)
