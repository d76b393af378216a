"""Modules of settings: names are fixed, and `patch` sets some for a scope."""

import contextlib
import types
import unittest
import warnings


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

    _names = ()  # pairs of names for one setting
    _without_effect = types.MappingProxyType({})  # settings that change nothing, and why
    _changed = types.MappingProxyType({})  # functions that are called with a setting that has been set

    def __setattr__(self, name, value):
        if name not in self.__dict__ and not name.startswith("__"):
            raise AttributeError(f"{self.__name__}.{name}: there is no such setting", name=name, obj=self)
        if name in self._without_effect and value != self.__dict__[name]:
            warnings.warn(f"{self.__name__}.{name} changes nothing here: {self._without_effect[name]}", UserWarning, stacklevel=2)
        for one in next((pair for pair in self._names if name in pair), (name,)):
            super().__setattr__(one, value)
        if name in self._changed:
            self._changed[name](value)


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

    def __call__(self, function):
        return _patch_tests(function, self) if isinstance(function, type) else super().__call__(function)

    def _recreate_cm(self):
        return _Patch(self.settings, self.changes)


def _patch_tests(cls, patch):
    """A class of tests, all of which run with the changed settings."""
    if not issubclass(cls, unittest.TestCase):
        raise TypeError(f"patch: expected a function or a class of tests, got {cls.__qualname__}")
    before, after = cls.setUpClass.__func__, cls.tearDownClass.__func__

    def set_up(test_class):
        patch.__enter__()
        before(test_class)

    def tear_down(test_class):
        try:
            after(test_class)
        finally:
            patch.__exit__(None, None, None)

    cls.setUpClass, cls.tearDownClass = classmethod(set_up), classmethod(tear_down)
    return cls


def seal(module, without_effect=None, changed=None, **older):
    """Makes a module one of settings; `older` gives further names of some. `without_effect` says of those that change nothing why: a change of them warns.
    `changed` has functions that are told when a setting is set."""
    module.__dict__.update({name: module.__dict__[other] for name, other in older.items()})
    module.__class__ = type("Settings", (Settings,), {"_names": tuple(older.items()), "_without_effect": without_effect or {}, "_changed": changed or {}})
