"""Methods from rows: ops/distributions/*.toml holds the formulas, which C++ and Python share; they come with a library opened here.

The row `_normal_log_prob(value, loc, scale)` becomes `Normal.log_prob(self, value)`: what a method is given it passes on, other arguments
are attributes of those names.
"""

import functools
from operator import attrgetter

import _cresset

import cresset as torch
from cresset._core import operators as _operators

_entries, divergences = _cresset.open_ops("distributions")
_arguments = dict(_entries)
_operators.takes_numbers.update(_arguments)
_tables = {}  # by class in lower case: its rows by method
for _name in _arguments:
    _, _table, _method = _name.split("_", 2)
    _tables.setdefault(_table, {})[_method] = _name

_GIVEN = ("value", "shape", "x", "y", "z")
_PROPERTIES = ("mean", "mode", "variance", "stddev")
_HIDDEN = ("natural_params", "log_normalizer", "call", "inverse")
_METHODS = (*_PROPERTIES, *_HIDDEN, "sample", "rsample", "entropy", "log_abs_det_jacobian")  # and what takes a value


@functools.cache
def row(name):
    """A row as a function of tensors; Python numbers count as tensors."""
    return _cresset.make_op(name, [name], True)


def reader(names):
    """Source of the values of attributes, moments or methods without arguments, of one object."""
    readers = [attrgetter(name) for name in names]

    def read(owner):
        values = [get(owner) for get in readers]
        return [value() if callable(value) else value for value in values]

    return read


def _method_of(name, attributes):
    """The method that a row stands for, and whether it is a property."""
    op, arguments = row(name), _arguments[name]
    read = reader([attributes.get(a, a) for a in arguments if a not in _GIVEN])
    method = name.split("_", 2)[2]
    if method in _PROPERTIES or method == "natural_params":

        def get(self):
            return op(*read(self))

        return property(get)
    if method in ("call", "inverse"):

        def call(self, given):
            return op(given, *read(self))
    elif method == "log_abs_det_jacobian":
        takes_y = "y" in arguments

        def call(self, x, y):
            return op(x, y, *read(self)) if takes_y else op(x, *read(self))
    elif method == "log_normalizer":

        def call(self, *natural_params):
            return op(*natural_params, *read(self))
    elif "shape" in arguments:

        def call(self, sample_shape=torch.Size()):
            with torch.set_grad_enabled(torch.is_grad_enabled() and method != "sample"):
                return op(self._extended_shape(sample_shape), *read(self))
    elif "value" not in arguments:

        def call(self):
            return op(*read(self))
    elif method == "icdf":

        def call(self, value):
            return op(value, *read(self))
    else:

        def call(self, value):
            if self._validate_args:
                self._validate_sample(value)
            return op(value, *read(self))

    return call


def from_rows(*kept, **attributes):
    """A decorator of a class of distributions: its methods are the rows of its name.

    `kept` are parameters of a number for each place of the batch, which `expand` expands; `attributes` says which attributes arguments of
    rows are, where they have other names.
    """

    def decorate(cls):
        if kept:
            cls._kept = dict.fromkeys(kept, 0)
        for method, name in _tables.get(cls.__name__.lower(), {}).items():
            attribute = f"_{method}" if method in _HIDDEN else method
            if attribute not in vars(cls) and (method in _METHODS or "value" in _arguments[name]):
                made = _method_of(name, attributes)
                function = made.fget if isinstance(made, property) else made
                function.__name__, function.__qualname__, function.__module__ = attribute, f"{cls.__qualname__}.{attribute}", cls.__module__
                setattr(cls, attribute, made)
        return cls

    return decorate


def of(path):
    """A property that is an attribute of a part: `of("base_dist.loc")`."""
    return property(attrgetter(path), doc=f"That of `{path}`.")


def divergence(text):
    """The rule that `text` of the rows' pairs names, "row" or "row(arguments)": a function of two distributions."""
    name, _, given = text.rstrip(")").partition("(")
    op, wanted = row(name), given.split(",") if given else _arguments[name]

    def rule(p, q):
        return op(*(_named(p if a.startswith("p") else q, a[2:]) for a in wanted))

    return rule


def _named(distribution, name):
    value = getattr(distribution, name, None)
    if value is None:
        value = getattr(distribution, "_" + name)
    return value() if callable(value) else value
