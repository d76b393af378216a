"""Modules that are compiled: `ScriptModule`, and `RecursiveScriptModule`, which `script` makes and `load` reads."""

import collections.abc
import functools
import inspect
import sys

import _cresset_graph as _graph

import cresset as torch

from ..nn import Module
from . import _marks, _tracing
from ._function import ScriptFunction

_INTERNAL = frozenset(Module().__dict__) | {"_is_full_backward_hook", "_non_persistent_buffers_set"}
_MAGIC = frozenset({"__len__", "__getitem__", "__setitem__", "__delitem__", "__contains__"})


class _Slots(collections.abc.MutableMapping):
    """Parameters or buffers of a compiled module, as its object holds them."""

    def __init__(self, handle, keys):
        self._object, self._keys, self._held = handle, keys, {}

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        self._held[key] = value = _graph.script_object_get(self._object, key)  # one object for as long as it is the value
        return value

    def __setitem__(self, key, value):
        if key not in self._keys:
            raise RuntimeError(f"Can't add a new parameter or buffer to a ScriptModule: {key}")
        _graph.script_object_set(self._object, key, value)

    def __delitem__(self, key):
        raise RuntimeError("parameters and buffers of a ScriptModule cannot be deleted")

    def __iter__(self):
        return iter(self._keys)

    def __len__(self):
        return len(self._keys)

    def copy(self):
        return dict(self)


class ScriptMethod:
    """A method of a compiled module, with what `ScriptFunction` tells of a function."""

    def __init__(self, handle, owner):
        self._handle, self.owner = handle, owner
        self.name = _graph.script_function_info(handle)["name"].rpartition(".")[2]
        self.__name__ = self.name

    def __call__(self, *args, **kwargs):
        return _graph.script_function_run(self._handle, self.owner._c, args, kwargs)

    schema = ScriptFunction.schema
    graph = ScriptFunction.graph
    inlined_graph = ScriptFunction.inlined_graph
    code = ScriptFunction.code
    code_with_constants = ScriptFunction.code_with_constants
    graph_for = ScriptFunction.graph_for
    get_debug_state = ScriptFunction.get_debug_state


def _compiled_first(self, name):
    """The attribute of an object of a program's subclass: of attributes and methods that are compiled, what the compiled form has."""
    found = object.__getattribute__(self, name)
    if name.startswith("__"):
        return found
    own = object.__getattribute__(self, "__dict__")
    inner = own.get("_actual_script_module")
    if inner is None:
        return found
    is_method = inspect.ismethod(found) and getattr(found.__func__, "_torchscript_method", False)
    if is_method:
        method = getattr(inner, name)
        method.__doc__ = found.__doc__
        return method
    is_value = name in own and (name not in _INTERNAL or name in ("_parameters", "_buffers", "_modules")) and name != "_actual_script_module"
    return getattr(inner, name) if is_value else found


def _defined(src, frame):
    """The text of methods, with the names of a frame."""
    from . import _resolve

    return src, _resolve.TextResolver(frame=frame)


class ScriptModule(Module):
    """A module whose methods are compiled. As a base class: methods with `script_method` are compiled when an object has been made.

    >>> class Doubles(torch.jit.ScriptModule):
    ...     @torch.jit.script_method
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Doubles()(torch.ones(1))
    tensor([2.])
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.__dict__.get("_is_own"):
            return
        original = cls.__init__

        def __init__(self, *args, **kw):
            original(self, *args, **kw)
            if type(self) is cls:
                from ._builder import create_script_module

                self.__dict__["_actual_script_module"] = create_script_module(self)
                for spent in ("_texts", "_types"):
                    self.__dict__.pop(spent, None)

        cls.__init__ = __init__
        cls.__getattribute__ = _compiled_first

    def _script(self):
        return self.__dict__.get("_actual_script_module")

    def __getattr__(self, name):
        inner = self.__dict__.get("_actual_script_module")
        if inner is None:
            return super().__getattr__(name)
        return getattr(inner, name)

    def __setattr__(self, name, value):
        inner = self.__dict__.get("_actual_script_module")
        if inner is not None:
            return setattr(inner, name, value)
        if isinstance(value, _marks.Attribute):  # which is its value from here on
            self.__dict__.setdefault("_types", {})[name] = value.type
            value = value.value
        super().__setattr__(name, value)

    def _compiled(self):
        inner = self._script()
        if inner is None:
            raise AttributeError(f"'{type(self).__name__}' object has no compiled method: none is marked with script_method", obj=self)
        return inner

    # The text and the graphs of `forward`, of what an object of a subclass was compiled to.
    code = property(lambda self: self._compiled().forward.code)
    code_with_constants = property(lambda self: self._compiled().forward.code_with_constants)
    graph = property(lambda self: self._compiled().forward.graph)
    inlined_graph = property(lambda self: self._compiled().forward.inlined_graph)

    @property
    def original_name(self):
        inner = self._script()
        return type(self).__name__ if inner is None else inner.original_name

    def graph_for(self, *args, **kwargs):
        """Calls `forward`, and returns the graph that ran."""
        return self._compiled().forward.graph_for(*args, **kwargs)

    def get_debug_state(self, *args, **kwargs):
        """The program that the last call of `forward` ran. Errors: RuntimeError before the first call."""
        return self._compiled().forward.get_debug_state()

    def forward_magic_method(self, method_name, *args, **kwargs):
        """The result of a method such as `__len__`. Errors: NotImplementedError where the module has none."""
        method = getattr(type(self._compiled()), method_name, None)
        if method is None or not self._compiled()._has_magic(method_name):
            raise NotImplementedError(f"{self.original_name} has no {method_name}")
        return method(self._compiled(), *args, **kwargs)

    def save(self, f, **kwargs):
        """Writes it to a file, as `torch.jit.save` does."""
        from ._files import save

        save(self._compiled(), f, **kwargs)

    def save_to_buffer(self, *args, **kwargs):
        """The bytes of the file that `save` writes."""
        from ._files import to_bytes

        return to_bytes(self._compiled(), *args, **kwargs)

    def _save_for_lite_interpreter(self, f, _extra_files=None, _save_mobile_debug_info=False, _use_flatbuffer=False):
        """Writes a file that the lite interpreter reads: `torch.jit.mobile._load_for_lite_interpreter`, or LibTorch's `_load_for_mobile`.

        Errors: NotImplementedError for debug information and flatbuffers; RuntimeError for what the lite interpreter lacks.

        >>> import io, torch.jit.mobile
        >>> file = io.BytesIO(torch.jit.script(nn.ReLU())._save_to_buffer_for_lite_interpreter())
        >>> torch.jit.mobile._load_for_lite_interpreter(file)(torch.tensor([-1.0, 1.0]))
        tensor([0., 1.])
        """
        from ._files import write

        write(f, lambda name: self._lite_bytes(name, _extra_files, _save_mobile_debug_info, _use_flatbuffer))

    def _save_to_buffer_for_lite_interpreter(self, _extra_files=None, _save_mobile_debug_info=False, _use_flatbuffer=False):
        """The bytes of the file that `_save_for_lite_interpreter` writes."""
        return self._lite_bytes("archive", _extra_files, _save_mobile_debug_info, _use_flatbuffer)

    def _lite_bytes(self, name, extra_files, debug_info, flatbuffer):
        from ._files import to_bytes

        if flatbuffer:
            raise NotImplementedError("torch.jit: flatbuffer files are not written; expected _use_flatbuffer=False")
        if debug_info:
            raise NotImplementedError(
                "torch.jit: debug information of bytecode is not written, and the file holds the places of its code instead; expected _save_mobile_debug_info=False"
            )
        return to_bytes(self._compiled(), extra_files, name, lite=True)

    def define(self, src):
        """Adds methods, as text of TorchScript, whose other names are those of the caller."""
        text = _defined(src, sys._getframe(1))
        inner = self._script()
        if inner is not None:
            return inner._define(text)
        self.__dict__.setdefault("_texts", []).append(text)  # compiled with the other methods, when the object has been made

    def __call__(self, *args, **kwargs):
        inner = self._script()
        return inner(*args, **kwargs) if inner is not None else super().__call__(*args, **kwargs)

    def _call_forward(self, *args, **kwargs):
        return self._script().forward(*args, **kwargs)

    def named_parameters(self, *args, **kwargs):
        inner = self.__dict__.get("_actual_script_module")
        return inner.named_parameters(*args, **kwargs) if inner is not None else super().named_parameters(*args, **kwargs)

    def state_dict(self, *args, **kwargs):
        inner = self.__dict__.get("_actual_script_module")
        return inner.state_dict(*args, **kwargs) if inner is not None else super().state_dict(*args, **kwargs)


def _is_unused(module, name, member):
    """Whether a property is marked as one that compiled modules have not."""
    return name in getattr(module, "__jit_unused_properties__", ()) or (member.fget is not None and _marks.use_of(member.fget) is not None)


class RecursiveScriptModule(ScriptModule):
    """The compiled form of a module: its parameters, buffers and submodules are those of the original; what is loaded is one, too.

    >>> torch.jit.script(nn.ReLU())
    RecursiveScriptModule(original_name=ReLU)
    """

    _is_own = True

    def __init__(self, handle, original=None):
        d = self.__dict__
        d["_initializing"] = True
        Module.__init__(self)
        d.update(_c=handle, _original=original)
        info = _graph.script_class_info(_graph.script_object_class(handle))
        d["_info"] = info
        d.pop("training", None)
        d["_parameters"] = _Slots(handle, [row[0] for row in info["attributes"] if row[2]])
        d["_buffers"] = _Slots(handle, [row[0] for row in info["attributes"] if row[3]])
        for name, _, _, _, is_module in info["attributes"]:
            if is_module:
                d["_modules"][name] = wrap(_graph.script_object_get(handle, name, True), None if original is None else original._modules.get(name))
        # Methods of the program that stand for Module's own, such as `_save_to_state_dict`.
        for name in info["methods"]:
            if not name.startswith("__") and name != "forward" and hasattr(Module, name):
                d[name] = self._find_method(name)
        d["_initializing"] = False

    # ---- attributes -------------------------------------------------------------------------------------------------------

    def _other_tensors(self):
        """The attributes that are tensors and neither parameters nor buffers."""
        values = {row[0]: _graph.script_object_get(self._c, row[0]) for row in self._info["attributes"] if not (row[2] or row[3] or row[4])}
        return {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}

    def __getattr__(self, name):
        d = self.__dict__
        if "_c" not in d:
            raise AttributeError(name)
        for row in d["_info"]["attributes"]:
            if row[0] == name:
                if row[4]:
                    return d["_modules"][name]
                value = _graph.script_object_get(d["_c"], name)
                if isinstance(value, _graph.ScriptHandle) and name in d["_modules"]:
                    return d["_modules"][name]
                return value
        if name in d["_modules"]:
            return d["_modules"][name]
        if name in d["_info"]["constants"]:
            return d["_info"]["constants"][name]
        if not name.startswith("__") or name in _MAGIC:
            method = self._find_method(name)
            if method is not None:
                return method
        original = d.get("_original")
        if original is not None and not name.startswith("__"):
            kept = inspect.getattr_static(original, name, None)
            if isinstance(kept, property) and not _is_unused(original, name, kept):
                return kept.fget(self)
            if isinstance(kept, staticmethod):
                return kept.__func__
            if inspect.isfunction(kept) and (use := _marks.use_of(kept)) is not None and use[0] != _marks.Use.EXPORT:
                return kept.__get__(self)
            if name in original.__dict__ and name not in _INTERNAL:
                return original.__dict__[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def _find_method(self, name):
        handle = _graph.script_object_class(self.__dict__["_c"])
        if name not in _graph.script_class_info(handle)["methods"]:
            return None
        function = _graph.script_class_method(handle, name)
        return None if function is None else ScriptMethod(function, self)

    def __setattr__(self, name, value):
        d = self.__dict__
        if d.get("_initializing", True):
            return object.__setattr__(self, name, value)
        for row in d["_info"]["attributes"]:
            if row[0] == name:
                if isinstance(value, Module):
                    if not isinstance(value, ScriptModule):
                        raise RuntimeError(f"cannot set '{name}' to a {type(value).__name__} that is not compiled: give what torch.jit.script makes of it")
                    _graph.script_object_set(d["_c"], name, value._c)
                    d["_modules"][name] = value
                else:
                    _graph.script_object_set(d["_c"], name, value)
                return
        if name in d["_info"]["constants"]:
            raise RuntimeError(f"{name} is a constant of the module, {d['_info']['constants'][name]!r}, which cannot be set")
        if isinstance(value, Module):
            raise RuntimeError(f"cannot add '{name}', a {type(value).__name__}: the modules of a ScriptModule are fixed when it is compiled")
        object.__setattr__(self, name, value)

    def add_module(self, name, module):
        """Refuses modules that were not there when it was compiled; RuntimeError."""
        setattr(self, name, module)

    register_module = add_module

    def __delattr__(self, name):
        if name in self.__dict__:
            return object.__delattr__(self, name)
        part = next((row for row in self._info["attributes"] if row[0] == name), None)
        if part is not None and any(part[2:5]):
            raise RuntimeError(f"cannot delete '{name}': modules, parameters and buffers of a ScriptModule are fixed when it is compiled")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}' that can be deleted", name=name, obj=self)

    @property
    def training(self):
        return _graph.script_object_get(self._c, "training") if any(row[0] == "training" for row in self._info["attributes"]) else True

    @training.setter
    def training(self, value):
        if any(row[0] == "training" for row in self._info["attributes"]):
            _graph.script_object_set(self._c, "training", bool(value))

    @property
    def original_name(self):
        return self._info["name"].rpartition(".")[2]

    @property
    def qualified_name(self):
        """The name of the module's class in TorchScript: "__torch__.NAME"."""
        return self._info["name"]

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        return f"original_name={self.original_name}"

    # ---- methods ----------------------------------------------------------------------------------------------------------

    def __call__(self, *args, **kwargs):
        if _tracing.tracer is not None:
            return _tracing.tracer.call_module(self, args, kwargs)
        if self.__dict__.get("_is_traced_part"):
            raise RuntimeError(f"Trace submodule {self.original_name} is not supported. Only the outermost module of a trace can be called")
        if self._forward_hooks or self._forward_pre_hooks:
            return Module.__call__(self, *args, **kwargs)
        function = _graph.script_class_method(_graph.script_object_class(self._c), "__call_hooked__")
        return ScriptMethod(function, self)(*args, **kwargs) if function is not None else self.forward(*args, **kwargs)

    @property
    def forward(self):
        method = self._find_method("forward")
        if method is None:
            raise AttributeError(f"Module '{self.original_name}' has no method forward", name="forward", obj=self)
        return method

    def _compiled(self):
        return self

    def define(self, src):
        self._define(_defined(src, sys._getframe(1)))

    def _define(self, text):
        from ._builder import define_methods

        define_methods(_graph.script_object_class(self._c), [text])
        self.__dict__["_info"] = _graph.script_class_info(_graph.script_object_class(self._c))

    def _add_attribute(self, name, type_text, value):
        """Adds an attribute of a type, as its text."""
        _graph.script_register_attribute(self._c, name, type_text, value)
        self.__dict__["_info"] = _graph.script_class_info(_graph.script_object_class(self._c))

    def __copy__(self):
        return wrap(_graph.script_object_copy(self._c, False), self._original)

    def __deepcopy__(self, memo):
        return wrap(_graph.script_object_copy(self._c, True), self._original)

    def __reduce_ex__(self, protocol):
        raise RuntimeError(
            "ScriptModules cannot be deepcopied using copy.deepcopy or saved using torch.save. Mixed serialization of script and non-script modules is not "
            "supported. For purely script modules use my_script_module.save(<filename>) instead."
        )

    # ---- containers -------------------------------------------------------------------------------------------------------

    def _items(self):
        if not self._info["container"]:
            raise TypeError(f"'{self.original_name}' object is no container")
        return self._modules

    def __len__(self):
        return len(self._items()) if self._is_plain_container("__len__") else self._magic("__len__")()

    def _magic(self, name):
        method = self._find_method(name)
        if method is None:
            raise NotImplementedError(f"'{self.original_name}' has no compiled {name}: mark it with torch.jit.export")
        return method

    def _has_magic(self, name):
        of_container = ("__len__", "__iter__", "__getitem__", "__contains__")
        return self._find_method(name) is not None or (bool(self._info["container"]) and name in of_container)

    def __bool__(self):
        return True

    def __iter__(self):
        if not self._info["container"]:
            raise TypeError(f"'{self.original_name}' object is not iterable")
        items = self._items() if self._original is None else self._original._modules
        return iter(items) if self._info["container"] == "ModuleDict" else iter(items.values())

    def __getitem__(self, index):
        if not self._is_plain_container("__getitem__"):
            return self._magic("__getitem__")(index)
        items = self._items()
        if isinstance(index, str):
            return items[index]
        return list(items.values())[index]

    def __contains__(self, key):
        return key in self._items() if self._is_plain_container("__contains__") else self._magic("__contains__")(key)

    def _is_plain_container(self, name):
        """Whether it is a container with no compiled method of the name."""
        return bool(self._info["container"]) and self._find_method(name) is None

    def keys(self):
        return self._items().keys()

    def values(self):
        return self._items().values()

    def items(self):
        return self._items().items()


def wrap(handle, original=None):
    """The module around an object."""
    return RecursiveScriptModule(handle, original)


def copy_without(module, methods, attributes):
    """A module of a class of its own with the same values, without some methods and attributes."""
    return wrap(_graph.script_copy_without(module._c, [*methods, *attributes]))


# ---- handles ----------------------------------------------------------------------------------------------------------------

_OF_HANDLES = {
    "hasattr": lambda module, name: any(row[0] == name for row in module._info["attributes"]) or name in module._info["constants"],
    "getattr": lambda module, name: _handle_of(getattr(module, name)),
    "setattr": setattr,
    "_has_method": lambda module, name: module._find_method(name) is not None,
    "_get_method": lambda module, name: getattr(module, name),
    "_method_names": lambda module: list(module._info["methods"]),
    "_get_methods": lambda module: [getattr(module, name) for name in module._info["methods"]],
    "_register_attribute": lambda module, name, type, value: module._add_attribute(name, type.annotation_str, value),
    "_define": lambda module, value, source, resolve=None: module.define(source),
}


def _handle_of(value):
    return value._c if isinstance(value, RecursiveScriptModule) else value


def handle_attribute(handle, name):
    """The attribute or function that the handle of a module has by a name: those of PyTorch's own handles, or of the module."""
    module = wrap(handle)
    return functools.partial(_OF_HANDLES[name], module) if name in _OF_HANDLES else _handle_of(getattr(module, name))
