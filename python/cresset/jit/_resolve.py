"""Meanings of Python's names for the compiler of TorchScript: descriptions that the extension understands, and types as text."""

import ast
import builtins
import collections
import enum
import functools
import inspect
import math
import re
import types
import typing
import warnings

import _cresset_graph as _graph

import cresset as torch

from .._library.operators import Packet as _Packet
from . import _library, _marks

unit = _graph.script_unit_new()
_named_tuples, _enums, _classes = {}, {}, {}
module_types = {}  # the class of Python behind each compiled class of modules, by its name
_functions = {}
_OWN = frozenset({"tensordot", "norm", "unique_consecutive"})  # functions of torch whose operators have other arguments, or results
_SPECIAL = {"no_grad": "no_grad", "enable_grad": "enable_grad", "device": "device"}
_JIT = {
    "annotate": "annotate", "isinstance": "isinstance", "is_scripting": "is_scripting", "is_tracing": "is_tracing", "fork": "fork", "wait": "wait",
    "_fork": "fork", "_wait": "wait", "_awaitable": "_awaitable", "_awaitable_wait": "_awaitable_wait", "_awaitable_nowait": "_awaitable_nowait",
}  # fmt: skip


def qualified_name(obj, name=None):
    """ "__torch__.package.module.Name" of a class or function."""
    name = name or obj.__qualname__.replace("<locals>.", "").replace("<lambda>", "_lambda")
    home = getattr(obj, "__module__", None) or ""
    home = "torch" + home.removeprefix("cresset") if home.partition(".")[0] == "cresset" else home
    parts = ["__torch__", *([] if home in ("__main__", "") else home.split(".")), *name.split(".")]
    return ".".join(re.sub(r"\W", "_", part) for part in parts)


def source_of(fn):
    """(text, file, first line) of a function without the indentation that all lines have.

    Errors: OSError with what to do where Python has not kept the text.
    """
    try:
        lines, first = inspect.getsourcelines(fn)
        file = inspect.getsourcefile(fn) or "<unknown>"
    except (OSError, TypeError) as error:
        raise OSError(f"torch.jit.script: Python has not kept the text of {fn}, which is compiled; the function must stand in a file") from error
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "".join(line[indent:] if line[:indent].isspace() else line for line in lines), file, first


def _annotated(fn):
    """The names in the annotations of a function as they stood where it was defined, which its closure does not keep."""
    hints = {key: value for key, value in getattr(fn, "__annotations__", {}).items() if not isinstance(value, str)}
    if not hints or "<locals>" not in fn.__qualname__:
        return {}
    try:
        head = next((n for n in ast.walk(ast.parse(source_of(fn)[0])) if isinstance(n, ast.FunctionDef)), None)
    except (OSError, SyntaxError, TypeError):
        return {}
    if head is None:
        return {}
    spelled = {a.arg: a.annotation for a in [*head.args.posonlyargs, *head.args.args, *head.args.kwonlyargs]} | {"return": head.returns}
    found = {}
    for key, value in hints.items():
        _match_names(spelled.get(key), value, found)
    return found


def _match_names(node, value, found):
    """Adds the objects that the names in the text of an annotation stand for, told by its value."""
    if isinstance(node, ast.Name):
        found[node.id] = value
    elif isinstance(node, ast.Subscript):
        inner, parts = typing.get_args(value), node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(inner) == len(parts):
            for part, v in zip(parts, inner, strict=True):
                _match_names(part, v, found)


class Resolver:
    """The names around a function: its closure, its module, then what Python has built in."""

    def __init__(self, fn=None, names=None, frame=None):
        self.names = dict(names or {})
        if frame is not None:
            self.names.update(frame.f_locals)
        if fn is not None:
            plain = inspect.unwrap(fn)
            self.globals = plain.__globals__
            code = plain.__code__
            for name, cell in zip(code.co_freevars, plain.__closure__ or (), strict=True):
                try:
                    self.names[name] = cell.cell_contents
                except ValueError:
                    continue
            for name, value in _annotated(plain).items():
                self.names.setdefault(name, value)
        else:
            self.globals = {} if frame is None else frame.f_globals

    def look(self, name):
        for place in (self.names, self.globals):
            if name in place:
                return place[name]
        return getattr(builtins, name)

    def value(self, name):
        try:
            obj = self.look(name)
        except AttributeError:
            return None
        if obj is (builtins.__dict__ | {"inf": math.inf, "nan": math.nan}).get(name) and not isinstance(obj, (bool, int)):
            return None  # the compiler knows these
        return describe(obj, name)

    def type(self, expression):
        try:
            found = self._evaluated(expression)
        except Exception:
            return None
        return type_text(found)

    def is_module_of(self, expression, cls):
        try:
            found = self._evaluated(expression)
        except Exception:
            return None
        if not isinstance(found, type) or not issubclass(found, torch.nn.Module):
            return None
        return issubclass(module_types.get(cls, object), found)

    def _evaluated(self, expression):
        return eval(expression, {**vars(builtins), **self.globals, **self.names})


class TextResolver(Resolver):
    """The names of a frame, for texts: `torch` is the compiler's there, which has operators that Python does not name."""

    def value(self, name):
        return ("torch", torch, _OWN) if name == "torch" else super().value(name)


class Found(TextResolver):
    """The names that a function finds."""

    def __init__(self, find):
        super().__init__()
        self.find = find

    def look(self, name):
        try:
            found = self.find(name)
        except Exception:
            found = None
        return getattr(builtins, name) if found is None else found

    def type(self, expression):
        found = self.find(expression.partition(".")[0])
        return None if found is None else type_text(eval(expression, {expression.partition(".")[0]: found}))


def type_text(annotation):
    """The type of an annotation as the extension reads it; None where there is no such type."""
    if annotation is None or annotation is type(None):
        return "None"
    if isinstance(annotation, str):
        return annotation
    if annotation is typing.Any:
        return "Any"
    if annotation in (int, float, bool, str, complex):
        return annotation.__name__
    plain = {torch.dtype: "dtype", torch.device: "Device", torch.layout: "layout", torch.Generator: "Generator", torch.memory_format: "memory_format"}
    if isinstance(annotation, typing.Hashable) and annotation in plain:
        return plain[annotation]
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is not None:
        inner = [type_text(part) if part is not ... else None for part in parts]
        if None in inner:
            return None
        if origin is typing.Union or origin is types.UnionType:
            return f"Union[{', '.join(inner)}]"
        names = {list: "List", dict: "Dict", tuple: "Tuple", torch.futures.Future: "Future", _marks._Await: "Await", typing.Final: "Final"}
        return f"{names[origin]}[{', '.join(inner) or '()'}]" if origin in names else None
    if isinstance(annotation, type):
        if issubclass(annotation, torch.Tensor) or isinstance(annotation, torch._tensor._TensorType):  # torch.LongTensor and its kin
            return "Tensor"
        if issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
            return named_tuple_text(annotation)
        if issubclass(annotation, enum.Enum):
            return _graph.script_class_info(enum_class(annotation))["name"]
        if annotation in _classes or annotation.__module__ not in ("builtins", "typing"):
            handle = class_handle(annotation)
            return _graph.script_class_info(handle)["name"] if handle is not None else None
    return None


def named_tuple_text(cls):
    """The type of a named tuple; None where a field says a type that is none here, as a bare `tuple`."""
    if cls not in _named_tuples:
        try:
            hints = typing.get_type_hints(cls)
        except NameError as error:
            raise RuntimeError(f"torch.jit.script: an annotation of {cls.__name__} names a type that is not there: {error}") from error
        types_ = [type_text(hints[field]) if field in hints else "Tensor" for field in cls._fields]
        if None in types_:
            return None
        if tensors := [field for field, value in cls._field_defaults.items() if isinstance(value, torch.Tensor)]:
            raise RuntimeError(f"torch.jit.script: the default of {cls.__name__}.{tensors[0]} is a tensor, which all values would share; give it in each call")
        _named_tuples[cls] = _graph.script_named_tuple(qualified_name(cls), types_, list(cls._fields), dict(cls._field_defaults))
    return _named_tuples[cls]


def enum_class(cls):
    if cls not in _enums:
        kinds = {type(member.value) for member in cls}
        if len(kinds) != 1 or not kinds <= {int, float, str}:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise RuntimeError(f"torch.jit: values of the enum {cls.__name__} are all int, all float or all str in TorchScript, got {names or 'none'}")
        handle = _graph.script_class_new(unit, qualified_name(cls), "enum", "")
        for member in cls:
            _graph.script_class_add(handle, "member", member.name, member.value)
        _enums[cls] = handle
    return _enums[cls]


def class_handle(cls):
    """The compiled form of a class of Python; None for what cannot be one."""
    if cls in _classes:
        return _classes[cls]
    if "_torchscript_interface" in vars(cls):
        from . import _classes as classes

        return classes.compile_class(cls)
    if issubclass(cls, (torch.nn.Module, BaseException)) or cls.__module__ == "builtins":
        return None
    from . import _classes as classes

    return classes.compile_class(cls)


def describe(obj, name, constant=False):
    """The meaning of an object of Python for the compiler: (kind, what)."""
    from ._definition import script_function
    from ._function import ScriptFunction

    if isinstance(obj, ScriptFunction):
        return ("function", obj._handle)
    if isinstance(obj, _marks.Mark):
        return ("special", obj.what)
    if isinstance(obj, types.ModuleType):
        return ("namespace", obj, obj.__name__)
    if isinstance(obj, (torch.dtype, torch.layout, torch.memory_format)):
        return ("constant", obj)
    if isinstance(obj, (torch.device, torch.Tensor)) and constant:
        return ("constant", obj)
    if isinstance(obj, enum.Enum):
        return ("constant", _graph.script_enum_value(enum_class(type(obj)), obj.name))
    if obj is None or isinstance(obj, (bool, int, float, str, complex)):
        if constant:
            return ("constant", obj)
        return (
            "error",
            f"python value of type '{type(obj).__name__}' cannot be used as a value. {name} is closed over; pass it as an argument, or as a Final attribute",
        )
    if isinstance(obj, type):
        return _describe_class(obj)
    if isinstance(obj, torch.library.CustomOpDef):
        return ("function", _defined_operator(getattr(getattr(torch.ops, obj._namespace), obj._name.partition(".")[0])))
    if isinstance(obj, _Packet):
        return ("function", _defined_operator(obj))
    if type(obj).__name__ == "OpOverloadPacket":
        return ("builtin", str(obj).replace(".", "::", 1))
    if type(obj).__name__ == "OpOverload":
        return ("builtin", str(obj._schema).partition("(")[0].partition(".")[0])
    if type(obj).__name__ == "ScriptClass" and (handle := _graph.script_class_find(obj.qualified_name)) is not None:
        return ("class", handle)
    if obj is torch.ops or type(obj).__name__ == "_Namespace" and type(obj).__module__ == "cresset.ops":
        return ("namespace", obj, "torch.ops")
    if typing.get_origin(obj) is not None or getattr(obj, "__module__", "") == "typing":
        return ("special", "List")
    if isinstance(obj, torch.nn.Module) and not hasattr(obj, "_c"):
        return ("function", _left_to_python(obj, obj.forward))
    if callable(obj) and _marks.use_of(getattr(type(obj), "__call__", None)) is not None:
        return ("function", _left_to_python(obj, obj.__call__))
    if callable(obj):
        return _describe_function(obj, name, script_function)
    return ("error", f"python value of type '{type(obj).__name__}' cannot be used as a value: {name}")


@functools.cache
def _left_to_python(obj, method):
    """A call of an object that Python runs, with the signature of its method."""
    from ._definition import native, takes_more

    name = qualified_name(type(obj))
    rows, result = native(method, name)
    return _graph.script_unit_native(unit, name, rows, result, obj, takes_more(method))


def operator_of(namespace, name):
    """The handle of the operator `namespace::name` that a program defined in Python; None where there is none."""
    packet = getattr(getattr(torch.ops, namespace), name, None)
    return _defined_operator(packet) if isinstance(packet, _Packet) else None


@functools.cache
def _defined_operator(packet):
    """An operator that a program defined in Python: called back by its schema."""
    schema = next(iter(packet._overloads.values()))._schema
    rows = [(a.name, _spelled(a.type), a.has_default_value(), a.default_value) for a in schema.arguments]
    results = [_spelled(r.type) for r in schema.returns]
    result = "None" if not results else results[0] if len(results) == 1 else f"Tuple[{', '.join(results)}]"
    return _graph.script_unit_native(unit, f"__torch__.torch.ops.{packet._namespace}.{packet.__name__}", rows, result, _by_position(packet, schema))


def _by_position(packet, schema):
    """The operator as a function whose keyword arguments follow the others."""
    keywords = [a.name for a in schema.arguments if a.kwarg_only]
    if not keywords:
        return packet

    def call(*args):
        cut = len(args) - len(keywords)
        return packet(*args[:cut], **dict(zip(keywords, args[cut:])))

    return call


def _spelled(kind):
    """A schema's type in the words of annotations: dtypes keep their own, other than in schemas, where they are integers."""
    return str(kind).replace("int", "dtype") if kind.base == "ScalarType" else str(kind)


def _describe_class(cls):
    if issubclass(cls, BaseException):
        return ("exception", f"{cls.__module__}.{cls.__qualname__}")
    if cls in (torch.no_grad, torch.enable_grad, torch.device):
        return ("special", cls.__name__)
    if cls is torch.Size:
        return ("special", "list")
    if cls is collections.OrderedDict:
        return ("special", "dict")
    if issubclass(cls, torch.nn.Module):
        return ("namespace", cls, cls.__name__)
    if cls in (torch.autograd.profiler.record_function, torch.profiler.record_function):
        return ("special", "record_function")
    if isinstance(cls, torch._tensor._TensorType):
        return ("special", cls.__name__)
    if issubclass(cls, torch.Tensor) or cls is torch.dtype:
        return ("special", "Tensor")
    if cls is torch.Generator:
        return ("builtin", "aten::Generator")
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        text = named_tuple_text(cls)
        return ("type", text) if text else ("error", f"a field of {cls.__name__} has a type that TorchScript has not")
    if issubclass(cls, enum.Enum):
        return ("class", enum_class(cls))
    if cls is torch.autocast:
        from ._contexts import autocast as cls
    handle = class_handle(cls)
    return ("class", handle) if handle is not None else ("error", f"class {cls.__name__} cannot be used in TorchScript")


@functools.cache
def _special_functions():
    from .. import jit

    return {id(getattr(jit, name)): what for name, what in _JIT.items() if hasattr(jit, name)}


def _assert(condition: bool, message: str):
    assert condition, message


def _assert_tensor(condition: torch.Tensor, message: str):
    assert bool(condition), message


def _is_captured() -> bool:
    return False


def _describe_function(fn, name, script_function):
    if (what := _special_functions().get(id(fn))) is not None:
        return ("special", what)
    if fn is torch.autograd.grad:
        return ("special", "autograd.grad")
    if fn is warnings.warn:
        return ("builtin", "aten::warn")
    if fn is torch.jit._unwrap_optional:
        return ("builtin", "aten::_unwrap_optional")
    if fn is torch._assert:
        return ("overloads", tuple(script_function(f)._handle for f in (_assert, _assert_tensor)))
    if getattr(fn, "__name__", "") in ("is_compiling", "is_dynamo_compiling") and fn.__module__.startswith(("cresset.compiler", "cresset._dynamo")):
        return ("function", script_function(_is_captured)._handle)
    if getattr(math, getattr(fn, "__name__", ""), None) is fn:
        return ("builtin", "aten::mathremainder" if fn is math.remainder else f"aten::{fn.__name__}")
    home, own = getattr(fn, "__module__", None) or "", getattr(fn, "__name__", name)
    if (known := _library.functional(fn)) is not None:
        return known
    if home.partition(".")[0] == "cresset" or home.startswith("_cresset") or isinstance(fn, types.BuiltinFunctionType) or not hasattr(fn, "__code__"):
        for candidate in _operator_names(home, own):
            if _graph.script_has_operator(candidate):
                return ("builtin", candidate)
    if not hasattr(inspect.unwrap(fn), "__code__"):
        return ("error", f"function {name} of Python has no text that could be compiled")
    if home.startswith("cresset.") and not home.startswith(("cresset.nn", "cresset.vision")):
        return ("error", f"{name} is no function that TorchScript has")
    from ._definition import script_overloads

    if forms := script_overloads(fn):
        return ("overloads", forms)
    return ("function", script_function(fn)._handle)


def _operator_names(home, name):
    last = home.rpartition(".")[2]
    if home == "cmath" and name in ("phase", "rect"):
        yield {"phase": "aten::angle", "rect": "aten::polar"}[name]
    if last in ("linalg", "fft", "special", "sparse"):
        yield f"aten::{'_' if last == 'sparse' else ''}{last}_{name}"
    for ns in ("aten", "prim"):
        yield f"{ns}::{name}"


def attribute_of(obj, name):
    """The description of an attribute of a module of Python, or of a class of modules, of which static methods are functions."""
    if isinstance(obj, type) and not isinstance(inspect.getattr_static(obj, name, None), staticmethod):
        return None
    if obj is torch or getattr(obj, "__name__", "") == "torch":
        if name in _SPECIAL:
            return ("special", _SPECIAL[name])
        if name in _OWN:
            obj = torch.functional
    try:
        found = getattr(obj, name)
    except AttributeError:
        return None
    if type(obj).__module__ == "cresset.ops" and (ns := obj.__name__.rpartition(".")[2]) and _graph.script_has_operator(f"{ns}::{name}"):
        return ("builtin", f"{ns}::{name}")
    if isinstance(obj, types.ModuleType) and obj.__name__ in ("cresset", "torch") and callable(found) and not isinstance(found, type):
        for candidate in (f"aten::{name}", f"prim::{name}"):
            if _graph.script_has_operator(candidate):
                return ("builtin", candidate)
    return describe(found, name, constant=True)
