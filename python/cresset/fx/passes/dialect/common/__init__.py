"""Passes for graphs of any operators."""

__all__ = []
_SUBMODULES = ...
