"""Nested states as flat ones: names joined by dots, and the path of each."""

import collections.abc

import cresset as torch


def _holds_tensors(value):
    if isinstance(value, list):
        return any(_holds_tensors(item) for item in value)
    return isinstance(value, (torch.Tensor, collections.abc.Mapping))


def flatten(state):
    """(entries by name, path by name) of a nested state: mappings are walked, and lists that hold tensors or mappings.

    Errors: ValueError where two paths have one name.
    """
    flat, paths = {}, {}

    def walk(path, value):
        if isinstance(value, collections.abc.Mapping):
            for key, item in value.items():
                walk((*path, str(key)), item)
        elif path and isinstance(value, list) and _holds_tensors(value):
            for i, item in enumerate(value):
                walk((*path, i), item)
        else:
            name = ".".join(map(str, path))
            if name in flat:
                raise ValueError(f"checkpoint: two entries of the state are called {name!r}")
            flat[name], paths[name] = value, path

    walk((), state)
    return flat, paths


def _key(holder, part):
    """The key of a mapping that a path calls `part`: keys that are no text are written as text."""
    if isinstance(holder, list) or part in holder:
        return part
    return next((key for key in holder if str(key) == part), part)


def put(state, path, value):
    """Sets what a path leads to, and makes the mappings and lists on the way that are not there."""
    holder = state
    for i, part in enumerate(path):
        key, last = _key(holder, part), i + 1 == len(path)
        if isinstance(holder, list):
            holder.extend([None] * (key + 1 - len(holder)))
        if last:
            holder[key] = value
            return
        inner = holder[key] if isinstance(holder, list) else holder.get(key)
        if inner is None:
            inner = holder[key] = [] if isinstance(path[i + 1], int) else {}
        holder = inner
