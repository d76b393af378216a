"""Operators of programs under `functionalize`: what they write to becomes a new value."""

import _cresset

import cresset as torch

from ..utils._pytree import tree_map


def called(op, values, tensors):
    """The call on the values of the wrappers; wrappers that it writes to get what was written."""
    inside = [tree_map(_value, value) for value in values]
    written = [(w, t) for v, a, i in zip(values, op._form.arguments, inside, strict=True) if a.mutated for w, t in zip(_leaves(v), _leaves(i), strict=True)]
    fresh = {}

    def run():
        fresh.update((id(t), t.clone()) for _, t in written)
        given = [tree_map(lambda v: fresh.get(id(v), v), value) if a.mutated else value for value, a in zip(inside, op._form.arguments, strict=True)]
        return op._through(given, _leaves(given))

    out = _below(run, tensors[0])
    for wrapper, tensor in written:
        wrapper.copy_(_wrapper(fresh[id(tensor)]))
    return tree_map(lambda v: _wrapper(v) if isinstance(v, torch.Tensor) else v, out)


def _below(function, tensor):
    """What a function gives, out of sight of functionalize, of which the tensor is a wrapper."""
    found = []

    def run(value):
        found.append(function())
        return value

    _cresset.below_functional(run, tensor)
    return found[0]


def _value(value):
    return _cresset.from_functional(value) if isinstance(value, torch.Tensor) else value


def _wrapper(tensor):
    return tensor if _cresset.is_functional(tensor) else _cresset.to_functional(tensor)


def _leaves(value):
    from .operators import tensors_of

    return tensors_of(value if isinstance(value, list) else [value])
