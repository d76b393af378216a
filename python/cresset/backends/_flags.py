"""Flags that are read and set as attributes of a module, each value checked for its type, and a context that sets some for a while."""

import contextlib
import sys
import types


is_frozen = False  # by disable_global_flags()
_is_bracketed = False  # whether the value is set by one of the functions below


def freeze():
    global is_frozen
    is_frozen = True


def install(module, /, freezes=True, after={}, **flags):  # noqa: B006  it is only read
    """Makes the `flags` of the module named `module` settable attributes: name = (value at the start, accepted types). Those
    that `freezes` are not assigned to after `freeze()`. `after[name]` is called with each new value of a flag.

    Returns (set_flags, flags): both take values by keyword; the first returns what was before, the second is a context manager.
    """
    values = {name: value for name, (value, _) in flags.items()}

    class FlagModule(types.ModuleType):
        def __setattr__(self, name, value):
            if name not in flags:
                return super().__setattr__(name, value)
            accepted = flags[name][1]
            if is_frozen and not _is_bracketed and freezes:
                raise RuntimeError(f"{module}.{name}: flags are frozen by disable_global_flags(), use flags({name}={value!r}) around what needs it")
            if not isinstance(value, accepted):
                wanted = " or ".join(t.__name__ for t in (accepted if isinstance(accepted, tuple) else (accepted,)))
                raise TypeError(f"{module}.{name}: expected {wanted}, got {type(value).__name__}")
            values[name] = value
            if name in after:
                after[name](value)

    for name in flags:
        setattr(FlagModule, name, property(lambda self, name=name: values[name]))
    here = sys.modules[module]
    here.__class__ = FlagModule

    def set_flags(**changes):
        unknown = changes.keys() - flags.keys()
        if unknown:
            raise TypeError(f"{module} has no flag {', '.join(sorted(unknown))}; its flags are {', '.join(flags)}")
        changes = {name: value for name, value in changes.items() if value is not None or isinstance(None, flags[name][1])}
        before = {name: values[name] for name in changes}
        _set_all(here, changes)
        return before

    name, (value, _) = next(iter(flags.items()))
    public = module.replace("cresset", "torch", 1)

    @contextlib.contextmanager
    def context(**changes):
        before = set_flags(**changes)
        try:
            yield
        finally:
            set_flags(**before)

    set_flags.__doc__ = f"""Sets flags of {public} by keyword and returns what was before. TypeError for a flag that is not there.

    >>> {public}.set_flags({name}={value!r})
    {{{name!r}: {value!r}}}
    """
    context.__doc__ = f"""A context in which flags of {public} have other values.

    >>> with {public}.flags({name}={value!r}):
    ...     {public}.{name}
    {value!r}
    """
    for function, name in ((set_flags, "set_flags"), (context, "flags")):
        function.__module__, function.__name__, function.__qualname__ = module, name, name
    return set_flags, context


def _set_all(module, changes):
    global _is_bracketed
    outer, _is_bracketed = _is_bracketed, True
    try:
        for name, value in changes.items():
            setattr(module, name, value)
    finally:
        _is_bracketed = outer
