"""torch.classes: classes of C++ that shared libraries register (`torch::class_`), as torch.classes.namespace.Name.

>>> torch.classes.nowhere.Nothing
Traceback (most recent call last):
RuntimeError: Class nowhere.Nothing not registered! Load its library first, by torch.classes.load_library
"""

import copy as _copy
import types as _types

import _cresset

__all__ = ["classes", "ScriptObject"]


class ScriptObject(_cresset._ScriptObject):
    """An object of a registered C++ class, made by calling the class.

    >>> issubclass(torch.ScriptObject, object)
    True
    """

    def _info(self):
        return _info(self._qualified_name)

    def _type(self):
        """The name of its class: `qualified_name()` and `name()`."""
        return _Type(self._qualified_name)

    def _has_method(self, name):
        """Whether its class has a method of this name."""
        return name in self._info().methods

    def _method_names(self):
        """The names of the methods."""
        return list(self._info().methods)

    def __getattr__(self, name):
        info = self._info()
        if name in info.properties:
            return _cresset._custom_class_property(self, name)
        if name in info.methods:
            return _Method(self, name, info.methods[name])
        raise AttributeError(f"'{info.name}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name, value):
        info = self._info()
        if name not in info.properties:
            raise AttributeError(f"'{info.name}' object has no property '{name}'", name=name, obj=self)
        if not info.properties[name]:
            raise RuntimeError(f"the property '{name}' of '{info.name}' cannot be written: it has no function that sets it")
        _cresset._custom_class_property(self, name, value)

    def __dir__(self):
        info = self._info()
        return [*super().__dir__(), *info.methods, *info.properties]

    def __deepcopy__(self, memo):
        if not self._info().kept:
            raise RuntimeError(f"{self._info().name}: cannot be copied, its class has no def_pickle")
        state = _cresset._call_custom_class(self._qualified_name, "__getstate__", (self,), {})
        return _restored(self._qualified_name, _copy.deepcopy(state, memo))

    def __reduce_ex__(self, protocol):
        if not self._info().kept:
            raise RuntimeError(f"Tried to serialize object {self._qualified_name} which does not have a __getstate__ method defined, by def_pickle")
        return _restored, (self._qualified_name, _cresset._call_custom_class(self._qualified_name, "__getstate__", (self,), {}))

    def __repr__(self):
        return f"<{self._qualified_name.removeprefix('__torch__.')} object>"


def _restored(qualified, state):
    return _cresset._call_custom_class(qualified, "__setstate__", (state,), {})


def _operator(name):
    def call(self, *args):
        info = self._info()
        if name not in info.methods:
            raise NotImplementedError(f"'{info.name}' object has no method {name}, which this needs")
        return _cresset._call_custom_class(self._qualified_name, name, (self, *args), {})

    call.__name__ = name
    return call


for _name in (
    "len contains getitem setitem delitem iter next call bool int float str hash eq ne lt le gt ge add sub mul matmul truediv floordiv mod pow neg pos abs "
    "invert and or xor lshift rshift radd rsub rmul"
).split():
    if _name not in ("hash", "bool", "str"):
        setattr(ScriptObject, f"__{_name}__", _operator(f"__{_name}__"))
ScriptObject.__hash__ = object.__hash__
_cresset._set_script_object_class(ScriptObject)


class _Type:
    def __init__(self, qualified):
        self._qualified = qualified

    def qualified_name(self):
        return self._qualified

    def name(self):
        return self._qualified.rpartition(".")[2]

    def __str__(self):
        return self._qualified

    __repr__ = __str__


class _Method:
    """A method with its object."""

    def __init__(self, owner, name, facts):
        self.owner, self.name, self.__name__ = owner, name, name
        self.schema, self.__doc__ = facts

    def __call__(self, *args, **kwargs):
        return _cresset._call_custom_class(self.owner._qualified_name, self.name, (self.owner, *args), kwargs)


class _Info:
    """Of a class: namespace, name, documentation, {method: (schema, documentation)}, the names of static ones, {property: whether it can be written}."""

    def __init__(self, qualified):
        self.namespace, self.name, self.doc, methods, properties, self.constructible, self.kept = _cresset._custom_class(qualified)
        self.methods = {name: (schema, doc) for name, schema, doc, static in methods if not static}
        self.static = {name: doc for name, _, doc, static in methods if static}
        self.properties = dict(properties)


_infos = {}


def _info(qualified):
    if qualified not in _infos:
        _infos[qualified] = _Info(qualified)
    return _infos[qualified]


class ScriptClass:
    """A registered class: call it to make an object."""

    def __init__(self, namespace, name):
        self.qualified_name = f"__torch__.torch.classes.{namespace}.{name}"
        self.__name__, self.__doc__ = name, _info(self.qualified_name).doc

    def __call__(self, *args, **kwargs):
        info = _info(self.qualified_name)
        if not info.constructible:
            raise RuntimeError(f"{info.name}: has no constructor, its class has no def(torch::init<...>())")
        return _cresset._call_custom_class(self.qualified_name, "__init__", args, kwargs)

    def __getattr__(self, name):
        info = _info(self.__dict__["qualified_name"])
        if name.startswith("__") or name not in info.static:
            raise AttributeError(f"'{info.name}' has no static method '{name}'", name=name, obj=self)
        return lambda *args, **kwargs: _cresset._call_custom_class(self.qualified_name, name, args, kwargs)

    def __repr__(self):
        return f"<class 'torch.classes.{self.qualified_name.removeprefix('__torch__.torch.classes.')}'>"


class _Namespace(_types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = self.__name__.rpartition(".")[2]
        if f"{namespace}.{name}" not in _cresset._custom_class_names():
            raise RuntimeError(f"Class {namespace}.{name} not registered! Load its library first, by torch.classes.load_library")
        found = self.__dict__[name] = ScriptClass(namespace, name)
        return found


class _Classes(_types.ModuleType):
    """The namespaces, and the libraries that were opened."""

    def __init__(self):
        super().__init__("torch.classes")
        self.__dict__["__file__"] = "script_classes.py"

    @property
    def loaded_libraries(self):
        from .. import ops

        return ops.loaded_libraries

    def load_library(self, path):
        """Opens a shared library that registers classes."""
        from .. import ops

        ops.load_library(path)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = self.__dict__[name] = _Namespace(f"torch.classes.{name}")
        return found


classes = _Classes()
