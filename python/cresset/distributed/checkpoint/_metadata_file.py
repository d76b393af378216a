"""The file of metadata: a pickle of the classes of `metadata.py`, read as data alone."""

import collections
import dataclasses
import io
import pathlib
import pickle

import cresset as torch

from .._wire import register_type
from . import metadata as _metadata


@dataclasses.dataclass
class _StorageInfo:
    """Where the bytes of an item are: a file, the first byte and how many."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: list[str] | None = None

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if value is not None}


register_type(_StorageInfo, lambda value: dict(vars(value)))

_HOME = "torch.distributed.checkpoint"
_CLASSES = {
    **{(f"{_HOME}.metadata", name): getattr(_metadata, name) for name in (*_metadata.__all__, "_MEM_FORMAT_ENCODING")},
    (f"{_HOME}.filesystem", "_StorageInfo"): _StorageInfo,
    ("torch", "Size"): torch.Size,
}


def _member(cls, name):
    """The only attribute that `getattr` of the file may fetch: a member of an enumeration."""
    if cls is not _metadata._MEM_FORMAT_ENCODING or name not in cls.__members__:
        raise pickle.UnpicklingError(f"checkpoint: the metadata asks for {name!r} of {cls!r}")
    return cls[name]


def _layout(name):
    found = {str(layout): layout for layout in (torch.strided, torch.sparse_coo, torch.sparse_csr)}.get(name)
    if found is None:
        raise pickle.UnpicklingError(f"checkpoint: the metadata has {name!r}, which is no layout")
    return found


_PATHS = {(module, name): pathlib.PurePosixPath if "Windows" not in name else pathlib.PureWindowsPath
          for module in ("pathlib", "pathlib._local") for name in ("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath")}  # fmt: skip
_FOUND = {
    **_CLASSES,
    **_PATHS,
    ("builtins", "getattr"): _member,
    ("torch.serialization", "_get_layout"): _layout,
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("torch.distributed._shard.sharded_tensor.metadata", "TensorProperties"): _metadata.TensorProperties,
    ("torch.distributed._shard.sharded_tensor.metadata", "MEM_FORMAT_ENCODING"): _metadata._MEM_FORMAT_ENCODING,
}


class _Reader(pickle.Unpickler):
    def find_class(self, module, name):
        found = _FOUND.get((module, name))
        if found is None and module == "torch":
            found = getattr(torch, name, None)
            found = found if isinstance(found, torch.dtype) else None
        if found is None:
            raise pickle.UnpicklingError(f"checkpoint: the metadata names {module}.{name}, which is no part of metadata")
        return found


class _Writer(pickle._Pickler):
    # Python 3.13 has its paths in a module of their own, which other versions do not read.
    _names = {cls: place for place, cls in _CLASSES.items()} | {cls: ("pathlib", cls.__name__) for cls in (pathlib.PosixPath, pathlib.PurePosixPath)}

    def reducer_override(self, value):
        if isinstance(value, torch.dtype):
            return str(value).removeprefix("torch.")
        if isinstance(value, torch.layout):
            return _layout, (str(value),)
        if isinstance(value, torch.Size):
            return torch.Size, (tuple(value),)
        if isinstance(value, _metadata._MEM_FORMAT_ENCODING):
            return getattr, (type(value), value.name)
        return NotImplemented

    def save_global(self, obj, name=None):
        if isinstance(obj, torch.dtype):
            place = ("torch", name)
        elif obj is _layout:
            place = ("torch.serialization", "_get_layout")
        else:
            place = self._names.get(obj) or (obj.__module__, obj.__qualname__)
        if place not in _FOUND and not isinstance(obj, torch.dtype):
            raise pickle.PicklingError(f"checkpoint: {obj!r} is no part of metadata")
        for part in place:
            self.save(part)
        self.write(pickle.STACK_GLOBAL)
        self.memoize(obj)

    dispatch = {**pickle._Pickler.dispatch, type(_layout): save_global}


def write(metadata, file):
    """Writes `Metadata` as PyTorch reads it."""
    data = io.BytesIO()
    _Writer(data, 4).dump(metadata)
    file.write(data.getvalue())


def read(file):
    """`Metadata` of a file, of which nothing is called. Errors: pickle.UnpicklingError for anything else in it."""
    found = _Reader(file).load()
    if not isinstance(found, _metadata.Metadata):
        raise pickle.UnpicklingError(f"checkpoint: expected metadata in the file, got {type(found).__name__}")
    return found
