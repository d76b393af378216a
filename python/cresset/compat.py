"""The alias: `import torch` and `from torch.x import y` bind to Cresset, `torchvision` to `cresset.vision`, `torchdata` to
`cresset.utils.data`, `lightning` and `pytorch_lightning`, where they are not installed, to `cresset.lightning` and `safetensors` to
`cresset.io.safetensors`, in this process, until `uninstall()`.

    >>> import cresset, sys
    >>> cresset.compat.install()
    >>> import torch.nn.functional as F
    >>> F is cresset.nn.functional
    True
    >>> cresset.compat.uninstall()
    >>> "torch" in sys.modules
    False
"""

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading

from ._core import missing as _missing

_BOUND = {"torch": __package__, "torchvision": f"{__package__}.vision", "torchdata": f"{__package__}.utils.data", "lightning": f"{__package__}.lightning", "pytorch_lightning": f"{__package__}.lightning",
          "safetensors": f"{__package__}.io.safetensors", "functorch": f"{__package__}.functorch"}  # fmt: skip


@functools.lru_cache(None)
def _is_installed_itself(root):
    """Whether a library that Cresset stands in for is there and runs on Cresset whole."""
    return root in ("lightning", "pytorch_lightning") and importlib.machinery.PathFinder.find_spec(root) is not None


def _is_theirs(name):
    root = name.partition(".")[0]
    return root in _BOUND and not _is_installed_itself(root)


def _ours(name):
    if name == "lightning.pytorch" or name.startswith("lightning.pytorch."):
        name = "pytorch_lightning" + name[len("lightning.pytorch") :]
    root = name.partition(".")[0]
    return _BOUND[root] + name[len(root) :]


class _SpawnLoader(importlib.abc.Loader):
    """Loads multiprocessing.spawn with what children need to know."""

    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        _tell_children(module)


class _Installed:
    """Binds the names again where it is unpickled."""

    def __reduce__(self):
        return install, ()


def _tell_children(spawn):
    """Processes that start anew import the program again: they bind the names first."""
    prepared = spawn.get_preparation_data
    if hasattr(prepared, "__wrapped__"):
        return

    @functools.wraps(prepared)
    def get_preparation_data(name):
        data = prepared(name)
        return {"torch": _Installed(), **data} if is_installed() else data

    spawn.get_preparation_data = get_preparation_data


def _metadata():
    """Metadata of PyTorch for `importlib.metadata`: libraries ask it whether and which PyTorch there is."""
    from importlib.metadata import Distribution

    class Metadata(Distribution):
        def read_text(self, filename):
            return f"Metadata-Version: 2.1\nName: torch\nVersion: {_spoken_version()}\n" if filename == "METADATA" else None

        def locate_file(self, path):
            raise FileNotFoundError(f"{path}: torch is bound to Cresset and has no files of its own")

    return Metadata()


class _World:
    """The installed package of a name that is bound to one of ours: its Python parts, for what ours lacks. Its modules import one another, not ours, and
    are kept out of `sys.modules`, where ours have their names."""

    def __init__(self, root):
        self.root, self.modules, self.installed, self.is_loading = root, {}, None, False
        self._lock = threading.RLock()

    def _owns(self, name):
        return name == self.root or name.startswith(self.root + ".")

    def module(self, name):
        """The module of a name; None where the package, or the module in it, is not there."""
        with self._lock:
            if name in self.modules:
                return self.modules[name]
            if self.installed is None:
                self.installed = importlib.machinery.PathFinder.find_spec(self.root) is not None
            return self._load(name) if self.installed else None

    def _load(self, name):
        shown = {known: sys.modules.pop(known) for known in list(sys.modules) if self._owns(known)}
        sys.modules.update(self.modules)
        outer, self.is_loading = self.is_loading, True
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if self._owns(str(error.name)):
                return None
            raise
        except AttributeError as error:
            raise ImportError(f"the installed {self.root} cannot be loaded: {error}", name=name) from error
        finally:
            self.is_loading = outer
            for known in [known for known in sys.modules if self._owns(known)]:
                self.modules[known] = sys.modules.pop(known)
            sys.modules.update(shown)


def _nms():
    from .vision.ops import nms

    return nms


# Modules that serve the compiled part of an installed package, which is linked to LibTorch: whether they run, and names of ours in them.
_COMPILED = {
    "torchvision._autograd_registrations": (False, dict),
    "torchvision._meta_registrations": (False, dict),
    "torchvision.ops._register_onnx_ops": (False, lambda: {"_register_custom_op": lambda: None}),
    "torchvision.ops.boxes": (True, lambda: {"nms": _nms()}),
    "torchaudio._extension.utils": (True, lambda: {"_load_lib": lambda lib: False}),
}


# Enumerations that programs take from ours and hand to an installed package.
_SHARED = {
    "torchvision.transforms.functional": "InterpolationMode",
    "torchvision.transforms.autoaugment": "AutoAugmentPolicy",
    "torchvision.io.image": "ImageReadMode",
}


class _SharedNames(dict):
    """The names of a module while it runs: one of them stays as it was, whatever is defined under it."""

    def __init__(self, names, kept):
        super().__init__()
        self.names, self.kept = names, kept

    def __getitem__(self, name):
        return self.names[name]

    def __setitem__(self, name, value):
        if name != self.kept:
            self.names[name] = value

    def __delitem__(self, name):
        del self.names[name]


class _SharingLoader(importlib.abc.Loader):
    """Loads a module of `_SHARED`."""

    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        kept = _SHARED[module.__name__]
        setattr(module, kept, getattr(importlib.import_module(_ours(module.__name__)), kept))
        exec(self.loader.get_code(module.__name__), vars(module), _SharedNames(vars(module), kept))


class _PartLoader(importlib.abc.Loader):
    """Loads a module of `_COMPILED`."""

    def __init__(self, loader, runs, names):
        self.loader, self.runs, self.names = loader, runs, names

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        if self.runs:
            self.loader.exec_module(module)
        vars(module).update(self.names())


_worlds = {root: _World(root) for root in ("torchvision", "torchdata", "safetensors")}


def _installed_name(module, name):
    """(what an installed package has under a name that a module of ours lacks,), or () where it has none."""
    for root, world in _worlds.items():
        if is_installed() and not world.is_loading and (module + ".").startswith(_BOUND[root] + "."):
            where = root + module[len(_BOUND[root]) :]
            theirs = world.module(where)
            inner = None if theirs is None or hasattr(theirs, name) else world.module(f"{where}.{name}")
            if inner is not None or hasattr(theirs, name):
                return (inner or getattr(theirs, name),)
    return ()


_missing.fallbacks.append(_installed_name)


def _keep_functions(name, module):
    """Binds the modules of a package that functions of the package have the names of (`torch.export.unflatten`): an import of one, which would put it in the
    function's place, finds it bound."""
    for known, inner in list(sys.modules.items()):
        parent, _, child = known.rpartition(".")
        if parent == module.__name__ and child in vars(module) and vars(module)[child] is not inner:
            sys.modules.setdefault(f"{name}.{child}", inner)


class _Finder(importlib.abc.MetaPathFinder):
    def find_distributions(self, context=None):
        return [_metadata()] if getattr(context, "name", None) in (None, "torch") else []

    def find_spec(self, name, path=None, target=None):
        if name == "multiprocessing.spawn":
            spec = importlib.machinery.PathFinder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = _SpawnLoader(spec.loader)
            return spec
        if name == "torch":
            importlib.import_module("multiprocessing.connection")  # PyTorch loads it, and programs use it without an import of their own
        if not _is_theirs(name):
            return _spec_of_part(name, path, target) if name in _COMPILED else None
        world = _worlds.get(name.partition(".")[0])
        if world is not None and world.is_loading:
            return _spec_of_part(name, path, target)
        try:
            module = importlib.import_module(_ours(name))
            if world is not None and "__getattr__" not in vars(module):
                module.__getattr__ = lambda wanted, home=module.__name__: _missing.found(home, wanted)
        except ModuleNotFoundError as error:
            if error.name is None or not (_ours(name) + ".").startswith(error.name + "."):
                raise
            module = world.module(name) if world is not None else None
            if module is not None:
                return _missing.bound_spec(name, module)
            raise ModuleNotFoundError(f"No module named {name!r} in Cresset yet ({_missing.WHERE})", name=name) from None
        _keep_functions(name, module)
        return _missing.bound_spec(name, module)


def _spec_of_part(name, path, target):
    spec = importlib.machinery.PathFinder.find_spec(name, path, target)
    if spec is not None and name in _COMPILED:
        spec.loader = _PartLoader(spec.loader, *_COMPILED[name])
    if spec is not None and name in _SHARED:
        spec.loader = _SharingLoader(spec.loader)
    return spec


_finder = _Finder()
_replaced = {}  # modules of a real PyTorch and torchvision, from before install()
_SPOKEN = "2.13.0"  # the PyTorch that programs under the alias are told of: they choose by it what they call


def _spoken_version():
    import _cresset

    return f"{_SPOKEN}+cresset.{_cresset.__version__}"


def _set_identity(spoken):
    import _cresset

    from . import version
    from .torch_version import TorchVersion

    version.__version__ = _spoken_version() if spoken else _cresset.__version__
    package = sys.modules[__package__]
    package.__version__ = TorchVersion(version.__version__) if spoken else version.__version__
    package.__name__ = "torch" if spoken else __package__  # libraries compare it with the first part of a name
    for part in ("nn.functional", "functional", "linalg", "fft", "special"):  # so do they with those whose functions can be taken over
        importlib.import_module(f"{__package__}.{part}").__name__ = f"{package.__name__}.{part}"
    for kind in (package.Tensor, package.Size, package.dtype, package.device, package.nn.Parameter):  # and what they find for an array by its class
        kind.__module__ = package.__name__ + kind.__module__.removeprefix("torch").removeprefix(__package__)


def _aliases():
    return [name for name in sys.modules if _is_theirs(name)]


def is_installed():
    """Whether `torch` is bound to Cresset in this process.

    >>> torch.compat.is_installed()
    False
    """
    return _finder in sys.meta_path


def install():
    """Binds `torch`, `torchvision`, `torchdata`, `lightning`, `pytorch_lightning`, `safetensors` and all their submodules to Cresset. An installed
    Lightning stays itself, and runs on Cresset. Modules that were imported before keep what they have. Until `uninstall()`, `torch.__version__` tells which PyTorch is meant, and whose build this is, as in
    "2.13.0+cresset.0.1.0".

    >>> torch.compat.install()
    >>> import torch as named
    >>> named.ones(2)
    tensor([1., 1.])
    >>> torch.compat.uninstall()
    """
    if is_installed():
        return
    for name in _aliases():
        _replaced[name] = sys.modules.pop(name)
    sys.meta_path.insert(0, _finder)
    _set_identity(spoken=True)
    if "multiprocessing.spawn" in sys.modules:
        _tell_children(sys.modules["multiprocessing.spawn"])


def uninstall():
    """Undoes `install()`: the next `import torch` finds PyTorch, if it is there.

    >>> torch.compat.uninstall()
    >>> torch.compat.is_installed()
    False
    """
    if not is_installed():
        return
    sys.meta_path.remove(_finder)
    _set_identity(spoken=False)
    for name in _aliases():
        del sys.modules[name]
    sys.modules.update(_replaced)
    _replaced.clear()


def run(kind, what, arguments):
    r"""Runs a "script", module ("m") or code ("c") as __main__ with `torch` bound to Cresset; `arguments` become sys.argv[1:].

    >>> import subprocess, sys
    >>> command = [sys.executable, "-m", "cresset", "-c", "import torch; print(torch.ones(2).sum())"]  # which calls compat.run
    >>> subprocess.run(command, capture_output=True, text=True).stdout
    'tensor(2.)\n'
    """
    import os

    main = sys.modules["__main__"]
    for name in ("__spec__", "__cached__", "__file__", "__package__", "__doc__"):
        main.__dict__[name] = None
    for name in [n for n in vars(main) if not n.startswith("__")]:
        delattr(main, name)
    try:
        if kind == "script":
            code, main.__file__ = _compiled_script(what)
            sys.argv = [what, *arguments]
            sys.path[0] = os.path.dirname(os.path.realpath(what)) if not os.path.isdir(what) else what
        elif kind == "c":
            code = compile(what, "<string>", "exec")
            sys.argv = ["-c", *arguments]
            sys.path[0] = ""
            del main.__file__
        else:
            install()  # finding a module imports the packages around it
            code, spec = _module_code(what)
            main.__spec__, main.__file__, main.__loader__ = spec, spec.origin, spec.loader
            main.__package__ = spec.parent
            sys.argv = [spec.origin, *arguments]
    except (OSError, ImportError) as error:
        print(f"cresset: cannot run {what!r}: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except SyntaxError as error:
        error = error.with_traceback(None)
        sys.excepthook(type(error), error, None)
        raise SystemExit(1) from None
    install()
    try:
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        _hide_runner(error)
        raise


def _hide_runner(error):
    """The frames of the runner are no part of the program's traceback. The interpreter shows it, and ends as it does for such an error."""
    shown, frames = sys.excepthook, error.__traceback__.tb_next

    def show(kind, value, traceback):
        if value is error:
            value, traceback = value.with_traceback(frames), frames
        shown(kind, value, traceback)

    sys.excepthook = show


def _compiled_script(path):
    import os

    if os.path.isdir(path):
        path = os.path.join(path, "__main__.py")
    with open(path, "rb") as file:
        return compile(file.read(), path, "exec"), path


def _module_code(name):
    name = _ours(name) if _is_theirs(name) else name
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        name += ".__main__"
        spec = importlib.util.find_spec(name)
    if spec is None or not hasattr(spec.loader, "get_code"):
        raise ImportError(f"No module named {name}", name=name)
    return spec.loader.get_code(name), spec
