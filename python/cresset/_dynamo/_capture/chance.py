"""Random numbers of Python's own module `random` within a capture.

A generator that the frame makes of a known seed draws known numbers. One from outside draws when the graph runs: each draw is a node, whose number only the run tells.
"""

import random

from ...fx.experimental.symbolic_shapes import constrain_range
from .objects import as_key
from .record import is_array
from .signals import Break

_FLOATS, _INTEGERS = ("random", "uniform"), ("randint", "randrange")


def is_generator(value):
    """Whether a value is a generator of the module `random`, with the methods that it has there."""
    return type(value) is random.Random


def made(machine, args, kwargs):
    """`random.Random(seed)`."""
    seed = as_key(args[0] if args else kwargs.get("x"))
    if not isinstance(seed, (int, float, str, bytes)):
        raise Break("a generator of random numbers without a seed is made")
    generator = random.Random(seed)
    machine.world.keep.append(generator)
    return generator


def _drawing(method):
    """A method of a generator as a function with a name of its own, which code of a graph needs."""

    def drawn(*args, **kwargs):
        return method(*args, **kwargs)

    drawn.__name__ = drawn.__qualname__ = f"random_{method.__name__}"
    drawn.__module__ = random.__name__
    return drawn


def draw(machine, method, generator, args, kwargs):
    """A call of a generator's method."""
    world, name = machine.world, method.__name__
    if generator is not random._inst and world.origin(generator) is None:
        return getattr(generator, name)(*map(as_key, args), **{key: as_key(value) for key, value in kwargs.items()})
    if name not in _FLOATS + _INTEGERS or any(map(is_array, args)):
        raise Break(f"a call of random.{name}")
    if generator is not random._inst:
        world.check_identity(generator)
    shapes = world.need_shapes()
    if name in _FLOATS:
        number = shapes.env.create_unbacked_symfloat()
    else:
        number = shapes.env.create_unbacked_symint()
        known = [value for value in args if type(value) is int]
        if len(known) == len(args) and not kwargs and len(known) < 3:
            low, high = (0, known[0]) if len(known) == 1 else known
            constrain_range(number, min=low, max=high if name == "randint" else high - 1)
    world.tracer.node(_drawing(getattr(generator, name)), args, kwargs, number)
    world.stays_whole = True  # taken apart it would draw once, while it is captured
    return number
