"""Passes in general: their base, their manager, and partitions by capability."""

__all__ = []
_SUBMODULES = ...
