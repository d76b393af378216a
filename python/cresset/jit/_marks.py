"""Marks that decorators leave on functions for the compiler."""

import types
import typing


class Mark:
    """A function of the compiler itself."""

    def __init__(self, what):
        self.what = what


class Use:
    """The fate of a method: compiled though `forward` does not call it, left to Python, or an error where it is called."""

    EXPORT, IGNORE, UNUSED, DROP = "export", "ignore", "unused", "drop"


def use_of(fn):
    return getattr(fn, "_torchscript_use", None)


class Attribute(typing.NamedTuple):
    """A value and the type that it is to have.

    >>> torch.jit.Attribute(1, int).value
    1
    """

    value: typing.Any
    type: typing.Any


overloads = {}  # (module, qualified name) -> {place: signature}


def overloads_of(fn):
    """The signatures that stand above a function."""
    rows = overloads.get((getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)), {})
    return [signature for (file, line), signature in sorted(rows.items(), key=lambda row: row[0][1]) if file == fn.__code__.co_filename and signature is not fn]


class _Await:
    """A call that runs when its result is asked for, once.

    >>> torch.jit._Await(lambda: 3).wait()
    3
    """

    def __init__(self, call):
        self._call = call

    __class_getitem__ = classmethod(types.GenericAlias)

    def wait(self):
        if self._call is not None:
            self._value, self._call = self._call(), None
        return self._value
