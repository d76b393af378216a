"""Small helpers of layers: one number for every dimension, padding of both sides."""

from collections.abc import Iterable
from itertools import repeat


def _ntuple(n, name="parse"):
    def parse(value):
        return tuple(value) if isinstance(value, Iterable) else tuple(repeat(value, n))

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (_ntuple(n, name) for n, name in ((1, "_single"), (2, "_pair"), (3, "_triple"), (4, "_quadruple")))


def _reverse_repeat_tuple(values, times):
    """Each value `times` times, the last first: sizes of padding as `pad` takes them."""
    return tuple(value for value in reversed(values) for _ in range(times))
