"""Safetensors files, with the names of the safetensors package: tensors by name and text beside them, no code.

>>> content = torch.io.safetensors.save({"weight": torch.ones(2)}, {"format": "pt"})
>>> torch.io.safetensors.load(content)["weight"].tolist()
[1.0, 1.0]
"""

import os

import _cresset
import cresset

from .._files import source, target

__all__ = ["SafetensorError", "save", "save_file", "load", "load_file", "safe_open", "save_model", "load_model"]


# The format's names of dtypes.
_NAMES = {"bfloat16": "BF16", "bool": "BOOL", "complex64": "C64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float16": "F16", "float32": "F32", "float64": "F64",
          **{f"int{n}": f"I{n}" for n in (8, 16, 32, 64)}, **{f"uint{n}": f"U{n}" for n in (8, 16, 32, 64)}}  # fmt: skip


class SafetensorError(Exception):
    """The file is damaged or does not have what is asked for."""


def _checked(tensors):
    if not isinstance(tensors, dict):
        raise ValueError(f"save: expected a dict of tensors, got {type(tensors).__name__}")
    places = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, cresset.Tensor):
            raise ValueError(f"save: expected a tensor for {name!r}, got {type(tensor).__name__}")
        if tensor.layout != cresset.strided:
            raise ValueError(f"save: {name!r} is sparse, and the format holds only dense tensors")
        if not tensor.is_contiguous():
            raise ValueError(f"save: {name!r} is not contiguous; save tensor.contiguous()")
        if tensor.numel():
            places.setdefault((tensor.device, tensor.untyped_storage().data_ptr()), []).append(name)
    shared = [names for names in places.values() if len(names) > 1 and _overlapping([tensors[name] for name in names])]
    if shared:
        raise RuntimeError(f"save: tensors share memory, which the format cannot express: {shared}; clone() them, or use save_model for a module")
    return tensors


def _overlapping(tensors):
    spans = sorted((t.data_ptr(), t.data_ptr() + t.numel() * t.element_size()) for t in tensors)
    return any(first[1] > second[0] for first, second in zip(spans, spans[1:]))


def save(tensors, metadata=None):
    """The bytes of a safetensors file with a dict of tensors and, beside them, text by name.

    Raises ValueError for what is not a dict of dense contiguous tensors, RuntimeError for tensors that share memory, TypeError for
    dtypes that the format does not have.

    >>> len(torch.io.safetensors.save({"a": torch.zeros(2)})) > 8
    True
    """
    parts = []
    _cresset._io_save_safetensors(_checked(tensors), metadata, parts.append)
    return b"".join(parts)


def save_file(tensors, filename, metadata=None):
    """As `save`, into a file, which is replaced in one step.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.safetensors")
    ...     torch.io.safetensors.save_file({"a": torch.zeros(2)}, path)
    ...     torch.io.safetensors.load_file(path)["a"].tolist()
    [0.0, 0.0]
    """
    _cresset._io_save_safetensors(_checked(tensors), metadata, target(filename))


def _read(f, mmap):
    with source(f) as (data, name):
        try:
            if name.endswith(".index.json") and isinstance(f, (str, os.PathLike)):
                return _read_shards(os.path.dirname(name), name, _cresset._io_shards(data, name), mmap)
            return _cresset._io_load_safetensors(data, name, mmap)
        except RuntimeError as error:
            raise SafetensorError(str(error)) from None


def _read_shards(folder, index, places, mmap):
    files, tensors, facts = {}, {}, {}
    for name, file in places.items():
        if file not in files:
            with source(os.path.join(folder, file)) as (data, path):
                files[file] = _cresset._io_load_safetensors(data, path, mmap)
            facts.update(files[file][1] or {})
        if name not in files[file][0]:
            raise SafetensorError(f"load_file: {file!r} has no tensor {name!r}, which {index!r} says it has")
        tensors[name] = files[file][0][name]
    return tensors, facts or None


def load(data):
    """The tensors in the bytes of a safetensors file. Raises SafetensorError for damaged ones.

    >>> torch.io.safetensors.load(torch.io.safetensors.save({"a": torch.zeros(2)}))["a"].tolist()
    [0.0, 0.0]
    """
    return _read(data, False)[0]


def _maps(backend):
    if backend not in ("mmap", "pread"):
        raise SafetensorError(f"safetensors: the backend is 'mmap' or 'pread', got {backend!r}")
    return backend == "mmap"


def load_file(filename, device="cpu", *, backend="mmap"):
    """The tensors of a file by name. On the CPU they share pages with the file until they are written to; the file does not change.
    A name that ends in `.index.json`, as `model.safetensors.index.json`, stands for all the files of a model that it lists.

    With ``backend="pread"`` the file is read whole.

    Raises FileNotFoundError and its kin, SafetensorError for damaged files.

    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "weights.safetensors")
    >>> torch.io.safetensors.save_file({"w": torch.ones(2)}, path)
    >>> torch.io.safetensors.load_file(path)
    {'w': tensor([1., 1.])}
    """
    tensors = _read(filename, _maps(backend))[0]
    return tensors if cresset.device(device).type == "cpu" else {name: tensor.to(device) for name, tensor in tensors.items()}


class safe_open:
    """A file whose tensors are taken one by one, or in part.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.safetensors")
    ...     torch.io.safetensors.save_file({"a": torch.arange(6.0).view(3, 2)}, path)
    ...     with torch.io.safetensors.safe_open(path, framework="pt") as file:
    ...         file.keys(), file.get_slice("a")[1:2].tolist()
    (['a'], [[2.0, 3.0]])
    """

    def __init__(self, filename, framework="pt", device="cpu", *, backend="mmap"):
        if framework not in ("pt", "torch", "pytorch"):
            raise SafetensorError(f"safe_open: expected framework='pt', got {framework!r}")
        self._device = cresset.device(device)
        self._tensors, self._metadata = _read(filename, _maps(backend))

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self._tensors = {}

    def keys(self):
        """The names of the tensors, sorted."""
        return sorted(self._tensors)

    def offset_keys(self):
        """The names in the order in which the tensors lie in the file."""
        return list(self._tensors)

    def metadata(self):
        """The text beside the tensors; None without."""
        return self._metadata

    def get_tensor(self, name):
        """A tensor. Raises SafetensorError for a name that is not there."""
        return self._named(name).to(self._device)

    def get_tensors(self):
        """All tensors by name."""
        return {name: self.get_tensor(name) for name in self._tensors}

    def get_slice(self, name):
        """A tensor that is only read where it is indexed."""
        return _Slice(self._named(name), self._device)

    def _named(self, name):
        if name not in self._tensors:
            raise SafetensorError(f"safe_open: the file has no tensor {name!r}")
        return self._tensors[name]


class _Slice:
    def __init__(self, tensor, device):
        self._tensor, self._device = tensor, device

    def get_shape(self):
        return list(self._tensor.shape)

    def get_dtype(self):
        return _NAMES[str(self._tensor.dtype).removeprefix("torch.")]

    def __getitem__(self, index):
        return self._tensor[index].to(self._device)


def save_model(model, filename, metadata=None, force_contiguous=True):
    """The state of a module; of tensors under several names one is written, the others are noted in the metadata.

    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "model.safetensors")
    >>> torch.io.safetensors.save_model(nn.Linear(2, 1), path)
    >>> sorted(torch.io.safetensors.load_file(path))
    ['bias', 'weight']
    """
    state, kept, facts = model.state_dict(), {}, dict(metadata or {})
    seen = {}
    for name, tensor in state.items():
        place = (tensor.data_ptr(), tuple(tensor.shape), tensor.dtype) if tensor.numel() else (name,)
        if place in seen:
            facts[name] = seen[place]
            continue
        seen[place] = name
        kept[name] = tensor.contiguous() if force_contiguous else tensor
    save_file(kept, filename, facts or None)


def _filled_by_others(state, loaded):
    """The tensors of a state that are not loaded by their own names, and lie in the memory of some that are."""
    filled = {}
    for name in loaded:
        if name in state and not state[name].is_meta:
            filled.setdefault(state[name].untyped_storage().data_ptr(), []).append(state[name])

    def is_filled(tensor):
        begin, bytes_ = tensor.data_ptr(), tensor.numel() * tensor.itemsize
        others = filled.get(tensor.untyped_storage().data_ptr(), ())
        return any(o.is_contiguous() and o.data_ptr() <= begin and begin + bytes_ <= o.data_ptr() + o.numel() * o.itemsize for o in others)

    return {name: t for name, t in state.items() if name not in loaded and t.numel() and not t.is_meta and t.is_contiguous() and is_filled(t)}


def load_model(model, filename, strict=True, device="cpu"):
    """Load what `save_model` wrote; returns the names that are missing and those that are not expected. A tensor of the model whose memory a name of
    the file fills is not missing.

    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "model.safetensors")
    >>> torch.io.safetensors.save_model(nn.Linear(2, 1), path)
    >>> torch.io.safetensors.load_model(nn.Linear(2, 1), path)
    (set(), [])
    """
    tensors, facts = _read(filename, True)
    tensors = dict(tensors)
    for name, other in (facts or {}).items():
        if other in tensors and name not in tensors and name in model.state_dict():
            tensors[name] = tensors[other]
    loaded = {name: tensor.to(device) for name, tensor in tensors.items()}
    result = model.load_state_dict({**_filled_by_others(model.state_dict(), loaded), **loaded}, strict=strict)
    return set(result.missing_keys), list(result.unexpected_keys)
