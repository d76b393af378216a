"""Tables of what functions and methods do with nested tensors, by their names."""

import cresset as torch


def registrar(table):
    """A decorator that puts a function into the table under the names it is given."""

    def names_of(*names):
        def register(run):
            table.update(dict.fromkeys(names, run))
            return run

        return register

    return names_of


def run(entry, func, args, kwargs):
    """Calls an entry of a table with its first argument by place; one that `takes_function` gets the function that was called, too."""
    for name in ("input", "self", "tensors"):
        if name in kwargs:
            kwargs = dict(kwargs)
            args = (kwargs.pop(name), *args)
    return entry(func, *args, **kwargs) if hasattr(entry, "takes_function") else entry(*args, **kwargs)


def as_usual(func, types, args, kwargs):
    """A call without an entry: functions of Python come back with their inner calls, operators go on to autograd."""
    if type(func).__name__ == "function":
        return torch.overrides.redispatch_function(func, types, args, kwargs)
    with torch.DisableTorchFunctionSubclass():
        return func(*args, **kwargs)
