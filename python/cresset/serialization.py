"""Checkpoint files in PyTorch's format, under the names of `torch.serialization`.

`save` writes and `load` reads the same zip archives as PyTorch and as Cresset's C++ front end. Reading builds data only: the reader in the
library knows a fixed list of names and cannot import anything. See `load` for what `weights_only=False` changes.

>>> import io
>>> buffer = io.BytesIO()
>>> torch.save({"weights": torch.arange(3), "epoch": 4}, buffer)
>>> _ = buffer.seek(0)
>>> loaded = torch.load(buffer)
>>> loaded["weights"].tolist(), loaded["epoch"]
([0, 1, 2], 4)
"""

from __future__ import annotations

import _compat_pickle
import collections
import copyreg
import enum
import io
import os
import pickle
import sys
import threading
import types
import warnings
import zipfile
from collections.abc import Callable
from contextlib import contextmanager

import _cresset
import cresset as torch
from cresset import _utils
from cresset.storage import TypedStorage, _typed

__all__ = [
    "SourceChangeWarning",
    "mkdtemp",
    "register_package",
    "check_module_version_greater_or_equal",
    "validate_cuda_device",
    "validate_hpu_device",
    "location_tag",
    "default_restore_location",
    "normalize_storage_type",
    "storage_to_tensor_type",
    "save",
    "load",
    "StorageType",
    "LoadEndianness",
    "get_crc32_options",
    "set_crc32_options",
    "get_default_load_endianness",
    "set_default_load_endianness",
    "get_default_mmap_options",
    "set_default_mmap_options",
    "clear_safe_globals",
    "get_safe_globals",
    "add_safe_globals",
    "safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "skip_data",
]

# The type of the argument of that name.
MAP_LOCATION = Callable[[torch.UntypedStorage, str], torch.UntypedStorage] | torch.device | str | dict[str, str] | None

DEFAULT_PROTOCOL = 2
MAP_SHARED, MAP_PRIVATE = 1, 2
STORAGE_CLASSES = {
    f"{name}Storage": dtype
    for name, dtype in {
        "Byte": torch.uint8, "Char": torch.int8, "Short": torch.int16, "Int": torch.int32, "Long": torch.int64, "Half": torch.float16,
        "Float": torch.float32, "Double": torch.float64, "ComplexFloat": torch.complex64, "ComplexDouble": torch.complex128,
        "Bool": torch.bool, "BFloat16": torch.bfloat16,
    }.items()
}  # fmt: skip
_state = threading.local()
_options = {"crc32": True, "use_mmap": False, "mmap": MAP_PRIVATE, "endianness": None}


class SourceChangeWarning(Warning):
    """A class saved with a file has another source now; kept for programs that filter it."""


class LoadEndianness(enum.Enum):
    """The byte order of files that do not say theirs.

    >>> torch.serialization.LoadEndianness.NATIVE.name
    'NATIVE'
    """

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class StorageType:
    """The name of a storage class in a file.

    >>> torch.serialization.StorageType("FloatStorage").dtype
    torch.float32
    """

    def __init__(self, name):
        if f"{name}" not in STORAGE_CLASSES:
            raise KeyError(name)
        self._dtype = STORAGE_CLASSES[name]

    @property
    def dtype(self):
        return self._dtype

    def __repr__(self):
        return f"StorageType(dtype={self.dtype})"


# ---- names that files may use -----------------------------------------------------------------------------------------------

_safe_globals: list = []


def add_safe_globals(safe_globals):
    """Let `load` with `weights_only=True` use these classes and functions, each as itself or with the name that files call it by.

    >>> class Config:
    ...     pass
    >>> torch.serialization.add_safe_globals([Config, (Config, "old_package.Config")])
    >>> len(torch.serialization.get_safe_globals())
    2
    >>> torch.serialization.clear_safe_globals()
    """
    for item in safe_globals:
        _name_of(item)
        if item not in _safe_globals:
            _safe_globals.append(item)


def get_safe_globals():
    """The classes and functions that files may use beyond the built-in list.

    >>> torch.serialization.get_safe_globals()
    []
    """
    return list(_safe_globals)


def clear_safe_globals():
    """Forget all names that were allowed.

    >>> torch.serialization.clear_safe_globals()
    >>> torch.serialization.get_safe_globals()
    []
    """
    _safe_globals.clear()


class safe_globals:
    """Allows names as `add_safe_globals` does, within a `with` block.

    >>> with torch.serialization.safe_globals([range]):
    ...     len(torch.serialization.get_safe_globals())
    1
    >>> torch.serialization.get_safe_globals()
    []
    """

    def __init__(self, safe_globals):
        self.safe_globals = safe_globals

    def __enter__(self):
        self.before = list(_safe_globals)
        add_safe_globals(self.safe_globals)

    def __exit__(self, kind, value, traceback):
        _safe_globals[:] = self.before


def _name_of(item):
    if isinstance(item, tuple):
        if len(item) != 2 or not isinstance(item[1], str):
            raise ValueError(f"add_safe_globals: expected a class, a function, or a pair of one and its name, got {item!r}")
        return item[1]
    if not hasattr(item, "__qualname__") or not hasattr(item, "__module__"):
        raise ValueError(f"add_safe_globals: expected a class or function, got {item!r}")
    return f"{item.__module__}.{item.__qualname__}"


_BLOCKED_MODULES = ("sys", "os", "posix", "nt")  # their functions reach the system and are never loaded


def _allowed_names():
    names = {}
    for item in _safe_globals:
        name, value = _name_of(item), item[0] if isinstance(item, tuple) else item
        if name.partition(".")[0] in _BLOCKED_MODULES:
            continue
        names[name] = value
        names[_to_file(name)] = value
    return names


def _to_file(module):
    """The name under which PyTorch knows a module of this package."""
    return "torch" + module[len("cresset") :] if module == "cresset" or module.startswith("cresset.") else module


def _from_file(module):
    return "cresset" + module[len("torch") :] if module == "torch" or module.startswith("torch.") else module


_BUILTINS = {
    "builtins": {
        "list": list, "dict": dict, "set": set, "frozenset": frozenset, "tuple": tuple, "int": int, "long": int, "float": float,
        "complex": complex, "bool": bool, "str": str, "unicode": str, "bytes": bytes, "bytearray": bytearray,
    },
    "collections": {"OrderedDict": collections.OrderedDict, "defaultdict": collections.defaultdict, "Counter": collections.Counter},
}  # fmt: skip


def _allowed_wrapper(*arguments):
    """A tensor of an allowed class that holds others, from what a file says of it."""
    kind = arguments[0] if arguments else None
    name = getattr(kind, "__qualname__", type(kind).__qualname__)
    if len(arguments) != 8 or not (issubclass(type(kind), type) and issubclass(kind, torch.Tensor)):
        raise pickle.UnpicklingError(f"load: the file makes a wrapper of {name}, expected a class of tensors and seven properties of one")
    try:
        return _utils._rebuild_wrapper_subclass(*arguments)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise pickle.UnpicklingError(f"load: the file makes an impossible {name}: {error}") from error


def _nested_by(function):
    """The function that makes a nested tensor of a file's parts, once these are looked at."""

    def allowed(*arguments):
        from cresset._core import admission as _admission

        try:
            return _admission._rebuilt(function, arguments)
        except (TypeError, ValueError, RuntimeError, OverflowError, IndexError) as error:
            raise pickle.UnpicklingError(f"load: the file makes an impossible nested tensor: {error}") from error

    return allowed


def _nested_class():
    from cresset.nested._internal.nested_tensor import NestedTensor

    return NestedTensor


_NESTED = _to_file(_utils._rebuild_njt.__module__)  # the module of PyTorch that files name
_NESTED_CLASS = f"{_NESTED}.NestedTensor"
#: Functions by which a file makes a tensor of an allowed class that holds others, or a nested one.
_OF_WRAPPERS = {
    "torch._tensor._rebuild_from_type_v2": _utils._rebuild_from_type_v2,
    "torch._utils._rebuild_wrapper_subclass": _allowed_wrapper,
    "torch._utils._rebuild_nested_tensor": _nested_by(_utils._rebuild_nested_tensor),
    f"{_NESTED}._rebuild_njt": _nested_by(_utils._rebuild_njt),
}


def _known_global(module, name):
    """An object that the reader's list names, used as a value: a class in a defaultdict, say."""
    if name in _BUILTINS.get(module, ()):
        return _BUILTINS[module][name]
    if module == "torch" and name == "Tensor":
        return torch.Tensor
    if module == "torch" and name == "Size":
        return torch.Size
    if module == "torch.nn.parameter" and name == "Parameter":
        return torch.nn.Parameter
    if f"{module}.{name}" in _OF_WRAPPERS:
        return _OF_WRAPPERS[f"{module}.{name}"]
    if f"{module}.{name}" == _NESTED_CLASS:
        return _nested_class()
    if module == "torch" and name in STORAGE_CLASSES:
        return StorageType(name)
    raise pickle.UnpicklingError(f"load: the file uses `{module}.{name}` as a value, which data may not")


# ---- storages ----------------------------------------------------------------------------------------------------------------


class _LoadedStorage(TypedStorage):
    """A storage read from a file with the dtype that its class there stands for, on its way into tensors."""

    def __init__(self, storage, dtype, start=0):
        super().__init__(wrap_storage=storage, dtype=dtype or torch.uint8, _internal=True)
        self._start = start

    def settle(self):
        """Becomes a storage like others, as which the file may hold it."""
        self.__class__ = TypedStorage


_package_registry: list = []


def register_package(priority, tagger, deserializer):
    """Teach `save` and `load` about a device: `tagger(storage)` names it in files, `deserializer(storage, tag)` brings it back.

    The entry with the lowest `priority` whose functions return something other than None decides.

    >>> torch.serialization.register_package(50, lambda storage: None, lambda storage, tag: None)
    """
    _package_registry.append((priority, tagger, deserializer))
    _package_registry.sort(key=lambda entry: entry[0])


def location_tag(storage):
    """The name in files of the device that a storage lies on.

    >>> torch.serialization.location_tag(torch.ones(2).untyped_storage())
    'cpu'
    """
    for _, tagger, _ in _package_registry:
        tag = tagger(storage)
        if tag and not isinstance(tag, str):
            raise TypeError(f"location_tag: the tag of a storage that a registered function gave: expected a text, got {type(tag).__name__}")
        if tag:
            return tag
    return str(storage.device)


def default_restore_location(storage, location):
    """`storage` moved to where `location`, the tag in a file, says. Raises RuntimeError for a device that is not there.

    >>> torch.serialization.default_restore_location(torch.ones(2).untyped_storage(), "cpu").nbytes()
    8
    """
    for _, _, deserializer in _package_registry:
        result = deserializer(storage, location)
        if result is not None:
            return result
    _device(location)
    return storage


def _device(location):
    """The device that a tag names. Raises RuntimeError for one that is not there."""
    if location == "cpu":
        return torch.device("cpu")
    kind = str(location).split(":")[0]
    if kind == "cuda":
        raise RuntimeError("load: the file holds tensors of a CUDA device, and there is none here; map_location=torch.device('cpu') puts them on the CPU")
    try:
        device = torch.device(location)
        if kind != "meta":
            torch.empty(0, device=device)
        return device
    except (RuntimeError, ValueError, NotImplementedError) as error:
        raise RuntimeError(f"load: do not know how to restore the location of a storage tagged with {location!r}: {error}") from None


def _placer(map_location):
    """A function from a storage's tag to its device."""
    if map_location is None:
        return None if not _package_registry else lambda location, index: torch.device(default_restore_location(_unread(), location).device)
    if isinstance(map_location, dict):
        return lambda location, index: _device(map_location.get(location, location))
    if isinstance(map_location, (str, bytes)):
        target = _device(map_location.decode() if isinstance(map_location, bytes) else map_location)
        return lambda location, index: target
    if isinstance(map_location, torch.device):
        target = _device(str(map_location))
        return lambda location, index: target
    if not callable(map_location):
        raise TypeError(f"load: expected a device, its name, a dict or a function as map_location, got {type(map_location).__name__}")

    def place(location, index):
        result = map_location(_unread(), location)
        if result is None:
            return _device(location)
        if not hasattr(result, "device"):
            raise TypeError(f"load: map_location returned a {type(result).__name__}, expected a storage or None")
        return torch.device(result.device)

    return place


def _unread():
    """The argument of a program's functions for a storage before its bytes are read: one without any, which they return as it is or moved."""
    return torch.UntypedStorage(0)


def _is_zipfile(f):
    """Whether a file that is open for reading goes on with an archive, which it is read from."""
    start = f.tell()
    found = f.read(4) == b"PK\x03\x04"
    f.seek(start)
    return found


def normalize_storage_type(storage_type):
    """The class of storages of a dtype, by its class or its dtype.

    >>> torch.serialization.normalize_storage_type(torch.float32)
    torch.float32
    """
    return getattr(storage_type, "dtype", storage_type)


def storage_to_tensor_type(storage):
    """The name of the tensor class that goes with a storage.

    >>> torch.serialization.storage_to_tensor_type(torch.ones(1).storage())
    'torch.FloatTensor'
    """
    names = {dtype: name for name, dtype in STORAGE_CLASSES.items()}
    return "torch." + names[storage.dtype].replace("Storage", "Tensor")


def check_module_version_greater_or_equal(module, req_version_tuple, error_if_malformed=True):
    """Whether `module.__version__` is at least the given tuple of numbers.

    >>> import types
    >>> torch.serialization.check_module_version_greater_or_equal(types.SimpleNamespace(__version__="2.1.0", __name__="m"), (2, 0))
    True
    """
    try:
        found = tuple(type(part)(text) for part, text in zip(req_version_tuple, module.__version__.split(".")))
        return found >= tuple(req_version_tuple)
    except (ValueError, AttributeError) as error:
        if error_if_malformed:
            raise RuntimeError(f"check_module_version: {module.__name__} has the malformed version {module.__version__!r}") from error
        return True


def validate_cuda_device(location):
    """Raises RuntimeError: there is no CUDA device for storages of a file.

    >>> try:
    ...     torch.serialization.validate_cuda_device("cuda:0")
    ... except RuntimeError:
    ...     print("no CUDA")
    no CUDA
    """
    _device(location)


def validate_hpu_device(location):
    """Raises RuntimeError: there is no HPU device for storages of a file.

    >>> try:
    ...     torch.serialization.validate_hpu_device("hpu:0")
    ... except RuntimeError:
    ...     print("no HPU")
    no HPU
    """
    raise RuntimeError(f"load: there is no device for {location!r}; use map_location='cpu'")


def mkdtemp():
    """A fresh folder, removed at the end of a `with` block.

    >>> import os
    >>> with torch.serialization.mkdtemp() as folder:
    ...     os.path.isdir(folder)
    True
    """
    import tempfile

    return tempfile.TemporaryDirectory()


# ---- options ------------------------------------------------------------------------------------------------------------------


def get_crc32_options():
    """Whether `save` computes checksums and `load` compares them.

    >>> torch.serialization.get_crc32_options()
    True
    """
    return _options["crc32"]


def set_crc32_options(compute_crc32):
    """Whether `save` computes checksums and `load` compares them; without them damage to a file is not noticed.

    >>> torch.serialization.set_crc32_options(False)
    >>> torch.serialization.get_crc32_options()
    False
    >>> torch.serialization.set_crc32_options(True)
    """
    _options["crc32"] = bool(compute_crc32)


def get_default_load_endianness():
    """The byte order that `load` takes for files that do not say theirs; None for this machine's.

    >>> torch.serialization.get_default_load_endianness() is None
    True
    """
    return _options["endianness"]


def set_default_load_endianness(endianness):
    """Set the byte order of files that do not say theirs. Raises TypeError for anything but a LoadEndianness or None.

    >>> torch.serialization.set_default_load_endianness(torch.serialization.LoadEndianness.LITTLE)
    >>> torch.serialization.get_default_load_endianness().name
    'LITTLE'
    >>> torch.serialization.set_default_load_endianness(None)
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("set_default_load_endianness: expected a LoadEndianness or None")
    _options["endianness"] = endianness


def get_default_mmap_options():
    """How `load` with `mmap=True` maps files: MAP_PRIVATE or MAP_SHARED.

    >>> import mmap
    >>> torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    True
    """
    return _options["mmap"]


class set_default_mmap_options:
    """How `load` with `mmap=True` maps files, at once or within a `with` block: with `mmap.MAP_SHARED` what is written to tensors is written to the file,
    which must be open to writing; with `mmap.MAP_PRIVATE`, the default, the file does not change. A written file keeps the checksums it had: it is loaded
    with `mmap=True`, or after `set_crc32_options(False)`.

    Raises ValueError for other flags.

    >>> import mmap
    >>> with torch.serialization.set_default_mmap_options(mmap.MAP_PRIVATE):
    ...     torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    True
    """

    def __init__(self, flags):
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(f"set_default_mmap_options: expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, got {flags}")
        self.before, _options["mmap"] = _options["mmap"], flags

    def __enter__(self):
        return None

    def __exit__(self, kind, value, traceback):
        _options["mmap"] = self.before


@contextmanager
def skip_data(materialize_fake_tensors=False):
    """Within the block `load` leaves the bytes of tensors unread: their shapes and dtypes come, without values, on the meta device.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> torch.save(torch.ones(2), buffer)
    >>> _ = buffer.seek(0)
    >>> with torch.serialization.skip_data():
    ...     torch.load(buffer).device
    device(type='meta')
    """
    before, _state.skip = getattr(_state, "skip", False), True
    try:
        yield
    finally:
        _state.skip = before


# ---- saving --------------------------------------------------------------------------------------------------------------------


def save(obj, f, pickle_module=pickle, pickle_protocol=DEFAULT_PROTOCOL, _use_new_zipfile_serialization=True, _disable_byteorder_record=False):
    """Write `obj` to a file, a path or an object with `write`, so that PyTorch and both of Cresset's front ends can read it.

    Tensors that share memory share it in the file; views keep their strides. A path is replaced in one step once everything is on disk.
    Classes of your own are written by name, as pickle does; `load` reads those only if they are allowed. With
    `_use_new_zipfile_serialization=False` the file has the format before zip archives, without checksums. Objects that pickle cannot write, a lambda
    say, is left to `pickle_module` where it is another one, dill say: `load` then needs `weights_only=False` and that module.

    Raises RuntimeError for a folder that does not exist or tensors of different dtypes over the same memory, AttributeError or
    pickle.PicklingError for objects that cannot be found by name, TypeError for objects that cannot be pickled.

    >>> import io
    >>> model = torch.nn.Linear(2, 1)
    >>> buffer = io.BytesIO()
    >>> torch.save(model.state_dict(), buffer)
    >>> _ = buffer.seek(0)
    >>> list(torch.load(buffer))
    ['weight', 'bias']
    """
    protocol = pickle.HIGHEST_PROTOCOL if pickle_protocol < 0 else pickle_protocol
    if not DEFAULT_PROTOCOL <= protocol <= pickle.HIGHEST_PROTOCOL:
        raise ValueError(f"save: expected a pickle_protocol of {DEFAULT_PROTOCOL} to {pickle.HIGHEST_PROTOCOL}, got {pickle_protocol}")
    tagger = location_tag if _package_registry else None
    options = get_crc32_options(), not _disable_byteorder_record, not _use_new_zipfile_serialization, protocol, tagger
    before, _state.pickle_module = getattr(_state, "pickle_module", pickle), pickle_module
    try:
        _save(obj, f, options)
    finally:
        _state.pickle_module = before


def _save(obj, f, options):
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        folder = os.path.dirname(path)
        if folder and not os.path.isdir(folder):
            raise RuntimeError(f"save: the folder {folder} does not exist")
        name = os.path.splitext(os.path.basename(os.fsdecode(path)))[0] or "archive"
        _cresset._io_save(obj, path, name.encode("utf-8", "replace").decode(), *options)
        return
    if not hasattr(f, "write"):
        raise AttributeError(f"save: expected a path or an object with write(), got {type(f).__name__}")
    _cresset._io_save(obj, f.write, "archive", *options)
    if hasattr(f, "flush"):
        f.flush()


def _reduce(value):
    """Pickle's description of an object: None for a class or function (a name), or what __reduce_ex__ returns."""
    kind = type(value)
    if isinstance(value, type) or kind in (types.FunctionType, types.BuiltinFunctionType):
        return None
    special = copyreg.dispatch_table.get(kind)
    try:
        return special(value) if special is not None else value.__reduce_ex__(2)
    except (TypeError, AttributeError, pickle.PicklingError):
        return _left_to_module(value)


def _left_to_module(value):
    """A function and arguments that make an object that pickle cannot write. Called where an error is handled, which stands without such a module."""
    module = getattr(_state, "pickle_module", pickle)
    if module is pickle:
        raise  # noqa: PLE0704
    return module.loads, (module.dumps(value),)


def _global_name(value, name):
    """The module and name that a file calls an object by, or a function and arguments that find it."""
    try:
        return _found_global_name(value, name)
    except (AttributeError, pickle.PicklingError):
        return _left_to_module(value)


def _found_global_name(value, name):
    name = name or getattr(value, "__qualname__", None) or value.__name__
    module = pickle.whichmodule(value, name)
    if "<locals>" in name:
        raise AttributeError(f"Can't pickle local object {name!r}: define it at the top of a module")
    try:
        __import__(module)
        found = sys.modules[module]
        parent = None
        for part in name.split("."):
            parent, found = found, getattr(found, part)
    except (ImportError, KeyError, AttributeError):
        raise pickle.PicklingError(f"Can't pickle {value!r}: it's not found as {module}.{name}") from None
    if found is not value and not isinstance(value, (torch.dtype, torch.layout)):
        raise pickle.PicklingError(f"Can't pickle {value!r}: it's not the same object as {module}.{name}")
    if "." in name:
        return getattr, (parent, name.rsplit(".", 1)[1])
    if (module, name) in _compat_pickle.REVERSE_NAME_MAPPING:
        module, name = _compat_pickle.REVERSE_NAME_MAPPING[(module, name)]
    elif module in _compat_pickle.REVERSE_IMPORT_MAPPING:
        module = _compat_pickle.REVERSE_IMPORT_MAPPING[module]
    return _to_file(module), name


# ---- loading -------------------------------------------------------------------------------------------------------------------


def _is_forced(variable):
    return os.environ.get(variable, "0").lower() in ("1", "y", "yes", "true")


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Read what `save` wrote, or PyTorch's `torch.save`: from a path, or from an object with `read` and `seek`.

    map_location: where tensors go: a device or its name, a dict from names in the file to names here, or a function of a storage and its
    name. weights_only: True (the default) builds tensors, containers, numbers and text only, and the classes that `add_safe_globals` named;
    False builds whole modules and other objects too, from their state, of classes that the process has imported; it calls nothing but rebuilding functions and
    constructors of data, and an error names what else a file wants (`add_safe_globals` allows it). Only a `pickle_module` of another kind, dill say, may run
    what the file says. mmap: True leaves tensors in the file,
    whose pages are read when they are used and copied when they are written to, and the file does not change (`set_default_mmap_options` tells otherwise).
    encoding: that of text which Python 2 wrote,
    "utf-8" by default; "bytes" leaves it as bytes. An object is left behind what was read, where the next one of a file of several begins.

    The environment decides over the program: TORCH_FORCE_WEIGHTS_ONLY_LOAD=1 makes every load one of weights only, TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 those that
    say nothing of it loads of whole objects.

    Raises FileNotFoundError and its kin, EOFError for an empty file, pickle.UnpicklingError for names that are not allowed and damaged
    pickles, RuntimeError for damaged archives and missing devices, ValueError for mmap without a path.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> torch.save([torch.zeros(2), "text"], buffer)
    >>> _ = buffer.seek(0)
    >>> zeros, text = torch.load(buffer, map_location="cpu", weights_only=True)
    >>> zeros.tolist(), text
    ([0.0, 0.0], 'text')
    """
    if _is_forced("TORCH_FORCE_WEIGHTS_ONLY_LOAD"):
        if _is_forced("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"):
            raise RuntimeError("load: TORCH_FORCE_WEIGHTS_ONLY_LOAD and TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD are both set, expected one of them")
        weights_only = True
    if pickle_module is not None and weights_only:
        raise RuntimeError("load: weights cannot be loaded safely when a pickle_module is given")
    if weights_only is None:
        weights_only = pickle_module is None
        if weights_only and _is_forced("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"):
            warnings.warn("load: TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD is set, forcing weights_only=False", UserWarning, stacklevel=2)
            weights_only = False
    if weights_only and set(pickle_load_args) - {"encoding"}:
        raise TypeError(f"load: got an unexpected keyword argument {sorted(set(pickle_load_args) - {'encoding'})[0]!r}")
    mmap = bool(_options["use_mmap"] if mmap is None else mmap)
    is_path = isinstance(f, (str, os.PathLike))
    if mmap and not is_path:
        if not (hasattr(f, "seek") and _is_zipfile(f)):
            raise RuntimeError(f"load: mmap=True maps files that torch.save has written, and what this {type(f).__name__} holds is none")
        raise ValueError(f"load: expected a path with mmap=True, got {type(f).__name__}")
    if not weights_only and _holds_code(f):
        from . import jit

        warnings.warn(
            "load: the file is an archive of TorchScript, which torch.jit.load reads (call 'torch.jit.load' directly to silence this warning)",
            UserWarning,
            stacklevel=2,
        )
        return jit.load(f, map_location=map_location)
    if is_path:
        shared = mmap and _options["mmap"] == MAP_SHARED
        with open(f, "r+b" if shared else "rb") as file:
            name = os.fsdecode(f)
            if os.fstat(file.fileno()).st_size == 0:
                raise EOFError(f"load: '{name}' is empty")
            return _load(file.fileno(), name, map_location, pickle_module, weights_only, mmap + shared, pickle_load_args)[0]
    for needed in ("seek", "read", "tell"):
        if not hasattr(f, needed):
            raise AttributeError(
                f"load: a {type(f).__name__} has no attribute {needed!r}; files are read from paths and from objects that can seek, such as io.BytesIO"
            )
    start, content = f.tell(), f.read()
    if isinstance(content, str):
        raise TypeError("load: expected a file opened for bytes, got text")
    if len(content) == 0:
        raise EOFError("load: the file is empty")
    loaded, end = _load(content, getattr(f, "name", None) or "<bytes>", map_location, pickle_module, weights_only, False, pickle_load_args)
    f.seek(start + end)  # where the next object stands in a file with several
    return loaded


def _holds_code(f):
    """Whether a file is an archive of TorchScript."""
    before = None if isinstance(f, (str, os.PathLike)) or not hasattr(f, "seek") else f.tell()
    try:
        with zipfile.ZipFile(f) as archive:
            return any(name.endswith("/constants.pkl") for name in archive.namelist())
    except (OSError, zipfile.BadZipFile, TypeError, AttributeError):
        return False
    finally:
        if before is not None:
            f.seek(before)


def _load(source, name, map_location, pickle_module, weights_only, mapping, pickle_load_args):
    """The contents of a file and where that ends; `mapping` is 0, 1 for private pages and 2 for those that the file has too."""
    name, place = str(name), _placer(map_location)
    if getattr(_state, "skip", False):
        meta = torch.device("meta")
        place = lambda location, index: meta  # noqa: E731
    big = get_default_load_endianness() == LoadEndianness.BIG
    if not weights_only:
        return _load_with_pickle(source, name, place, pickle_module or pickle, mapping, big, pickle_load_args)
    names = _allowed_names()

    def resolve(module, wanted):
        full = f"{module}.{wanted}"
        return names[full] if full in names else _known_global(module, wanted)

    admitted = {*names, *_OF_WRAPPERS, _NESTED_CLASS}
    encoding = str(pickle_load_args.get("encoding") or "utf-8")
    return _cresset._io_load(
        source, name, mapping, big, get_crc32_options(), lambda module, wanted: f"{_plain(module)}.{wanted}" in admitted, resolve, place, encoding
    )


def _plain(module):
    return "builtins" if module == "__builtin__" else module


def _find_global(module, name):
    """A name of a file that is trusted, in this package where PyTorch's is meant."""
    if module == "torch" and name in STORAGE_CLASSES:
        return StorageType(name)
    if module == "torch.storage" and name == "UntypedStorage":
        return torch.UntypedStorage
    if module == "torch._tensor" and name == "_rebuild_from_type_v2":
        return _utils._rebuild_from_type_v2
    if module == "torch.serialization" and name == "_get_layout":
        return _layout
    if module == "torch._utils":
        return getattr(_utils, name)
    return None


def _unpickler_of(pickle_module):
    """The reader of another module than pickle, which follows that module's rules: dill's, say."""

    class Unpickler(pickle_module.Unpickler):
        def find_class(self, module, wanted):
            found = _find_global(module, wanted)
            return super().find_class(_from_file(module), wanted) if found is None else found

    return Unpickler


def _load_with_pickle(source, name, place, pickle_module, mapping, big, pickle_load_args):
    """Reads the archive's data.pkl in Python; storages come by their persistent ids. Returns also where the archive ends."""
    archive, content, end = _cresset._io_open(source, name, mapping, big, get_crc32_options())
    storages, made = {}, []

    def persistent_load(saved):
        if not isinstance(saved, tuple):
            return referred(str(saved))
        saved = tuple(part.decode("ascii") if isinstance(part, bytes) else part for part in saved)
        if saved[0] == "storage":
            storage_class, key, location, _, *part = saved[1:]
            dtype = storage_class._dtype if isinstance(storage_class, StorageType) else None
            start = part[0][1] if part and part[0] is not None else 0
            made.append(_LoadedStorage(storage(key, location), dtype, start))
            return made[-1]
        # A class with its source text stands for the class.
        return saved[1] if saved[0] == "module" else saved[0]

    def storage(key, location):
        if key not in storages:
            device = torch.device("cpu") if place is None else place(location, len(storages))
            data = _cresset._io_storage(archive, key)
            storages[key] = (data.to(device) if device.type != "cpu" else data).untyped_storage()
        return storages[key]

    def referred(key):
        storage_key, dtype, *geometry = _cresset._io_reference(archive, key)
        if geometry:
            return _utils._rebuild_tensor(storage(storage_key, "cpu"), *geometry, dtype)
        made.append(_LoadedStorage(storage(storage_key, "cpu"), dtype))
        return made[-1]

    options = {"encoding": "utf-8", **pickle_load_args}
    if pickle_module is pickle:
        from cresset._core import admission as _admission

        reader = _admission.Unpickler(io.BytesIO(content), _find_global, _allowed_names(), **options)
    else:
        reader = _unpickler_of(pickle_module)(io.BytesIO(content), **options)
    reader.persistent_load = persistent_load
    loaded = reader.load()
    for storage_ in made:
        storage_.settle()
    return loaded, end


def get_unsafe_globals_in_checkpoint(f):
    """The names that a file uses and `load` would refuse, without loading it.

    >>> import io, datetime
    >>> buffer = io.BytesIO()
    >>> torch.save(datetime.date(2020, 1, 1), buffer)
    >>> _ = buffer.seek(0)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(buffer)
    ['datetime.date']
    """
    found, names = [], _allowed_names()

    def note(module, wanted):
        full = f"{_plain(module)}.{wanted}"
        if full not in names and full not in _OF_WRAPPERS and full not in found:
            found.append(full)
        return True

    def scan(source, name):
        _cresset._io_scan(source, name, note)

    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            scan(file.fileno(), os.fsdecode(f))
    else:
        scan(f.read(), "<bytes>")
    return found


def _layout(text):
    return getattr(torch, text.removeprefix("torch."))


def _make_parameter(tensor, requires_grad, attributes):
    parameter = torch.nn.Parameter(tensor, requires_grad)
    return parameter if attributes is None else _with_attributes(parameter, attributes)


def _make_subclass(tensor, kind, attributes):
    return _with_attributes(tensor if kind is None else tensor.as_subclass(kind), attributes)


def _with_attributes(target, state):
    own = getattr(type(target), "__setstate__", None)
    if own is not None and own is not getattr(torch.Tensor, "__setstate__", None):
        target.__setstate__(state)
    elif isinstance(state, tuple) and len(state) == 2:
        for part in state:
            for name, value in (part or {}).items():
                setattr(target, name, value)
    elif state:
        vars(target).update(state)
    return target


def _call(function, arguments):
    return function(*arguments)


def _made(cls, arguments):
    if not isinstance(cls, type):
        raise pickle.UnpicklingError(f"load: the file makes an object of {cls!r}, expected a class")
    return cls.__new__(cls, *arguments)


def _change(target, what, value, item):
    """A step that makes an object of an allowed class complete: its state, an element, an item."""
    if what == 1:
        target.append(value)
    elif what == 2:
        target[value] = item
    else:
        _with_attributes(target, value)


_cresset._set_io_names(
    {
        "ordered_dict": collections.OrderedDict, "default_dict": collections.defaultdict, "counter": collections.Counter, "size": torch.Size,
        "parameter": getattr(torch.nn, "Parameter", None), "unpickling_error": pickle.UnpicklingError, "make_parameter": _make_parameter,
        "make_subclass": _make_subclass, "call": _call, "make": _made, "change": _change,
        "device_of": lambda kind, index: torch.device(kind) if index is None else torch.device(kind, index),
        "default_place": _device, "reduce": _reduce, "attributes": _utils._attributes, "global_name": _global_name, "layout": _layout, "typed_storage": TypedStorage, "typed_of": _typed,
    }
)  # fmt: skip
