"""Flags that are read and set as attributes of a module, each value checked for its type, and a context that sets some for a while."""

import contextlib
import sys
import types


def install(module, **flags):
    """Makes the `flags` of the module named `module` settable attributes: name = (value at the start, accepted types).

    Returns (set_flags, flags): both take values by keyword; the first returns what was before, the second is a context manager.
    """
    values = {name: value for name, (value, _) in flags.items()}

    class FlagModule(types.ModuleType):
        def __setattr__(self, name, value):
            if name not in flags:
                return super().__setattr__(name, value)
            accepted = flags[name][1]
            if not isinstance(value, accepted):
                wanted = " or ".join(t.__name__ for t in (accepted if isinstance(accepted, tuple) else (accepted,)))
                raise TypeError(f"{module}.{name}: expected {wanted}, got {type(value).__name__}")
            values[name] = value

    for name in flags:
        setattr(FlagModule, name, property(lambda self, name=name: values[name]))
    here = sys.modules[module]
    here.__class__ = FlagModule

    def set_flags(**changes):
        unknown = changes.keys() - flags.keys()
        if unknown:
            raise TypeError(f"{module} has no flag {', '.join(sorted(unknown))}; its flags are {', '.join(flags)}")
        before = {name: values[name] for name in changes}
        for name, value in changes.items():
            setattr(here, name, value)
        return before

    @contextlib.contextmanager
    def context(**changes):
        before = set_flags(**changes)
        try:
            yield
        finally:
            set_flags(**before)

    return set_flags, context
