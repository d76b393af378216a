"""Passes over graphs: shapes, splitting, partitions, fusion, drawings. Each is a module of its own, loaded at first use."""

__all__ = []
_SUBMODULES = ...
