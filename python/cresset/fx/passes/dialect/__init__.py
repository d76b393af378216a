"""Passes for graphs of one kind of operators."""

__all__ = []
_SUBMODULES = ...
