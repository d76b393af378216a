"""Operators that functions of Python compute, by their schemas: one table for each kind, which the namespace takes over."""

import functools

from .operators import OpOverload

__all__ = ["Table"]


class Table:
    """Schemas with the functions that compute them; `kind` is the class of the overloads.

    >>> import cresset as torch
    >>> table, made = Table(), {}
    >>> table.add("twice(Tensor self) -> Tensor")(lambda x: 2 * x).__name__
    '<lambda>'
    >>> table.install(made)
    >>> sorted(made), sorted(made["twice"])
    (['twice'], ['default'])
    """

    def __init__(self, kind=OpOverload):
        self._kind, self._known = kind, {}

    def add(self, *schemas):
        """Decorator: the function computes the operators of the schemas."""

        def register(function):
            for schema in schemas:
                self._known[schema.partition("(")[0]] = (schema, function)
            return function

        return register

    def __iter__(self):
        """The titles: `name.overload`, or the name alone."""
        return iter(self._known)

    def install(self, made):
        """Adds them to the table of the namespace, name -> overload -> a function (packet, overload) that makes it; present ones stay."""
        for title, (schema, function) in self._known.items():
            name, _, overload = title.partition(".")
            made.setdefault(name, {}).setdefault(overload or "default", functools.partial(self._made, schema, function))

    def _made(self, schema, function, packet, overload):
        return self._kind(packet, overload, call=function, schema=schema)
