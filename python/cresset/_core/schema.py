"""Schemas of operators that programs define: text read into arguments, and calls bound to them."""

import dataclasses
import functools
import itertools
import re

import _cresset

import cresset as torch

from . import schema_values as _values
from .operator_schema import read_argument, results_of, split

_NOTHING = object()
# PyTorch's numbers of dtypes, in texts.
DTYPES = dict(zip(map(str, (*range(12), 15, *range(23, 30))), "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool "
                   "bfloat16 float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz uint16 uint32 uint64".split()))  # fmt: skip


@dataclasses.dataclass
class Argument:
    """One argument: its type is `base`, or a list of it, with None allowed outside or inside."""

    name: str
    base: str
    listed: bool
    optional: bool
    optional_items: bool
    mutated: bool
    keyword: bool
    default: object = _NOTHING
    listed_size: int = 0
    nested: bool = False  # a list of lists

    @property
    def is_optional_to_give(self):
        """Whether there is a default."""
        return self.default is not _NOTHING

    @property
    def type(self):
        inner = self.base + ("?" if self.optional_items else "")
        return inner + ("[]" if self.listed else "") + ("[]" if self.nested else "") + ("?" if self.optional else "")

    def has_default(self, value):
        """Whether a value is the default."""
        return self.default is not _NOTHING and not isinstance(value, torch.Tensor) and value == self.default


class Schema:
    """name(arguments) -> returns, as text, and in parts once they are asked for."""

    def __init__(self, name, overload, text):
        self.name, self.overload, self.text = name, overload, text

    def __str__(self):
        return self.text

    @functools.cached_property
    def arguments(self):
        return self._parts[0]

    @functools.cached_property
    def returns(self):
        return self._parts[1]

    @functools.cached_property
    def _parts(self):
        inside, outside = _HEAD.match(self.text).groups()
        arguments, keyword = [], False
        for part in split(inside):
            if part == "*":
                keyword = True
                continue
            arguments.append(self._argument(part, keyword))
        return arguments, results_of(outside)

    @functools.cached_property
    def _results(self):
        return [self._argument(part, False) for part in self.returns]

    def _argument(self, part, keyword):
        base, alias, items, listed, nested, whole, name, default = read_argument(part)
        if not (_has_its_parts(base) if base.endswith(")") else _values.is_kind(base)):
            kinds = sorted((*_values.KINDS, "Dict(K, V)", "Future(T)", "RRef(T)", "(T, ...)"))
            raise RuntimeError(f"schema: cannot read the argument {part!r} of {self.text!r}; types are {', '.join(kinds)}")
        made = Argument(name or "result", base, bool(listed), bool(whole), bool(items), bool(alias and "!" in alias), keyword, nested=bool(nested))
        if listed and listed[1:-1]:
            made.listed_size = int(listed[1:-1])
        if default is not None:
            made.default = _default(default.strip(), base, bool(listed))
            fitting = _values.taken(made.default, made)
            made.default = made.default if fitting is _values.UNFIT else fitting
        return made

    def results_of(self, out, title):
        """The results of a function as the schema has them. RuntimeError and TypeError for anything else."""
        if len(self.returns) == 1:
            return out if self.returns[0] == "Tensor" and isinstance(out, torch.Tensor) else self._result(self._results[0], out, title)
        if not self.returns:
            if out is not None:
                raise RuntimeError(f"{title}: expected None, as the schema has no results, got {type(out).__name__}")
            return None
        if not isinstance(out, (tuple, list)):
            raise TypeError(f"{title}: expected {len(self.returns)} results, got {type(out).__name__}")
        if len(out) != len(self.returns):
            raise RuntimeError(f"{title}: expected {len(self.returns)} results, got {len(out)}")
        return tuple(self._result(result, value, title) for result, value in zip(self._results, out, strict=True))

    @staticmethod
    def _result(result, value, title):
        found = _values.taken(value, result)
        if found is _values.UNFIT:
            raise RuntimeError(f"{title}: expected a {result.type} as result, got {type(value).__name__}")
        return found

    @functools.cached_property
    def _only_tensors(self):
        return all(a.base == "Tensor" and not a.listed and not a.keyword for a in self.arguments)

    def bind(self, args, kwargs, title):
        """The values of all arguments, in order. RuntimeError for those that do not fit."""
        if self._only_tensors and not kwargs and len(args) == len(self.arguments) and all(isinstance(v, torch.Tensor) for v in args):
            return list(args)
        places = [a for a in self.arguments if not a.keyword]
        if len(args) > len(places):
            raise RuntimeError(f"{title}() expected at most {len(places)} argument(s) but received {len(args)} argument(s). Declaration: {self.text}")
        given = dict(zip((a.name for a in places), args))
        for name, value in kwargs.items():
            if name in given:
                raise RuntimeError(f"{title}() got the argument '{name}' twice. Declaration: {self.text}")
            if all(a.name != name for a in self.arguments):
                raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{title}'. Schema: {self.text}")
            given[name] = value
        values = []
        for place, argument in enumerate(self.arguments):
            value = given.get(argument.name, argument.default)
            if value is _NOTHING:
                raise RuntimeError(f"{title}() is missing value for argument '{argument.name}'. Declaration: {self.text}")
            fitting = _values.taken(value, argument)
            if fitting is _values.UNFIT:
                raise RuntimeError(
                    f"{title}() Expected a value of type '{argument.type}' for argument '{argument.name}' but instead found type '{type(value).__name__}'.\n"
                    f"Position: {place}\nValue: {value!r}\nDeclaration: {self.text}"
                )
            values.append(fitting)
        return values


_HEAD = re.compile(r"[^(]*\((.*)\) -> (.+)$", re.DOTALL)
_COUNTS = {"Dict": 2, "Future": 1, "RRef": 1}
_WHOLE_FLOAT = re.compile(r"=(-?\d+)\.0(?=[,) ]|$)")


@functools.cache
def parts_of(compound):
    """The name of a type with parts ("" for a tuple), and its parts as arguments.

    >>> name, (key, value) = parts_of("Dict(str, int[])")
    >>> name, key.type, value.type
    ('Dict', 'str', 'int[]')
    """
    name, _, inside = compound[:-1].partition("(")
    schema = Schema("", "", compound)
    return name, [schema._argument(part, False) for part in split(inside)]


def _has_its_parts(compound):
    name, parts = parts_of(compound)
    return name == "" or len(parts) == _COUNTS.get(name)


def _default(text, base, listed):
    if text == "None":
        return None
    if text in ("True", "False"):
        return text == "True"
    if text[0] in "\"'":
        return text[1:-1]
    if text[0] == "[":
        return [_default(part, base, False) for part in split(text[1:-1])]
    if base == "ScalarType" and text in DTYPES:
        return getattr(torch, DTYPES[text])
    try:
        return float(text) if base in ("float",) or re.search(r"[.e]|inf|nan", text) else int(text)
    except ValueError:
        raise RuntimeError(f"schema: cannot read the default {text!r}") from None


def canonical(text):
    """A schema as PyTorch writes it. RuntimeError for text that is none, with the place marked."""
    try:
        found = _cresset._canonical_schema(text)
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    return found if "::" in text.partition("(")[0] else found.removeprefix("aten::")


def parse(text, namespace):
    """A schema of a text, in PyTorch's form of it. RuntimeError for text that is none, with the place marked."""
    if "Tensor!" in text:  # written memory without a name
        names = itertools.count()
        text = re.sub(r"\bTensor!", lambda found: f"Tensor(written{next(names)}!)", text)
    try:
        text, name, overload, is_plain = _cresset._read_schema(text, namespace)
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    form = Schema(name, overload or "default", _WHOLE_FLOAT.sub(r"=\1.", text) if ".0" in text else text)
    if not is_plain:
        form.arguments  # noqa: B018  which says what cannot be read
    return form
