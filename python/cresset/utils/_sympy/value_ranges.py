"""Ranges of symbolic numbers."""

from ...fx.experimental.symbolic_shapes import ValueRanges

__all__ = ["ValueRanges"]
