"""Classes of Python that TorchScript compiles: plain ones and interfaces."""

import dataclasses
import inspect
import re
import textwrap
import typing
import types

import _cresset_graph as _graph

from ..nn import Module
from . import _marks, _resolve
from ._definition import defaults_of, native, takes_more

_originals = {}  # qualified name -> class of Python


def compile_class(cls, around=None):
    """The handle of a class, with its methods compiled; `around` has names of the program where the class is defined. Errors: RuntimeError for one with base classes; whatever does not compile."""
    if cls in _resolve._classes:
        return _resolve._classes[cls]
    bases = [b for b in cls.__mro__[1:] if b is not object]
    if getattr(cls, "_torchscript_interface", False) and "_torchscript_interface" in vars(cls):
        return _interface(cls)
    if bases and not (len(bases) and all(b.__name__ in ("Generic", "Protocol") for b in bases)):
        raise RuntimeError(f"TorchScript classes do not support inheritance yet. Please directly inherit from 'object': {cls.__name__} has the bases {bases}")
    handle = _graph.script_class_new(_resolve.unit, _resolve.qualified_name(cls), "class", "")
    _resolve._classes[cls] = handle
    try:
        _methods(cls, handle, around or {})
    except Exception:
        del _resolve._classes[cls]
        raise
    _originals[_graph.script_class_info(handle)["name"]] = cls
    return handle


_refused = set()  # classes that do not compile


def may_compile(cls):
    """Whether a class is compiled, now at the latest: objects of it can be attributes of modules."""
    if cls in _resolve._classes:
        return True
    if cls in _refused or cls.__module__ == "builtins" or issubclass(cls, Module) or not isinstance(vars(cls).get("__init__"), types.FunctionType):
        return False
    try:
        compile_class(cls)
    except Exception:  # whatever its methods hold: an attribute that nothing asks for may be of any class
        _refused.add(cls)
        return False
    return True


def _names_of(cls):
    return {cls.__name__: cls}


def _methods(cls, handle, around):
    name = _graph.script_class_info(handle)["name"]
    texts, found = {}, {}  # `found`: what is compiled when something asks for it, as it need not be TorchScript
    if dataclasses.is_dataclass(cls):
        texts.update(_dataclass_texts(cls))
    made = {}
    for key, member in vars(cls).items():
        if key in texts or (key.startswith("__") and key in ("__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__qualname__")):
            continue
        if isinstance(member, staticmethod):
            made[key] = ("static", member.__func__)
        elif isinstance(member, classmethod):
            found[key] = member
        elif isinstance(member, property):
            made[key] = ("property", member)
        elif inspect.isfunction(member) and not (dataclasses.is_dataclass(cls) and key in ("__repr__", "__match_args__", "__hash__", "__replace__")):
            made[key] = ("method", member)
    functions = []

    def static_name(key):
        return f"{name}__{key}"  # in archives no function stands below a class

    def define(key, fn, source, file, line, defaults, self_class):
        names = {**around, **_names_of(cls)}
        resolver = _resolve.Resolver(fn, names) if fn is not None else _resolve.Resolver(None, {**names, **_hint_names(cls)})
        qualified = static_name(key) if self_class is None else f"{name}.{key}"
        function = _graph.script_unit_define(_resolve.unit, qualified, source, file, line, resolver, self_class, defaults)
        functions.append((key, function))
        return function

    def method(key, fn):
        use = _marks.use_of(fn)
        if use is not None and use[0] != _marks.Use.EXPORT:
            rows, result = native(fn, key, skip_self=True, otherwise="Any")
            head = ", ".join(["self", *(f"{name}: {type_}" for name, type_, *_ in rows)])
            text = f"def {key}({head}) -> {result}:\n    raise NotImplementedError('{key} is left to Python: it was not compiled')\n"
            return add(key, _graph.script_function_takes_more(define(key, fn, text, "<unused>", 1, defaults_of(fn), handle), takes_more(fn)))
        source, file, line = _resolve.source_of(fn)
        return add(key, define(key, fn, source, file, line, defaults_of(fn), handle))

    def add(key, function):
        _graph.script_class_add(handle, "method", key, function)
        return function

    def generated(key, text):
        return add(key, define(key, None, text[0], "<dataclass>", 1, text[1], handle))

    def class_method(key, fn):
        """A static function that knows the class by the name of the first parameter."""
        source, file, line = _resolve.source_of(fn)
        own = next(iter(inspect.signature(fn).parameters))
        text = re.sub(rf"(def\s+{key}\s*\(\s*){own}\s*,?\s*", r"\1", source, count=1)
        resolver = _resolve.Resolver(fn, {**around, **_names_of(cls), own: cls})
        function = _graph.script_unit_define(_resolve.unit, static_name(key), text, file, line, resolver, None, defaults_of(fn))
        _graph.script_class_add(handle, "static", key, function)

    def find(key):
        if key not in found:
            return None
        what = found.pop(key)
        if isinstance(what, classmethod):
            return class_method(key, what.__func__)
        return method(key, what) if inspect.isfunction(what) else generated(key, what)

    for key, text in texts.items():
        if key == "__init__":
            generated(key, text)
        else:
            found[key] = text
    if found:
        _graph.script_class_add(handle, "finder", find)
    for key, (kind, member) in made.items():
        if kind == "method":
            method(key, member)
        elif kind == "static":
            source, file, line = _resolve.source_of(member)
            _graph.script_class_add(handle, "static", key, define(key, member, source, file, line, defaults_of(member), None))
        else:
            method_name = f"{key}_getter"
            source, file, line = _resolve.source_of(member.fget)
            _graph.script_class_add(handle, "method", method_name, define(method_name, member.fget, source, file, line, {}, handle))
            setter = ""
            if member.fset is not None:
                setter = f"{key}_setter"
                source, file, line = _resolve.source_of(member.fset)
                _graph.script_class_add(handle, "method", setter, define(setter, member.fset, source, file, line, {}, handle))
            _graph.script_class_add(handle, "property", key, method_name, setter)
    # Attributes are those that __init__ makes: it comes first.
    for key, function in sorted(functions, key=lambda row: row[0] != "__init__"):
        _graph.script_function_compile(function)


def _hint_names(cls):
    import sys

    return dict(vars(sys.modules.get(cls.__module__, object())) if cls.__module__ in sys.modules else {})


def _is_generated(cls, name):
    """Whether `dataclasses` wrote the method, which has no file then; one of the class itself stays."""
    member = vars(cls).get(name)
    return inspect.isfunction(member) and member.__code__.co_filename == "<string>"


def _is_optional(kind):
    if isinstance(kind, str):
        return kind.startswith(("Optional[", "typing.Optional[")) or kind.replace(" ", "").endswith("|None")
    return type(None) in typing.get_args(kind)


def _comparing(name, kind, differ, results, one_missing):
    """Lines for a field of two objects: `results` where its values `differ`, and `one_missing` where just one of them is there."""
    if not _is_optional(kind):
        return _of_values([f"if {differ}:", *("    " + line for line in results)], f"self.{name}", f"other.{name}")
    first, second = f"self_{name}", f"other_{name}"
    both = [f"if {differ}:", *("    " + line for line in results)]
    lines = ["if <a> is not None and <b> is not None:", *("    " + line for line in both), "elif <a> is not None or <b> is not None:", f"    {one_missing}"]
    return [f"{first} = self.{name}", f"{second} = other.{name}", *_of_values(lines, first, second)]


def _of_values(lines, first, second):
    return [line.replace("<a>", first).replace("<b>", second) for line in lines]


def _comparison(cls, name, lines, last):
    body = textwrap.indent("\n".join([*lines, f"return {last}"]), "    ")
    return f"def {name}(self, other: {cls.__name__}) -> bool:\n{body}\n", {}


def _dataclass_texts(cls):
    """`__init__`, `__eq__` and the orders that `dataclasses` has made for a class, as text."""
    fields = [f for f in dataclasses.fields(cls) if f.init]
    own_types = {f.name: f.type.type if isinstance(f.type, dataclasses.InitVar) else f.type for f in cls.__dataclass_fields__.values()}
    given = [f for f in cls.__dataclass_fields__.values() if f in fields or isinstance(f.type, dataclasses.InitVar)]
    names = {f.name: f"{t if isinstance(t := own_types[f.name], str) else _resolve.type_text(t)}" for f in given}
    defaults = {f.name: f.default for f in given if f.default is not dataclasses.MISSING}
    parameters = ", ".join(f"{n}: {t}" for n, t in names.items())
    after = ", ".join(f.name for f in given if f not in fields)
    body = [f"self.{f.name} = {f.name}" for f in fields] + ([f"self.__post_init__({after})"] if hasattr(cls, "__post_init__") else [])
    texts = {}
    if _is_generated(cls, "__init__"):
        if made := [f.name for f in given if f.default_factory is not dataclasses.MISSING]:
            raise NotImplementedError(
                f"torch.jit.script: {cls.__qualname__}.{made[0]} has a default_factory, which TorchScript does not run; give a default, or None"
            )
        texts["__init__"] = (f"def __init__(self, {parameters}):\n" + textwrap.indent("\n".join(body) or "pass", "    ") + "\n", defaults)
    if cls.__dataclass_params__.eq and _is_generated(cls, "__eq__"):
        lines = [line for f in fields if f.compare for line in _comparing(f.name, own_types[f.name], "not (<a> == <b>)", ["return False"], "return False")]
        texts["__eq__"] = _comparison(cls, "__eq__", lines, "True")
    if cls.__dataclass_params__.order:
        for name, op in (("__lt__", "<"), ("__le__", "<="), ("__gt__", ">"), ("__ge__", ">=")):
            results, missing = [f"if <a> {op} <b>:", "    return True", "return False"], "raise TypeError('None has no order')"
            lines = [line for f in fields if f.compare for line in _comparing(f.name, own_types[f.name], "<a> != <b>", results, missing)]
            texts[name] = _comparison(cls, name, lines, "=" in op)
    return texts


def _interface(cls):
    kind = "module_interface" if issubclass(cls, Module) else "interface"
    handle = _graph.script_class_new(_resolve.unit, _resolve.qualified_name(cls), kind, "")
    _resolve._classes[cls] = handle
    name = _graph.script_class_info(handle)["name"]
    for key, member in vars(cls).items():
        if inspect.isfunction(member):
            source, file, line = _resolve.source_of(member)
            resolver = _resolve.Resolver(member, _names_of(cls))
            _graph.script_class_add(
                handle, "interface", _graph.script_unit_define(_resolve.unit, f"{name}.{key}", source, file, line, resolver, handle, defaults_of(member))
            )
    _originals[name] = cls
    return handle


def interface(obj):
    """The class `obj`, whose methods say what objects, or modules, have in common: a type of attributes and arguments.

    Errors: RuntimeError where `obj` is no class, or one with another base than `nn.Module`.

    >>> @torch.jit.interface
    ... class Doubles:
    ...     def forward(self, x): ...
    """
    if not isinstance(obj, type):
        raise RuntimeError(f"torch.jit.interface: expected a class, got {type(obj).__name__}")
    if obj.__bases__ not in ((object,), (Module,)):
        raise RuntimeError(
            f"torch.jit.interface: {obj.__name__} is derived from {obj.__bases__[0].__name__}; an interface has all its methods itself, and at most nn.Module as its base"
        )
    obj._torchscript_interface = True
    obj._torchscript_module = issubclass(obj, Module)
    return obj


def object_of(value):
    """The handle of an object of Python whose class is compiled; its attributes are read now. None for other objects."""
    cls = type(value)
    handle = _resolve._classes.get(cls)
    if handle is None:
        return None
    made = _graph.script_object_new(handle)
    for name, *_ in _graph.script_class_info(handle)["attributes"]:
        _graph.script_object_set(made, name, getattr(value, name))
    return made
