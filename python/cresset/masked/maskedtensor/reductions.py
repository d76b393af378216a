"""The reductions that masked tensors have, by name."""

from .core import REDUCE_NAMES

__all__ = ["REDUCE_NAMES"]
