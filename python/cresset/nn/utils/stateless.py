"""Calling a module with other parameters and buffers than its own."""

import contextlib


def _tied_names(module):
    """Names that stand for one tensor, for every name."""
    groups = {}
    for members in (module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)):
        for name, tensor in members:
            groups.setdefault(id(tensor), []).append(name)
    return {name: names for names in groups.values() for name in names}


def _place(module, path):
    parent, _, name = path.rpartition(".")
    owner = module.get_submodule(parent)
    for table in (owner._parameters, owner._buffers):
        if name in table:
            return table, name
    raise KeyError(path)


@contextlib.contextmanager
def _exchanged(module, values, tie_weights, strict):
    tied = _tied_names(module)
    known = set(tied)
    if strict:
        unexpected = sorted(set(values) - known)
        given = {n for name in values if name in tied for n in (tied[name] if tie_weights else [name])}
        missing = sorted(known - given)
        if unexpected or missing:
            raise RuntimeError(f"functional_call of {type(module).__name__}: missing keys {missing}, unexpected keys {unexpected}")
    chosen = {}
    for name, value in values.items():
        for alias in tied.get(name, [name]) if tie_weights else [name]:
            if alias in chosen and alias not in values and chosen[alias] is not value:
                raise ValueError(f"functional_call: got several values for tied names {tied[name]}")
            if alias == name or alias not in values:
                chosen[alias] = value
    saved = []
    try:
        for name, value in chosen.items():
            try:
                table, key = _place(module, name)
            except (KeyError, AttributeError):
                if strict:
                    raise
                continue
            saved.append((table, key, table[key]))
            table[key] = value
        yield
    finally:
        for table, key, value in reversed(saved):
            table[key] = value


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Call `module` with the tensors of a dictionary in place of its parameters and buffers, which come back afterwards.

    Tied tensors are replaced together unless `tie_weights` is off. RuntimeError for missing and unexpected names with `strict`.

    >>> layer = nn.Linear(2, 1, bias=False)
    >>> nn.utils.stateless.functional_call(layer, {"weight": torch.ones(1, 2)}, torch.tensor([3.0, 4.0])).tolist()
    [7.0]
    """
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
