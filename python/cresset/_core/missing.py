"""Lookup of a name that a module does not hold: the object where it lives, a stand-in of an absent wing, or an error that names it and says where to look."""

import importlib
import sys
from importlib.machinery import ModuleSpec, PathFinder

WHERE = "python -m cresset --absent lists what is not there"
fallbacks = []  # functions of (module, name) that give (what it is,), or ()


def _tables():
    """The tables of names that live elsewhere and of absent wings. A `from . import` would ask the package's `__getattr__`, which asks here."""
    return [importlib.import_module(f"cresset._core.{table}") for table in ("paths", "absent")]


def found(module, name):
    """Result of a module's `__getattr__`: a module of its `_SUBMODULES` (`...`: all that have a file), or the stand-in for a name of an absent wing. Raises
    where there is none."""
    lazy = getattr(sys.modules.get(module), "__dict__", {}).get("_SUBMODULES", ())
    if (not name.startswith("__") and _Files.find_spec(f"{module}.{name}", sys.modules[module].__path__)) if lazy is ... else name in lazy:
        return importlib.import_module(f"{module}.{name}")
    for table in () if name.startswith("__") else _tables():
        thing = table.found(module, name)
        if thing is not None:
            return thing
    for ask in () if name.startswith("__") else fallbacks:
        answer = ask(module, name)
        if answer:
            return answer[0]
    raise _error(module, name, sys._getframe(2))


def _error(module, name, frame):
    import opcode

    what = f"{name!r} from {module!r}"
    # `from torch import x` would replace an AttributeError by words of its own.
    if frame.f_code.co_code[frame.f_lasti] == opcode.opmap["IMPORT_FROM"]:
        return ImportError(f"cannot import name {what}: Cresset has none ({WHERE})", name=name)
    return AttributeError(f"module {module!r} has no attribute {name!r} ({WHERE})", name=name, obj=sys.modules.get(module))


class _Loader(type(__spec__.loader)):
    def exec_module(self, module):
        super().exec_module(module)
        vars(module).setdefault("__getattr__", lambda name: found(module.__name__, name))


class Bound:
    """Hands out the module that Cresset has under the name of another package, and leaves its own spec alone."""

    def __init__(self, module):
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec):
        return self.module

    def exec_module(self, module):
        module.__spec__ = self.spec
        module.__loader__ = self.spec.loader


def bound_spec(name, module):
    """Spec under which `import name` gives a module that is there."""
    return ModuleSpec(name, Bound(module), is_package=hasattr(module, "__path__"))


class _Files:
    """Finds the modules that have a file, whose missing names are looked up here unless they have a `__getattr__` of their own. Where a program has set
    `sys.modules["torch"]` to Cresset, the modules of `torch` are Cresset's too: from their files they would be loaded a second time."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith("torch.") and sys.modules.get("torch") is sys.modules["cresset"]:
            return bound_spec(name, importlib.import_module("cresset" + name[len("torch") :]))
        spec = PathFinder.find_spec(name, path, target) if name.startswith("cresset.") else None
        if spec is not None and type(spec.loader) is _Loader.__base__:
            spec.loader.__class__ = _Loader
        return spec


class _Finder:
    """Finds the modules of these tables, after everything that has a file."""

    def _table(self, inner):
        return next((table for table in _tables() if table.is_module(inner)), None)

    def find_spec(self, name, path=None, target=None):
        package, _, inner = name.partition(".")
        if package != "cresset" or self._table(inner) is None:
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return self._table(spec.name.partition(".")[2]).make_module(spec)

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, _Files)
sys.meta_path.append(_Finder())
