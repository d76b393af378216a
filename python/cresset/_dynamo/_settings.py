"""Modules of settings: names are fixed, and `patch` sets some for a scope."""

import contextlib
import functools
import types


class Patched(types.ModuleType):
    """A module of settings."""

    def patch(self, arg=None, value=None, **changes):
        """A context, and decorator, in which settings are others: patch(name=value), patch("name", value) or patch({"name": value})."""
        if isinstance(arg, str):
            changes = {arg: value, **changes}
        elif arg is not None:
            changes = {**arg, **changes}
        return _Patch(self, changes)

    def _at(self, name):
        owner = self
        *parts, last = name.split(".")
        for part in parts:
            owner = getattr(owner, part)
        return owner, last


class Settings(Patched):
    """A module whose names cannot grow. AttributeError for one that is not there."""

    def __setattr__(self, name, value):
        if name not in self.__dict__ and not name.startswith("__"):
            raise AttributeError(f"{self.__name__}.{name}: there is no such setting", name=name, obj=self)
        super().__setattr__(name, value)


class _Patch(contextlib.ContextDecorator):
    def __init__(self, settings, changes):
        self.settings, self.changes, self.before = settings, changes, []

    def __enter__(self):
        before = {}
        for name in self.changes:
            owner, last = self.settings._at(name)
            before[name] = getattr(owner, last)
        for name, value in self.changes.items():
            owner, last = self.settings._at(name)
            setattr(owner, last, value)
        self.before.append(before)
        return self

    def __exit__(self, *error):
        for name, value in self.before.pop().items():
            owner, last = self.settings._at(name)
            setattr(owner, last, value)

    def _recreate_cm(self):
        return _Patch(self.settings, self.changes)


def seal(module):
    """Makes a module one of settings."""
    module.__class__ = Settings


del functools
