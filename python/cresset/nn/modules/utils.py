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


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Take `prefix` off the names of a state dictionary that begin with it, in place, and off those of its metadata.

    >>> state = {"module.weight": 1}
    >>> nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module."); state
    {'weight': 1}
    """
    for name in [name for name in state_dict if name.startswith(prefix)]:
        state_dict[name.removeprefix(prefix)] = state_dict.pop(name)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    # The part of the module itself stands under the prefix without its dot, and under "" afterwards.
    for name in [name for name in metadata if name and (name == prefix.rstrip(".") or name.startswith(prefix))]:
        metadata[name[len(prefix) :]] = metadata.pop(name)
