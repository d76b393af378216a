"""Training from several processes that have different amounts of data."""

from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
_SUBMODULES = ...
