"""Training from several processes that have different amounts of data."""

from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]


def __getattr__(name):
    from cresset._core import missing as _missing

    return _missing.found(__name__, name)
