"""Helpers of passes: submodules made of nodes, places that are like a pattern."""

__all__ = []
_SUBMODULES = ...
