"""Guards that a program leaves out: the option `guard_filter_fn` of `torch.compile`."""

from typing import Any, NamedTuple

import cresset as torch

from . import places as P

_TYPES = {P.IS: "ID_MATCH", P.OF_TYPE: "TYPE_MATCH", P.EQUAL: "EQUALS_MATCH", P.LENGTH: "SEQUENCE_LENGTH", P.KEYS: "DICT_KEYS_MATCH", P.BOUND: "HASATTR",
          P.MISSING: "NOT_PRESENT_IN_GENERIC_DICT", P.TENSOR: "TENSOR_MATCH", P.SAME: "DUPLICATE_INPUT", P.FORMULA: "SHAPE_ENV"}  # fmt: skip


class GuardFilterEntry(NamedTuple):
    """A guard as `guard_filter_fn` sees it: the name of what it looks at, the value there where it is known, the kind of the guard, whether that is reached from
    the globals, and the innermost module that it belongs to, or None."""

    name: str
    has_value: bool
    value: Any
    guard_type: str
    derived_guard_types: tuple[str, ...]
    is_global: bool
    module: torch.nn.Module | None


def apply(world, function):
    """Drops the guards of a capture for which `function`, called with a list of entries, has False in the list that it returns. True where one of a tensor went.

    Errors: whatever `function` raises; RuntimeError for a result of another length.
    """
    found = world.guards.checks()
    kept = list(function([_entry(world, kind, place) for kind, place in found]))
    if len(kept) != len(found):
        raise RuntimeError(f"guard_filter_fn: expected {len(found)} flags, one for each guard, got {len(kept)}")
    world.guards.keep([bool(flag) for flag in kept])
    return any(kind == P.TENSOR and not flag for (kind, _), flag in zip(found, kept, strict=True))


def _entry(world, kind, place):
    name = "" if kind == P.FORMULA else world.name_of(place)
    has_value = place in world.outside and kind != P.FORMULA
    chain = [] if kind == P.FORMULA else _chain(world, place)
    module = next((world.outside[p] for p, _ in chain if isinstance(world.outside.get(p), torch.nn.Module)), None)
    is_global = any(what == P.GLOBALS for _, what in chain)
    return GuardFilterEntry(name, has_value, world.outside.get(place) if has_value else None, _TYPES[kind], (), is_global, module)


def _chain(world, place):
    """A place and those that it is read from, the nearest first, with the kinds of reading."""
    chain = []
    while place >= 0:
        above, what = world.guards.parent(place)
        chain.append((place, what))
        place = above
    return chain


def checked(graph, examples):
    """`graph`, which was compiled for tensors such as `examples` and whose guards are dropped: others are an error, as its code would not fit them."""
    expected = [(tuple(e.shape), e.stride(), e.dtype) if isinstance(e, torch.Tensor) else None for e in examples]

    def run(*args):
        for i, (arg, facts) in enumerate(zip(args, expected, strict=True)):
            if facts is not None and (tuple(arg.shape), arg.stride(), arg.dtype) != facts:
                raise AssertionError(
                    f"torch.compile: input {i} of a graph whose guards guard_filter_fn drops: expected sizes {list(facts[0])}, strides {list(facts[1])} and {facts[2]}, "
                    f"got {list(arg.shape)}, {list(arg.stride())} and {arg.dtype}"
                )
        return graph(*args)

    return run
