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


_custom_builtins = {}


def _register_custom_builtin(name, import_str, obj):
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)


_register_custom_builtin("inf", "from math import inf", math.inf)
_register_custom_builtin("nan", "from math import nan", math.nan)
_register_custom_builtin("NoneType", "NoneType = type(None)", types.NoneType)
_register_custom_builtin("torch", "import cresset as torch", torch)
_register_custom_builtin("device", "from cresset import device", torch.device)
_register_custom_builtin("fx_pytree", "import cresset.fx._pytree as fx_pytree", fx_pytree)
_register_custom_builtin("pytree", "import cresset.utils._pytree as pytree", pytree)

_illegal_names = frozenset((*keyword.kwlist, *vars(builtins)))
_CHARACTERS = re.compile(r"[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"(.*)_(\d+)$")


class Namespace:
    """Names that are taken, and new ones made from proposals: `relu`, `relu_1`, `relu_2`."""

    def __init__(self):
        self._obj_to_name = {}
        self._used_names = set()
        self._base_count = {}

    def create_name(self, candidate, obj):
        """A name that is free and legal, made of a proposal; an object keeps the name it was given first."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        if not candidate.isidentifier() or not candidate.isascii():
            candidate = _CHARACTERS.sub("_", candidate) or "_unnamed"
            if candidate[0].isdigit():
                candidate = f"_{candidate}"
        numbered = _NUMBERED.match(candidate) if candidate[-1].isdigit() else None
        base = candidate if numbered is None else numbered[1]
        if candidate in self._used_names or self._is_illegal_name(candidate, obj):
            number = self._base_count.get(base, 0) + 1
            while (candidate := f"{base}_{number}") in self._used_names or self._is_illegal_name(candidate, obj):
                number += 1
            self._base_count[base] = number
        elif numbered is not None:
            self._base_count[base] = int(numbered[2])
        self._used_names.add(candidate)
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name, obj):
        """Note the name that an object has. AssertionError for one that has another."""
        if self._obj_to_name.setdefault(obj, name) != name:
            raise AssertionError(f"associate_name_with_obj: the object has the name {self._obj_to_name[obj]!r} already, got {name!r}")

    def _is_illegal_name(self, name, obj):
        if name in _illegal_names:
            # the builtin itself keeps its name
            return name not in vars(builtins) or vars(builtins)[name] is not obj
        return name in _custom_builtins and _custom_builtins[name].obj is not obj

    def _rename_object(self, obj, name):
        if obj not in self._obj_to_name:
            raise AssertionError("_rename_object: the object has no name")
        self._obj_to_name[obj] = name
        self._used_names.add(name)


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
