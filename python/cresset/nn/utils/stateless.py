"""Calling a module with other parameters and buffers than its own."""

import contextlib
import sys
import warnings

import cresset as torch

from . import _named_member_accessor as _members


def _tied_names(module):
    """Names that stand for one tensor, for every name."""
    groups = {}
    for members in (module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)):
        for name, tensor in members:
            groups.setdefault(id(tensor), []).append(name)
    return {name: names for names in groups.values() for name in names}


@contextlib.contextmanager
def _exchanged(module, values, tie_weights, strict):
    tied = _tied_names(module) if tie_weights or strict else {}
    for name, value in values.items() if tie_weights else ():
        others = [n for n in tied.get(name, ()) if n != name and n in values and values[n] is not value]
        if others:
            raise ValueError(f"functional_call: got several values for the tied names {[name, *others]}; pass one, or tie_weights=False")
    if strict:
        known = set(tied)
        unexpected = sorted(set(values) - known)
        given = {n for name in values if name in tied for n in (tied[name] if tie_weights else [name])}
        missing = sorted(known - given)
        if unexpected or missing:
            raise RuntimeError(f"functional_call of {type(module).__name__}: missing keys {missing}, unexpected keys {unexpected}")
    chosen = {}
    for name, value in values.items():
        for alias in tied.get(name, [name]) if tie_weights else [name]:
            if alias == name or alias not in values:
                chosen[alias] = value
    access = _members.NamedMemberAccessor(module)
    places = {name: access._owner(name) for name in chosen}
    saved = {}
    try:
        for name, value in chosen.items():
            saved[name] = _members.swap_tensor(*places[name], value, allow_missing=True)
        yield
    finally:
        # A module that assigned another tensor while it ran has assigned it in the caller's dictionary.
        for name in reversed(saved):
            left = _members.swap_tensor(*places[name], saved[name], allow_missing=True)
            if name in values and left is not _members._MISSING:
                values[name] = left


def _reparametrize_module(module, parameters_and_buffers, *, tie_weights=False, strict=False):
    """The module with these tensors in place of its own, for a `with` block."""
    return _exchanged(module, parameters_and_buffers, tie_weights, strict)


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Call `module` with the tensors of a dictionary in place of its parameters and buffers, which come back afterwards.

    Tied tensors are replaced together unless `tie_weights` is off. RuntimeError for missing and unexpected names with `strict`.

    Deprecated: it warns, and `torch.func.functional_call` is the same.

    >>> layer = nn.Linear(2, 1, bias=False)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 2)}, torch.tensor([3.0, 4.0])).tolist()
    [7.0]
    """
    warnings.warn("nn.utils.stateless.functional_call is deprecated; use torch.func.functional_call", FutureWarning, stacklevel=2)
    return _call_with(module, parameters_and_buffers, args, kwargs, tie_weights, strict)


def _call_with(module, parameters_and_buffers, args, kwargs, tie_weights, strict):
    """`torch.func.functional_call` of dictionaries."""
    if "cresset.jit._module" in sys.modules and isinstance(module, torch.jit.ScriptModule):
        raise RuntimeError(f"functional_call: the compiled {type(module).__name__} keeps its own tensors; pass the module that it was compiled from")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    if isinstance(parameters_and_buffers, (list, tuple)):
        joined = {}
        for part in parameters_and_buffers:
            repeated = set(joined) & set(part)
            if repeated:
                raise ValueError(f"functional_call: {sorted(repeated)} appear in several dictionaries")
            joined |= part
        parameters_and_buffers = joined
    with _exchanged(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **(kwargs or {}))
