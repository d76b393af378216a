"""Programs whose `.pt2` files Cresset and PyTorch exchange: `side.py` runs them in both, with `torch` bound to one or the other."""

import dataclasses
from collections.abc import Callable

import torch
from torch import nn


@dataclasses.dataclass(frozen=True)
class Program:
    """A module, its example arguments, and further calls of other sizes; all are made anew each time they are asked for."""

    name: str
    module: Callable
    arguments: Callable
    shapes: object = None
    others: tuple = ()
    training: bool = False
    strict: bool = False

    def made(self):
        """The module, with the same weights in every process."""
        torch.manual_seed(0)
        return self.module().train(self.training)

    def calls(self):
        """(args, kwargs) of the example and of the other calls."""
        torch.manual_seed(1)
        found = []
        for make in (self.arguments, *self.others):
            made = make()
            positional = made if isinstance(made, tuple) else made["args"]
            found.append((positional, {} if isinstance(made, tuple) else made["kwargs"]))
        return found


PROGRAMS: dict[str, Program] = {}


def layer(name, module, arguments, *others, both=False, **options):
    """A program that is a module of the library; `both` adds it in training."""
    assert name not in PROGRAMS, name
    PROGRAMS[name] = Program(name, module, arguments, others=others, **options)
    if both:
        PROGRAMS[f"{name}/training"] = Program(f"{name}/training", module, arguments, others=others, training=True, **options)


def function(name, forward, arguments, *others, **options):
    """A program of one function, whose first argument is its module."""
    layer(name, lambda: type("Function", (nn.Module,), {"forward": forward})(), arguments, *others, **options)


def program(arguments, *others, **options):
    """A decorator: a program that is a class."""

    def add(cls):
        layer(_words(cls.__name__), cls, arguments, *others, **options)
        return cls

    return add


def _words(name):
    return "".join(" " + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))


def r(*sizes, dtype=None):
    """Random numbers."""
    return torch.randn(*sizes, dtype=dtype)


def i(high, *sizes):
    """Random whole numbers below `high`."""
    return torch.randint(high, sizes)
