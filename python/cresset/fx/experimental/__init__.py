"""Tools around graphs whose names may change: each is a module of its own, loaded at first use."""

__all__ = []
_SUBMODULES = ...
