"""The order in which `torch.einsum` contracts three operands and more: the opt_einsum package chooses it where it is installed, else it is from left to right.

>>> with torch.backends.opt_einsum.flags(enabled=False):
...     torch.einsum("i,i,i->", torch.ones(2), torch.ones(2), torch.ones(2))
tensor(2.)
"""

import contextlib as _contextlib
import functools as _functools
import importlib as _importlib
import sys as _sys
import types as _types


@_functools.cache
def get_opt_einsum():
    """The opt_einsum package, or None where it is not installed.

    >>> (torch.backends.opt_einsum.get_opt_einsum() is None) != torch.backends.opt_einsum.is_available()
    True
    """
    try:
        return _importlib.import_module("opt_einsum")
    except ImportError:
        return None


def is_available():
    """Whether the opt_einsum package is installed.

    >>> torch.backends.opt_einsum.is_available() in (True, False)
    True
    """
    return get_opt_einsum() is not None


_chosen = {"enabled": is_available(), "strategy": "auto" if is_available() else None}


def _set(name, value):
    here = f"torch.backends.opt_einsum.{name}"
    if name == "strategy" and value is not None and not _is_strategy(value):
        raise ValueError(f"{here}: expected auto, greedy, optimal or another strategy of opt_einsum, got {value!r}")
    if name == "enabled" and not isinstance(value, bool):
        raise TypeError(f"{here}: expected bool, got {type(value).__name__}")
    if value and not is_available():
        raise ValueError(f"{here}: got {value!r}, but the package opt_einsum is not installed")
    _chosen[name] = value


def _is_strategy(name):
    if name in ("auto", "greedy", "optimal"):
        return True
    try:
        return isinstance(name, str) and callable(_importlib.import_module("opt_einsum.paths").get_path_fn(name))
    except (ImportError, KeyError):
        return False


def set_flags(_enabled=None, _strategy=None):
    """Sets whether opt_einsum chooses the order, and how: by "auto", "greedy", "optimal" or another of its strategies.
    Returns both as they were. ValueError for another strategy, and where it is not installed.

    >>> before = torch.backends.opt_einsum.set_flags(False)
    >>> torch.backends.opt_einsum.enabled
    False
    >>> _ = torch.backends.opt_einsum.set_flags(*before)
    """
    before = (_chosen["enabled"], _chosen["strategy"])
    for name, value in (("enabled", _enabled), ("strategy", _strategy)):
        if value is not None:
            _set(name, value)
    return before


@_contextlib.contextmanager
def flags(enabled=None, strategy=None):
    """A context in which opt_einsum chooses the order, or not; see `set_flags`.

    >>> with torch.backends.opt_einsum.flags(enabled=False):
    ...     torch.backends.opt_einsum.enabled
    False
    """
    before = set_flags(enabled, strategy)
    try:
        yield
    finally:
        _chosen.update(enabled=before[0], strategy=before[1])


def _path_of(equation, operands):
    """The contractions that opt_einsum finds best, as pairs of places one after another; None for the order from left to right."""
    if len(operands) < 3 or not _chosen["enabled"] or not is_available():
        return None
    path, _ = get_opt_einsum().contract_path(equation, *(tuple(t.shape) for t in operands), shapes=True, optimize=_chosen["strategy"] or "auto")
    return [place for pair in path for place in pair] if all(len(pair) == 2 for pair in path) else None


class _Module(_types.ModuleType):
    enabled = property(lambda self: _chosen["enabled"], lambda self, value: _set("enabled", value), doc="Whether opt_einsum chooses the order.")
    strategy = property(lambda self: _chosen["strategy"], lambda self, value: _set("strategy", value), doc="How opt_einsum chooses the order.")


_sys.modules[__name__].__class__ = _Module
