"""From a module of Python to its compiled form."""

import ast
import enum
import inspect
import re
import sys
import textwrap
import types
import typing

import _cresset_graph as _graph

import cresset as torch

from ..nn import Module, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from ..nn.parameter import is_lazy
from . import _library, _marks, _resolve
from ._definition import defaults_of, native, takes_more, with_signature
from ._function import ScriptFunction
from ._module import _INTERNAL, RecursiveScriptModule, ScriptModule, wrap

_CONTAINERS = {"ModuleList": ModuleList, "Sequential": Sequential, "ModuleDict": ModuleDict, "ParameterList": ParameterList, "ParameterDict": ParameterDict}
_shared_classes = {}  # by what `_Builder._shared_key` says
concrete_type_store = types.SimpleNamespace(type_store={})  # libraries take their classes out, so that none is shared; ours are never in


def define_methods(cls, texts, may_replace=False):
    """Compiles methods of texts, pairs of a text and the resolver of its names, for a class. Errors: RuntimeError where it has one of them already."""
    name = _graph.script_class_info(cls)["name"]
    made = []
    for text, resolver in texts:
        for part in re.split(r"(?m)^(?=def )", textwrap.dedent(text)):
            if (found := re.match(r"def (\w+)", part)) is None:
                continue
            if not may_replace and _graph.script_class_method(cls, found[1]) is not None:
                raise RuntimeError(f"define: '{name.rpartition('.')[2]}' has a method '{found[1]}' already")
            function = _graph.script_unit_define(_resolve.unit, f"{name}.{found[1]}", part, "<string>", 1, resolver, cls, {})
            _graph.script_class_add(cls, "method", found[1], function)
            made.append(function)
    for function in made:
        _graph.script_function_compile(function)


class _Text:
    def value(self, name):
        return ("torch", None) if name == "torch" else None

    def type(self, expression):
        return None


def _annotations_of(module):
    """Name -> annotation of attributes, from the class, and what `Final` and `__constants__` name."""
    hints, constants = {}, set()
    for cls in reversed(type(module).__mro__):
        constants |= set(vars(cls).get("__constants__", ()))
        for name, annotation in vars(cls).get("__annotations__", {}).items():
            if isinstance(annotation, str):
                try:
                    annotation = eval(annotation, vars(sys.modules[cls.__module__]), dict(vars(cls)))
                except Exception:
                    continue
            if annotation is typing.Final or typing.get_origin(annotation) is typing.Final:
                constants.add(name)
            else:
                hints[name] = annotation
    hints.update(_init_annotations(module))
    return hints, constants


def _init_annotations(module):
    """Those that __init__ writes: self.x: Optional[int] = None."""
    out = {}
    init = type(module).__init__
    if not inspect.isfunction(init) or init.__module__.startswith("cresset."):
        return out
    original = (
        next((c.cell_contents for c in init.__closure__ or () if inspect.isfunction(c.cell_contents)), init)
        if init.__qualname__.startswith("ScriptModule.")
        else init
    )
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(original)))
    except (OSError, SyntaxError, TypeError):
        return out
    resolver = _resolve.Resolver(original)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Attribute)
            and isinstance(node.target.value, ast.Name)
            and node.target.value.id == "self"
        ):
            if (found := resolver.type(ast.unparse(node.annotation))) is not None:
                out[node.target.attr] = found
    return out


def _is_constant(value):
    return (
        value is None
        or isinstance(value, (bool, int, float, str, complex, torch.dtype, torch.device, torch.layout))
        or (isinstance(value, (list, tuple)) and all(_is_constant(v) for v in value))
    )


def _check_constant(value, path):
    """TypeError, naming the part that is none, for what can be no constant of a module."""
    if isinstance(value, (list, tuple)):
        for part in value:
            _check_constant(part, path)
    elif not (_is_constant(value) or isinstance(value, enum.Enum)):
        raise TypeError(
            f"'{torch.typename(value)}' object in attribute '{path}' is no constant: expected None, a number, bool, str, dtype, device, layout or member of an enum, or lists and tuples of these"
        )


def _as_constant(value):
    """A constant as the compiler holds it: lists, which nothing may change, are tuples."""
    return tuple(map(_as_constant, value)) if isinstance(value, list) else value


def _compile_class_of(value):
    """Compiles the class of an object that a module holds, if it is a program's own. Errors: those of a class that does not compile."""
    cls = type(value)
    if cls.__module__ not in ("builtins", "typing") and cls.__module__.partition(".")[0] != "cresset" and not isinstance(value, (tuple, Module, torch.Tensor)):
        _resolve.class_handle(cls)


def create_script_module(module, stubs=None, share_types=True, is_tracing=False):
    """The compiled form of a module, with `stubs(module)` saying which methods to compile; as `torch.jit.script` does by default. Modules of one Python class,
    equal types of attributes and equal constants have one compiled class, unless `share_types` says otherwise."""
    type(module).forward  # noqa: B018  graphs of torch.fx compile theirs when it is asked for
    check_sizes(module)
    return _Builder(module, share_types=share_types).build(stubs, is_tracing)


def check_sizes(module):
    """RuntimeError for parameters and buffers of lazy modules that have no sizes yet."""
    waiting = [name for name, value in (*module.named_parameters(), *module.named_buffers()) if is_lazy(value)]
    if waiting:
        raise RuntimeError(f"{type(module).__name__}: {', '.join(waiting)} have no sizes yet; run a forward pass before the module is compiled")


def infer_methods_to_compile(module):
    """The names of the methods that `torch.jit.script` compiles: `forward` and those marked with `export`."""
    return _Builder(module)._to_compile(None)


def script_module(module):
    if isinstance(module, RecursiveScriptModule):
        return module
    if isinstance(module, ScriptModule) and module._script() is not None:
        return module._script()
    prepared = _prepared(module)
    return create_script_module(prepared) if isinstance(prepared, Module) else torch.jit.script(prepared)


def _prepared(module):
    """The module that is compiled in place of one, as it says itself."""
    return module.__prepare_scriptable__() if hasattr(module, "__prepare_scriptable__") else module


class _Builder:
    """Makes the class of one module and its object."""

    def __init__(self, module, made=None, share_types=True):
        self.module, self.share_types = module, share_types
        self.made = {} if made is None else made  # modules that occur twice are one
        self.is_tracing = False
        self.own = type(module).__module__.startswith("cresset.nn.")
        self.methods, self.pending = {}, []

    def build(self, stubs=None, is_tracing=False):
        m = self.module
        self.is_tracing = is_tracing
        if type(m).__init__ is not Module.__init__ and "_parameters" not in m.__dict__:
            raise RuntimeError(f"torch.jit.script: {type(m).__name__}.__init__ has not called super().__init__()")
        container = next((name for name, cls in _CONTAINERS.items() if isinstance(m, cls)), "")
        self.cls = _graph.script_class_new(_resolve.unit, _resolve.qualified_name(type(m)), "module", container)
        self.name = _graph.script_class_info(self.cls)["name"]
        _resolve.module_types[self.name] = type(m)
        values = self._attributes()
        is_like_others = self.share_types and not is_tracing and stubs is None and "_texts" not in m.__dict__
        shared = self._shared_key() if is_like_others else None
        known = _shared_classes.get(shared)
        if known is not None:
            return self._object(known, values)
        exported = [key for key in self._to_compile(None) if key != "forward"] if is_tracing else []
        if not is_tracing or exported:
            _graph.script_class_add(self.cls, "finder", self._find)
        if not is_tracing:
            self._hooks()
            for key in self._overload_names():
                self._overloads(key)
        if not is_tracing:
            define_methods(self.cls, m.__dict__.get("_texts", ()), may_replace=True)
            for key in self._to_compile(stubs):
                function = self._find(key)
                if function is not None:
                    _graph.script_function_compile(function)
            self._hooked()
        for key in exported:
            _graph.script_function_compile(self._find(key))
        if shared is not None:
            _shared_classes[shared] = self.cls
        return self._object(self.cls, values)

    def _object(self, cls, values):
        handle = _graph.script_object_new(cls)
        for name, value in values.items():
            _graph.script_object_set(handle, name, value)
        self.made[id(self.module)] = wrapper = wrap(handle, self.module)
        return wrapper

    def _shared_key(self):
        """The key that modules of one compiled class have in common; None where the class is this module's own."""
        m, cls = self.module, type(self.module)
        if m._forward_hooks or m._forward_pre_hooks or isinstance(m, ScriptModule) or any(map(callable, m.__dict__.values())):
            return None
        for name in dir(cls):
            use = _marks.use_of(inspect.getattr_static(cls, name, None))
            if use is not None and use[0] == _marks.Use.IGNORE:
                return None  # Python runs it on this very module
        info = _graph.script_class_info(self.cls)
        text = _library.method_text(m, "forward") if self._defines_forward() else None
        return cls, tuple(map(tuple, info["attributes"])), repr(sorted(info["constants"].items())), text

    def _part(self, part):
        if isinstance(part, ScriptModule):
            return script_module(part)
        if id(part) not in self.made:
            what = part if self.is_tracing else _prepared(part)
            self.made[id(part)] = (
                script_module(what) if isinstance(what, ScriptModule) else _Builder(what, self.made, self.share_types).build(None, self.is_tracing)
            )
        return self.made[id(part)]

    # ---- attributes -------------------------------------------------------------------------------------------------------

    def _attributes(self):
        m, values = self.module, {}
        hints, constants = _annotations_of(m)
        hints = {**hints, **m.__dict__.get("_types", {})}

        def add(name, text, value, parameter=False, buffer=False):
            _graph.script_class_add(self.cls, "attribute", name, text, parameter, buffer)
            values[name] = value

        for name, p in m._parameters.items():
            add(name, "Tensor" if p is not None else "None", p, p is not None, False)
        for name, b in m._buffers.items():
            text = "Tensor" if b is not None else "None"
            if name in hints and b is None:
                text = self._type(hints[name])
            add(name, text, b, False, b is not None)
        add("training", "bool", m.training)
        for name, part in m._modules.items():
            if part is None:
                add(name, "None", None)
                continue
            script = self._part(part)
            text = _graph.script_class_info(_graph.script_object_class(script._c))["name"]
            if not self.is_tracing and name in hints and isinstance(hints[name], type) and getattr(hints[name], "_torchscript_interface", False):
                text = self._type(hints[name])
            add(name, text, script._c)
            self.modules = {**getattr(self, "modules", {}), name: script}
        for name, value in m.__dict__.items():
            if name in _INTERNAL or name in values or name in ("_texts", "_types"):
                continue
            self._plain(name, value, hints, constants, add)
        for name in constants:
            if name not in m.__dict__ and hasattr(type(m), name) and name not in values and _is_constant(getattr(type(m), name)):
                _graph.script_class_add(self.cls, "constant", name, _as_constant(getattr(type(m), name)))
        for name, cls_value in list(vars(type(m)).items()):
            if not name.startswith("_") and name not in values and isinstance(cls_value, (bool, int, float, str)) and name not in m.__dict__:
                _graph.script_class_add(self.cls, "failed", name, "it is an attribute of the class; annotate it with Final")
        return values

    def _type(self, hint):
        text = hint if isinstance(hint, str) else _resolve.type_text(hint)
        if text is None:
            raise RuntimeError(f"torch.jit.script: {hint} is no type of TorchScript")
        return text

    def _plain(self, name, value, hints, constants, add):
        from ._api import NotSupportedError

        if isinstance(value, _marks.Attribute):
            return add(name, self._type(value.type), value.value)
        if name in constants:
            _check_constant(value, f"{type(self.module).__name__}.{name}")
            return _graph.script_class_add(self.cls, "constant", name, _as_constant(value))
        if self.own and _is_constant(value) and not name.startswith("_"):
            return _graph.script_class_add(self.cls, "constant", name, value)
        if name in hints:
            try:
                return add(name, self._type(hints[name]), value)
            except RuntimeError as error:
                return _graph.script_class_add(self.cls, "failed", name, str(error))
        if inspect.isfunction(value) or isinstance(value, ScriptFunction) or callable(value) and not isinstance(value, (type, torch.Tensor, torch.device)):
            return self._callable(name, value)
        try:
            if isinstance(value, enum.Enum):
                return add(
                    name,
                    _graph.script_class_info(_resolve.enum_class(type(value)))["name"],
                    _graph.script_enum_value(_resolve.enum_class(type(value)), value.name),
                )
            _compile_class_of(value)
            text = _graph.script_value_type(value)
        except (TypeError, RuntimeError, OSError, NotSupportedError) as error:
            return _graph.script_class_add(self.cls, "failed", name, f"{error}; it could not become an attribute")
        add(name, text, value)

    def _callable(self, name, value):
        from ._api import NotSupportedError

        try:
            described = _resolve.describe(value, name)
        except (RuntimeError, NotSupportedError) as error:  # told where the attribute is used
            described = ("error", str(error))
        if described[0] == "function":
            _graph.script_class_add(self.cls, "static", name, described[1])
        elif described[0] in ("builtin", "overloads", "flags"):
            _graph.script_class_add(self.cls, "function", name, described)
        else:
            _graph.script_class_add(self.cls, "failed", name, described[1] if described[0] == "error" else "it is a function of Python")

    # ---- methods ----------------------------------------------------------------------------------------------------------

    def _to_compile(self, stubs):
        if stubs is not None:
            found = stubs(self.module)
            return [getattr(s, "__name__", s) for s in found]
        m = type(self.module)
        out = []
        if isinstance(self.module, Sequential) and not self._defines_forward():
            out.append("forward")
        forward = inspect.getattr_static(self.module, "forward", None)
        if forward is not None and getattr(forward, "__name__", "") != "_forward_unimplemented" and self._defines_forward():
            out.append("forward")
        for name in dir(m):
            member = inspect.getattr_static(m, name, None)
            use = _marks.use_of(member)
            if use is not None and use[0] == _marks.Use.EXPORT and name not in out:
                out.append(name)
            if getattr(member, "_torchscript_method", False) and name not in out:
                out.append(name)
        return out

    def _defines_forward(self):
        for cls in type(self.module).__mro__:
            if cls is Module:
                return False
            if "forward" in vars(cls):
                return cls.__module__ != "cresset.nn.modules.container"
        return True

    def _member(self, name):
        member = inspect.getattr_static(self.module, name, None)
        if name == "forward" and not self._defines_forward():
            return None
        return member

    def _find(self, name):
        if name in self.methods:
            return self.methods[name]
        if name == "forward" and _graph.script_class_info(self.cls)["container"] == "Sequential" and not self._defines_forward():
            return self._sequential()
        member = self._member(name)
        if name.endswith("__packed") and _library.method_text(self.module, "forward", name) is not None:
            return self._compile(name, self._member("forward"))
        if isinstance(member, property) or member is None:
            return self._property(name, member)
        if isinstance(member, staticmethod):
            self._callable(name, member.__func__)
            return None
        if isinstance(member, classmethod):  # bound to the module: there are no values that are classes
            return self._compile(name, member.__func__)
        if inspect.isfunction(member) and member.__module__ == "cresset.nn.modules.container":
            return None
        if not inspect.isfunction(member) or (name in vars(Module) and name in vars(Module) and member is vars(Module)[name]):
            return None
        return self._compile(name, member)

    def _keep(self, name, function):
        self.methods[name] = function
        _graph.script_class_add(self.cls, "method", name, function)
        return function

    def _sequential(self):
        parts = list(self.module._modules)
        lines = [f"    input = getattr(self, {p!r})(input)" for p in parts]
        first = self.modules[parts[0]].forward.schema.arguments if parts else []
        of = first[1].type.annotation_str if len(first) > 1 else "Tensor"
        head = f"def forward(self, input: {of}):\n"
        if parts:
            lines[0] = f"    x0 = getattr(self, {parts[0]!r})(input)"
            for i, p in enumerate(parts[1:], 1):
                lines[i] = f"    x{i} = getattr(self, {p!r})(x{i - 1})"
            lines.append(f"    return x{len(parts) - 1}")
        else:
            lines = ["    return input"]
        text = head + "\n".join(lines) + "\n"
        return self._keep(
            "forward", _graph.script_unit_define(_resolve.unit, f"{self.name}.forward", text, "torch/nn/modules/container.py", 1, _Text(), self.cls, {})
        )

    def _compile(self, name, fn, key=None):
        key = key or name
        use = _marks.use_of(fn)
        qualified = f"{self.name}.{key}"
        if use is not None and use[0] in (_marks.Use.IGNORE, _marks.Use.UNUSED, _marks.Use.DROP):
            return self._keep(key, self._dropped(qualified, fn, use[0]))
        text = _library.method_text(self.module, "forward" if name.endswith("__packed") else name, name) if key == name else None
        if text is not None:
            text = text.strip("\n") + "\n"
            function = _graph.script_unit_define(_resolve.unit, qualified, text, f"torch/nn/modules/{name}", 1, _library.Names(), self.cls, {})
        else:
            source, file, line = _resolve.source_of(fn)
            if name == "__setstate__":
                source = self._with_state(source)
            function = _graph.script_unit_define(_resolve.unit, qualified, source, file, line, _resolve.Resolver(fn), self.cls, defaults_of(fn))
        return self._keep(key, function)

    def _with_state(self, source):
        """The text of `__setstate__`, whose state is what `__getstate__` gives where nothing says otherwise."""
        getter = self._find("__getstate__")
        if getter is None or re.search(r"#\s*type:", source) is not None:
            return source
        _graph.script_function_compile(getter)
        state = _graph.script_function_info(getter)["returns"][0]
        return re.sub(r"(def\s+__setstate__\s*\(\s*\w+\s*,\s*\w+)(\s*[,)])", rf"\1: {state}\2", source, count=1)

    def _dropped(self, qualified, fn, use):
        rows, result = native(fn, qualified, skip_self=True)
        if use == _marks.Use.IGNORE:
            module, made = self.module, self.made

            def call(this, *args):
                return fn(made.get(id(module), module), *args)  # the compiled module: what the function sets is seen by compiled code

            return _graph.script_unit_native(_resolve.unit, qualified, [("self", self.name, False, None), *rows], result, call, takes_more(fn))
        arguments = ", ".join(f"{key}: {type_}" + (f" = {value!r}" if has else "") for key, type_, has, value in rows)
        text = f'def {fn.__name__}(self, {arguments}) -> {result}:\n    raise NotImplementedError("{fn.__name__} is marked as unused: it was not compiled")\n'
        function = _graph.script_unit_define(_resolve.unit, qualified, text, "<unused>", 1, _resolve.Resolver(fn), self.cls, {})
        return _graph.script_function_takes_more(function, takes_more(fn))

    def _property(self, name, member):
        if not isinstance(member, property) or member.fget is None or isinstance(vars(Module).get(name), property):
            return None
        if _marks.use_of(member.fget) is not None:
            return None
        getter, setter = f"__{name}_getter", ""
        self._compile(member.fget.__name__, member.fget, getter)
        if member.fset is not None:
            setter = f"__{name}_setter"
            self._compile(member.fset.__name__, member.fset, setter)
        _graph.script_class_add(self.cls, "property", name, getter, setter)
        return None

    def _overload_names(self):
        return [name for cls in type(self.module).__mro__ for name, member in vars(cls).items() if inspect.isfunction(member) and _marks.overloads_of(member)]

    def _overloads(self, name):
        body = inspect.getattr_static(self.module, name)
        signatures = _marks.overloads_of(body)
        names = []
        for index, signature in enumerate(signatures):
            key = f"{name}__{index}"
            source, file, line = _resolve.source_of(body)
            source = with_signature(source, signature)
            function = _graph.script_unit_define(
                _resolve.unit, f"{self.name}.{key}", source, file, line, _resolve.Resolver(body), self.cls, defaults_of(signature)
            )
            self._keep(key, function)
            names.append(key)
        _graph.script_class_add(self.cls, "overloads", name, names)

    def _hooks(self):
        m, named = self.module, {}
        for kind, hooks in (("pre_hook", m._forward_pre_hooks), ("hook", m._forward_hooks)):
            for hook in hooks.values():
                key = hook.__name__
                if named.setdefault(key, hook) is not hook or hasattr(type(m), key):
                    raise RuntimeError(
                        f"torch.jit.script: hooks are methods of the compiled module, and {type(m).__name__} has two of the name '{key}'; rename one"
                    )
                if key not in self.methods:
                    self._compile(key, hook, key)
                _graph.script_class_add(self.cls, kind, key)

    def _hooked(self):
        """The method that a call of the module from Python runs, where there are hooks."""
        m = self.module
        if not m._forward_hooks and not m._forward_pre_hooks:
            return
        arguments = self.methods["forward"] and _graph.script_function_info(self.methods["forward"])["arguments"][1:]
        head = ", ".join(["self", *(f"{a[0]}: {a[1]}" for a in arguments)])
        inner = ", ".join(a[0] for a in arguments)
        text = f"def __call_hooked__({head}):\n    return self({inner})\n"
        function = _graph.script_unit_define(_resolve.unit, f"{self.name}.__call_hooked__", text, "<hooks>", 1, _Text(), self.cls, {})
        self._keep("__call_hooked__", function)
        _graph.script_function_compile(function)
