"""Names that are not taken yet: of the nodes of a graph, and of the variables in its code."""

import builtins
import keyword
import math
import re
import types
import typing

import cresset as torch

from . import _pytree as fx_pytree
from ..utils import _pytree as pytree


class _CustomBuiltin(typing.NamedTuple):
    """A name that generated code may use without more, how a file imports it, and its value."""

    import_str: str
    obj: object


_custom_builtins = {
    "inf": _CustomBuiltin("from math import inf", math.inf),
    "nan": _CustomBuiltin("from math import nan", math.nan),
    "NoneType": _CustomBuiltin("NoneType = type(None)", types.NoneType),
    "torch": _CustomBuiltin("import cresset as torch", torch),
    "device": _CustomBuiltin("from cresset import device", torch.device),
    "fx_pytree": _CustomBuiltin("import cresset.fx._pytree as fx_pytree", fx_pytree),
    "pytree": _CustomBuiltin("import cresset.utils._pytree as pytree", pytree),
}


def _register_custom_builtin(name, import_str, obj):
    _custom_builtins.update({name: _CustomBuiltin(import_str, obj)})


_illegal_names = frozenset((*keyword.kwlist, *vars(builtins)))
_CHARACTERS = re.compile(r"[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"(.*)_(\d+)$")


class Namespace:
    """Names that are taken, and new ones made from proposals: `relu`, `relu_1`, `relu_2`."""

    def __init__(self):
        self._of_object, self._taken, self._last_number = {}, set(), {}

    def create_name(self, candidate, obj):
        """A name that is free and legal, made of a proposal; an object keeps the name it was given first."""
        if obj is None:
            return self._fresh(candidate, None)
        name = self._of_object.get(obj)
        if name is None:
            name = self._of_object[obj] = self._fresh(candidate, obj)
        return name

    def _fresh(self, name, obj):
        if not (name.isascii() and name.isidentifier()):
            name = _CHARACTERS.sub("_", name) or "_unnamed"
            name = f"_{name}" if name[0].isdigit() else name
        stem, number = name, 0
        if name[-1].isdigit() and (match := _NUMBERED.match(name)):
            stem, number = match[1], int(match[2])
        if not self._is_free(name, obj):
            number = self._last_number.get(stem, 0) + 1
            while not self._is_free(name := f"{stem}_{number}", obj):
                number += 1
            self._last_number[stem] = number
        elif stem is not name:
            self._last_number[stem] = number
        self._taken.add(name)
        return name

    def _is_free(self, name, obj):
        return name not in self._taken and not self._is_illegal_name(name, obj)

    def _is_illegal_name(self, name, obj):
        if name in _illegal_names:
            # the builtin itself keeps its name
            return name not in vars(builtins) or vars(builtins)[name] is not obj
        return name in _custom_builtins and _custom_builtins[name].obj is not obj

    def associate_name_with_obj(self, name, obj):
        """Note the name that an object has. AssertionError for one that has another."""
        if (present := self._of_object.setdefault(obj, name)) != name:
            raise AssertionError(f"associate_name_with_obj: the object has the name {present!r} already, got {name!r}")

    def _rename_object(self, obj, name):
        if self._of_object.get(obj) is None:
            raise AssertionError("_rename_object: the object has no name")
        self._of_object.update({obj: name})
        self._taken.add(name)


_Namespace = Namespace
_CAMEL = re.compile(r"(?<=[a-z])[A-Z]")


def _snake_case(text):
    """A name in lower case, with underscores where its words begin.

    >>> torch.fx.graph._snake_case("ReLU"), torch.fx.graph._snake_case("maxPool")
    ('re_lu', 'max_pool')
    """
    return _CAMEL.sub(lambda match: "_" + match[0], text).lower() if not text.islower() else text


def _is_magic(name):
    return name.startswith("__") and name.endswith("__")
