"""Schemas as `OpOverload._schema` shows them: a name, arguments with types and defaults, results, what is written."""

import re

_HEAD = re.compile(r"(?:(\w+)::)?(\w+)(?:\.(\w+))?\((.*)\) -> (.+)$", re.DOTALL)
_ONE = re.compile(r"([\w.]+)(?:\(([^)]*)\))?(\?)?(\[\d*\])?(\[\])?(?:\(([^)]*)\))?(\?)?(?:\s+(\w+)(?:\s*=\s*(.+))?)?$", re.DOTALL)
_OF_PARTS = re.compile(r"(?:Dict|Future|RRef)?\(")
_NOTHING = object()
_SHOWN = {"SymInt": "int", "Scalar": "number", "ScalarType": "int", "Layout": "int", "MemoryFormat": "int"}
_NAMED_DEFAULTS = {"Mean": 1, "contiguous_format": 0, "long": 4, "None": None, "True": True, "False": False}


def split(text):
    """The parts between commas that stand outside of brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, None
    for i, c in enumerate(text):
        if quote:
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        else:
            depth += (c in "([") - (c in ")]")
            if c == "," and depth == 0:
                parts.append(text[start:i].strip())
                start = i + 1
    return [part for part in (*parts, text[start:].strip()) if part]


def compound(text):
    """The type with parts that a text begins with, as `Dict(str, int)` or `(Tensor, int)`; "" where it begins with another."""
    head = _OF_PARTS.match(text)
    depth = 1
    for end in range(head.end(), len(text)) if head else ():
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return text[: end + 1]
    return ""


def read_argument(text):
    """The parts of an argument, or of a result: type, alias, whether and how it is a list or may be None, name and default. RuntimeError for other text."""
    whole = compound(text)
    found = _ONE.match("Any" + text.removeprefix(whole) if whole else text)
    if found is None:
        raise RuntimeError(f"schema: cannot read the argument {text!r}")
    base, alias, first, listed, nested, other_alias, second, name, default = found.groups()
    items, optional = (first, second) if listed else (None, first or second)
    return whole or base, alias or other_alias, items, listed, nested, optional, name, default


def results_of(text):
    """The results behind the arrow, one or several in brackets."""
    return split(text[1:-1]) if text[0] == "(" and compound(text) == text else [text]


def _default(text):
    if text in _NAMED_DEFAULTS:
        return _NAMED_DEFAULTS[text]
    if text[0] in "\"'":
        return text[1:-1]
    if text[0] == "[":
        return [_default(part) for part in split(text[1:-1])]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _text_of(value, like):
    """A default as schemas show it; a number of an argument of floats has a point, or an exponent."""
    if isinstance(value, list):
        return f"[{', '.join(_text_of(v, like) for v in value)}]"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float) or (like == "float" and type(value) is int):
        digits = f"{value:.17g}"
        return digits if set(digits) & set(".enif") else f"{digits}."
    return str(value)


class ArgumentType:
    """The type of an argument or a result; its text is PyTorch's: `Optional[Tensor]`, `List[int]`, `number`. It is an object of the class of its kind."""

    def __new__(cls, base=None, listed=False, optional=False, is_real=False):
        found = object.__new__(cls)
        found._set(base, listed, optional, is_real)
        if cls is ArgumentType:
            found.__class__ = CLASSES[found.kind()]
        return found

    def _set(self, base, listed, optional, is_real):
        self.base, self._listed, self._optional, self._is_real = base, listed, optional, is_real

    @classmethod
    def get(cls):
        """The type of the kind; RuntimeError for kinds that are made of others."""
        if cls.base is None:
            raise RuntimeError(f"{cls.__name__}: is made of another type, as {cls.__name__}(TensorType.get())")
        return ArgumentType(cls.base)

    base = None

    def kind(self):
        """`OptionalType`, `ListType`, `TensorType`, `IntType` ..."""
        if self._optional:
            return "OptionalType"
        if self._listed:
            return "ListType"
        if self.base.startswith("__torch__."):
            return "ClassType"
        shown = self.base if self._is_real else _SHOWN.get(self.base, self.base)
        if shown[0] == "(":
            return "TupleType"
        name = {"str": "StringType", "Device": "DeviceObjType"}.get(shown, f"{shown[:1].upper()}{shown[1:].partition('(')[0]}Type")
        return name if name in CLASSES else "AnyType"

    def getElementType(self):
        """The type within the optional or the list."""
        if self._optional:
            return ArgumentType(self.base, self._listed, is_real=self._is_real)
        if self._listed == "[]":
            return ArgumentType(self.base, True, is_real=self._is_real)
        items = isinstance(self._listed, str) and self._listed == "?"
        return ArgumentType(self.base, False, items, self._is_real)

    def isSubtypeOf(self, other):
        """Whether values of the type are values of another."""
        return self == other or other.kind() == "AnyType" or (other.kind() == "OptionalType" and self.isSubtypeOf(other.getElementType()))

    def holds_list(self):
        """Whether it is a list, or one that may be None."""
        return bool(self._listed)

    @property
    def annotation_str(self):
        """Its text, as annotations have it."""
        return str(self)

    def str(self):
        """Its text, as schemas have it: `Tensor?`, `int[]`, `Scalar`."""
        if self._optional or self._listed:
            return f"{self.getElementType().str()}{'?' if self._optional else '[]'}"
        return "Scalar" if self.base == "Scalar" else f"{self}"

    def __str__(self):
        if self._optional:
            return f"Optional[{self.getElementType()}]"
        if self._listed:
            return f"List[{self.getElementType()}]"
        return self.base if self._is_real else _SHOWN.get(self.base, self.base)

    __repr__ = __str__

    def __eq__(self, other):
        return str(self) == str(other) if isinstance(other, ArgumentType) else NotImplemented

    def __hash__(self):
        return hash(str(self))


class ListType(ArgumentType):
    """Lists of a type."""

    def __new__(cls, element):
        return ArgumentType(element.base, "[]" if element._listed else "?" if element._optional else True)


class OptionalType(ArgumentType):
    """A type, or None."""

    def __new__(cls, element):
        return ArgumentType(element.base, element._listed, True)


class TensorType(ArgumentType):
    """The type Tensor. Those of `create_from_tensor` say what is known of one."""

    base = "Tensor"

    @staticmethod
    def create_from_tensor(tensor):
        """The type of a tensor, with its dtype, device, sizes and strides."""
        from ..jit._ir import type_of_tensor

        return type_of_tensor(tensor)

    @classmethod
    def getInferred(cls):
        """That of values without an annotation."""
        return cls.get()

    def __getattr__(self, name):
        """Questions that types in graphs answer, of which this one knows nothing."""
        from ..jit._ir import Type

        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(Type("Tensor"), name)


_BASES = {"IntType": "int", "FloatType": "float", "BoolType": "bool", "NumberType": "Scalar", "StringType": "str", "AnyType": "Any",
          "DeviceObjType": "Device", "ComplexType": "complex", "ClassType": None, "DictType": None, "TupleType": None, "FutureType": None, "RRefType": None,
          "GeneratorType": "Generator", "StreamType": "Stream", "StorageType": "Storage", "ScalarTypeType": "ScalarType", "LayoutType": "Layout", "MemoryFormatType": "MemoryFormat", "SymIntType": "SymInt"}  # fmt: skip
CLASSES = {
    "ListType": ListType, "OptionalType": OptionalType, "TensorType": TensorType,
    **{name: type(name, (ArgumentType,), {"__doc__": f"The type {base or name}.", "__module__": __name__, "base": base}) for name, base in _BASES.items()},
}  # fmt: skip


class AliasInfo:
    """Which memory an argument or result shares, and whether it is written."""

    def __init__(self, text):
        before, _, after = text.partition("->")
        names = {name.strip(" !") for name in before.split("|")}
        self.is_write = "!" in text
        self.before_set = names
        self.after_set = {name.strip(" !") for name in after.split("|")} if after else names


class Argument:
    """An argument of a schema, or a result."""

    def __init__(self, text, keyword=False):
        base, alias, items, listed, nested, optional, name, default = read_argument(text)
        self.name = name or ""
        kind = base, (nested or ("?" if items else True)) if listed else False, bool(optional)
        self.type = self.real_type = ArgumentType(*kind)
        if base in _SHOWN and _SHOWN[base] == "int" and base != "SymInt":
            self.real_type = ArgumentType(*kind, is_real=True)
        self.N = int(listed[1:-1]) if listed and listed[1:-1] else None
        self._spread = self.N if self.N and not isinstance(default, type(None)) and default[:1] not in "[N" else 0
        self.kwarg_only = keyword
        self.alias_info = AliasInfo(alias) if alias else None
        self.is_write = bool(alias and "!" in alias)
        self.is_out = keyword and self.is_write
        self._text, self._default = text, _NOTHING if default is None else _default(default)
        if default is not None:
            sized = self._spread and (base == "SymInt" or self.N == 1)
            self._text = f"{text[: -len(default)]}{_text_of(self.default_value if sized else self._default, base)}"

    @property
    def default_value(self):
        """The default; None where there is none."""
        if self._default is _NOTHING:
            return None
        return [self._default] * self._spread if self._spread else self._default

    def has_default_value(self):
        """Whether the argument may be left out."""
        return self._default is not _NOTHING

    def _shares_like(self, other):
        return (self.alias_info is None) == (other.alias_info is None) and self.is_write == other.is_write

    def takes(self, older):
        """Whether what an argument of an older schema was given fits this one: by name or place, of a type within this one's, with the same default."""
        same = self.name == older.name and self.N == older.N and self._shares_like(older) and (older.kwarg_only or not self.kwarg_only)
        return same and older.real_type.isSubtypeOf(self.real_type) and (not older.has_default_value() or self._default == older._default)

    def returns_for(self, older):
        """Whether a result stands for that of an older schema."""
        return self.name == older.name and self._shares_like(older) and self.real_type.isSubtypeOf(older.real_type)

    def __str__(self):
        return self._text

    __repr__ = __str__


class FunctionSchema:
    """The schema of one overload, from its text."""

    def __init__(self, text, namespace="aten", overload_name=None):
        found = _HEAD.match(text)
        if found is None:
            raise RuntimeError(f"schema: expected name(arguments) -> returns, got {text!r}")
        owner, name, overload, inside, outside = found.groups()
        if overload_name is not None:
            overload = "" if overload_name == "default" else overload_name
        if outside == "Tensor(a)[]":  # the views of a list may be of any part
            inside = inside.replace("(a)", "(a -> *)", 1)
        self.name, self.overload_name = f"{owner or namespace}::{name}" if owner or namespace else name, overload or ""
        self.arguments, shown, keyword, self.is_vararg = [], [], False, False
        for part in split(inside):
            if part == "*":
                keyword = True
            elif part == "...":
                self.is_vararg = True
            else:
                self.arguments.append(Argument(part, keyword))
            shown.append(part if part in ("*", "...") else str(self.arguments[-1]))
        if self.is_vararg and any(a.has_default_value() for a in self.arguments):
            raise RuntimeError(f"schema: arguments before '...' have no defaults, got {text!r}")
        self.returns = [Argument(part) for part in results_of(outside)]
        self._text = f"{self.name}{'.' + overload if overload else ''}({', '.join(shown)}) -> {outside}"

    @property
    def is_mutable(self):
        """Whether an argument is written."""
        return any(a.is_write for a in self.arguments)

    def _inputs_and_outs(self):
        """The arguments that values go in by, and those that results are written to."""
        return [a for a in self.arguments if not a.is_out], [a for a in self.arguments if a.is_out]

    def _has_head_of(self, old):
        same = self.name == old.name and self.overload_name == old.overload_name and self.is_vararg == old.is_vararg
        return same and len(self.returns) == len(old.returns)

    def is_backward_compatible_with(self, old):
        """Whether calls of an older schema are calls of this one: each argument takes what it took, and those added at the end have defaults."""
        (before, outs_before), (now, outs_now) = old._inputs_and_outs(), self._inputs_and_outs()
        if not self._has_head_of(old) or len(now) < len(before) or len(outs_now) < len(outs_before):
            return False
        taken = [*zip(now, before, strict=False), *zip(outs_now, outs_before, strict=False)]
        results = all(new.returns_for(older) for new, older in zip(self.returns, old.returns, strict=True))
        return results and all(new.takes(older) for new, older in taken) and all(a.has_default_value() for a in now[len(before) :])

    def check_forward_compatible_with(self, old):
        """Whether calls of this schema that leave added arguments out are calls of an older one, and the reason where they are not.

        Arguments of both have to be equal; those that only one has need defaults, and no list as one. Of the results only the number counts.
        """
        (before, outs_before), (now, outs_now) = old._inputs_and_outs(), self._inputs_and_outs()
        if not self._has_head_of(old):
            return False, f"{self.name}: its name, overload or number of results differs from the older schema's"
        if len(outs_now) != len(outs_before):
            return False, f"{self.name}: it has {len(outs_now)} out arguments, and the older schema {len(outs_before)}"
        for new, older in [*zip(now, before, strict=False), *zip(outs_now, outs_before, strict=True)]:
            if not (new.takes(older) and older.takes(new)):
                return False, f"'{new.name}' differs from the older schema's '{older.name}'"
        for other in (*now[len(before) :], *before[len(now) :]):
            if not other.has_default_value():
                return False, f"'{other.name}' is in one of the schemas only, and has no default"
        for new in now[len(before) :]:
            if new.type.holds_list():
                return False, f"the new argument '{new.name}' of type {new.type.str()} has a list as its default"
        return True, ""

    def __str__(self):
        return self._text

    __repr__ = __str__

    def __eq__(self, other):
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self):
        return hash(self._text)
