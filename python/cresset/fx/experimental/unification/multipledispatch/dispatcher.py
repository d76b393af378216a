"""Dispatcher, a function that is chosen by the types of its arguments."""

import inspect
import itertools
import types
import typing
import warnings

__all__ = ["AmbiguityWarning", "Dispatcher", "MDNotImplementedError"]


class MDNotImplementedError(NotImplementedError):
    """A function that was chosen leaves the call to the next one that fits."""


class AmbiguityWarning(Warning):
    """Two functions fit some arguments equally well."""


def _supercedes(a, b):
    """Whether the function for types `a` comes before that for types `b`."""
    return len(a) == len(b) and all(map(issubclass, a, b))


def _unclear(a, b):
    """Whether some arguments could go to either of two functions."""
    if len(a) != len(b) or _supercedes(a, b) or _supercedes(b, a):
        return False
    return all(issubclass(x, y) or issubclass(y, x) for x, y in zip(a, b))


class Dispatcher:
    """A function with an implementation for each combination of types; the most special one that fits is called.

    Args:
        name: its name.
        doc: its documentation.

    Errors: NotImplementedError for arguments that no implementation fits.

    >>> Dispatcher = torch.fx.experimental.unification.multipledispatch.Dispatcher
    >>> join = Dispatcher("join")
    >>> @join.register(str, str)
    ... def _(a, b):
    ...     return a + b
    >>> @join.register(object, object)
    ... def _(a, b):
    ...     return f"{a}{b}"
    >>> join("a", "b"), join(1, 2)
    ('ab', '12')
    """

    def __init__(self, name, doc=None):
        self.name = self.__name__ = name
        self.doc, self.funcs, self._order, self._chosen = doc, {}, None, {}

    def register(self, *types, **kwargs):
        """A decorator that adds a function for these types."""

        def add(function):
            self.add(types, function)
            return function

        return add

    def add(self, signature, func):
        """Add a function for a type each argument; tuples and unions of types stand for several.

        Without types those of the function's annotations count. Errors: TypeError for what is no class.
        """
        signature = signature or tuple(p.annotation for p in inspect.signature(func).parameters.values())
        options = [_options(kind) for kind in signature]
        for each in itertools.product(*options):
            self.funcs[each] = func
        self._order, self._chosen = None, {}

    @property
    def ordering(self):
        """The types of the implementations, special ones before general ones. Warns where two of them are equally special."""
        if self._order is None:
            pairs = [(a, b) for a, b in itertools.combinations(self.funcs, 2) if _unclear(a, b)]
            open_pairs = [(a, b) for a, b in pairs if not any(_supercedes(c, a) and _supercedes(c, b) for c in self.funcs)]
            if open_pairs:
                texts = "; ".join(f"{_text(a)} and {_text(b)}" for a, b in open_pairs)
                warnings.warn(f"{self.name}: some arguments fit several implementations equally well: {texts}", AmbiguityWarning, stacklevel=3)
            self._order = sorted(self.funcs, key=lambda s: sum(other != s and _supercedes(other, s) for other in self.funcs))
        return self._order

    def dispatch_iter(self, *types):
        """The functions for arguments of these types, the most special first."""
        return (self.funcs[signature] for signature in self.ordering if _supercedes(types, signature))

    def dispatch(self, *types):
        """The most special function for arguments of these types; None where there is none."""
        if types not in self._chosen:
            self._chosen[types] = next(self.dispatch_iter(*types), None)
        return self._chosen[types]

    def __call__(self, *args, **kwargs):
        return self._call(args, args, kwargs)

    def _call(self, deciding, args, kwargs):
        kinds = tuple(map(type, deciding))
        if self.dispatch(*kinds) is None:
            raise NotImplementedError(f"{self.name}: no implementation for arguments of the types {_text(kinds)}")
        for function in self.dispatch_iter(*kinds):
            try:
                return function(*args, **kwargs)
            except MDNotImplementedError:
                continue
        raise NotImplementedError(f"{self.name}: no implementation has taken arguments of the types {_text(kinds)}")

    def __str__(self):
        return f"<dispatched {self.name}>"

    __repr__ = __str__


class MethodDispatcher(Dispatcher):
    """A Dispatcher that is a method: `self` does not count."""

    def __get__(self, instance, owner):
        return types.MethodType(self, instance)

    def __call__(self, *args, **kwargs):
        return self._call(args[1:], args, kwargs)


def _options(kind):
    if isinstance(kind, tuple) or typing.get_origin(kind) in (typing.Union, types.UnionType):
        return [option for part in (kind if isinstance(kind, tuple) else typing.get_args(kind)) for option in _options(part)]
    if kind is inspect.Parameter.empty or kind is typing.Any:
        return [object]
    if not isinstance(kind, type):
        raise TypeError(f"Dispatcher: expected classes, tuples or unions of them, got {kind!r}")
    return [kind]


def _text(signature):
    return f"({', '.join(kind.__name__ for kind in signature)})"
