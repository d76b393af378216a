"""`.pt2` files: archives of a program as JSON, its weights as bytes, and its example arguments."""

import contextlib
import ctypes
import errno
import io
import json
import os
import pickle
import warnings
import zipfile

import cresset as torch

from ..utils import _pytree as pytree
from . import _decode, _encode

_NAME = "model"


# ---- writing --------------------------------------------------------------------------------------------------------------


def write(program, file, extra_files, opset):
    """Writes the archive; a file at a path appears whole or not at all."""
    if not isinstance(file, (str, os.PathLike)):
        return _written(program, file, "archive", extra_files, opset)
    path = os.fspath(file)
    partial = f"{path}.{os.getpid()}.partial"
    try:
        with open(partial, "wb") as out:
            _written(program, out, os.path.splitext(os.path.basename(path))[0], extra_files, opset)
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def _written(program, out, root, extra_files, opset):
    document = json.dumps(_encode.document(program, opset), allow_nan=False)
    constants = {path: t for path, t in program.constants.items()}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:

        def put(name, data):
            archive.writestr(zipfile.ZipInfo(f"{root}/{name}"), data)

        _put_tensors(put, "weights", "weight", program.state_dict)
        _put_tensors(put, "constants", "tensor", constants)
        put(f"models/{_NAME}.json", document)
        if program.example_inputs is not None:
            buffer = io.BytesIO()
            torch.save(program.example_inputs, buffer)
            put(f"data/sample_inputs/{_NAME}.pt", buffer.getvalue())
        for name, data in extra_files.items():
            put(f"extra/{name}", data)
        for name, data in (("archive_format", "pt2"), ("archive_version", "0"), (".data/version", "6\n"), ("byteorder", "little")):
            put(name, data)
        put(".data/serialization_id", "0" * 40)


def _put_tensors(put, folder, prefix, tensors):
    """Each memory once: tensors that share some say where in it they lie."""
    places, config = {}, {}
    for path, tensor in tensors.items():
        if tensor.layout is not torch.strided:
            raise ValueError(f"save: the weight {path!r} is {tensor.layout}, expected weights that are strided")
        storage = tensor.untyped_storage()
        key = storage.data_ptr() or id(tensor), tensor.dtype
        if key not in places:
            places[key] = f"{prefix}_{len(places)}"
            put(f"data/{folder}/{places[key]}", _bytes(tensor))
        config[path] = {
            "path_name": places[key], "is_param": isinstance(tensor, torch.nn.Parameter), "use_pickle": False,
            "tensor_meta": _encode.facts(tensor.detach().requires_grad_(tensor.requires_grad) if tensor.requires_grad else tensor),
        }  # fmt: skip
    put(f"data/{folder}/{_NAME}_{folder}_config.json", json.dumps({"config": config}))


def _bytes(tensor):
    storage = tensor.detach().cpu().untyped_storage()
    return ctypes.string_at(storage.data_ptr(), storage.nbytes()) if storage.nbytes() else b""


# ---- reading --------------------------------------------------------------------------------------------------------------


def read(file, extra_files, opset):
    """Reads an archive."""
    name = os.fspath(file) if isinstance(file, (str, os.PathLike)) else "file"
    try:
        with _opened(file) as archive:
            return _Reader(archive, name).program(extra_files, opset)
    except zipfile.BadZipFile as error:
        raise BadZipFile(f"load: {name!r} is no .pt2 archive, or is damaged: {error}") from error
    except (json.JSONDecodeError, UnicodeDecodeError, EOFError) as error:
        raise ValueError(f"load: {name!r} is no .pt2 archive, or is damaged: {error}") from error


@contextlib.contextmanager
def _damage():
    """Errors of the library of archives for a version that is none, and for a place before the file's beginning, as damage."""
    try:
        yield
    except NotImplementedError as error:
        raise zipfile.BadZipFile(str(error)) from error
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise zipfile.BadZipFile(str(error)) from error


def _opened(file):
    with _damage():
        return zipfile.ZipFile(file)


class BadZipFile(ValueError, zipfile.BadZipFile):
    """A file that is no archive."""


class _Reader:
    def __init__(self, archive, file):
        self.archive, self.file = archive, file
        names = archive.namelist()
        formats = [n for n in names if n.endswith("archive_format")]
        self.root, self.names = formats[0].removesuffix("archive_format") if formats else "", set(names)
        if len(formats) != 1 or self.entry("archive_format") != b"pt2":
            raise ValueError(f"load: {file!r}: expected an archive that torch.export.save wrote, with archive_format pt2")

    def entry(self, name):
        if self.root + name not in self.names:
            raise ValueError(f"load: {self.file!r}: the archive has no entry {name!r}")
        entry = self.archive.getinfo(self.root + name)
        if entry.file_size > (most := 100 * entry.compress_size + 2**20):
            raise ValueError(f"load: {self.file!r}: {name!r} expands {entry.compress_size} bytes to {entry.file_size}, expected at most {most}")
        with _damage():
            return self.archive.read(self.root + name)

    def document(self, name):
        text = self.entry(name)
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"load: {self.file!r}: {name}: expected JSON: {error}") from None

    def program(self, extra_files, opset):
        if self.root + "byteorder" in self.names and self.entry("byteorder") != b"little":
            raise ValueError(f"load: {self.file!r}: expected weights of little-endian order")
        models = [n for n in self.names if n.startswith(self.root + "models/") and n.endswith(".json")]
        if len(models) != 1:
            raise ValueError(f"load: {self.file!r}: expected one model, got {len(models)}")
        name = models[0].removeprefix(self.root + "models/").removesuffix(".json")
        document = self.document(f"models/{name}.json")
        state, constants = self.tensors("weights", name), self.tensors("constants", name)
        for key in list(extra_files or {}):
            extra_files[key] = self.entry(f"extra/{key}").decode()
        return _decode.program(document, state, constants, self.examples(name), opset)

    def examples(self, name):
        entry = f"data/sample_inputs/{name}.pt"
        if self.root + entry not in self.names or not (data := self.entry(entry)):
            return None
        try:
            with torch.serialization.safe_globals([cls for cls, (name, *_) in pytree._files.items() if name]):  # which the program itself has registered
                found = torch.load(io.BytesIO(data), weights_only=True)
        except pickle.UnpicklingError as error:
            warnings.warn(f"load: {self.file!r}: the example arguments are left out: {error}", stacklevel=2)
            return None
        return (tuple(found[0]), dict(found[1])) if isinstance(found, (tuple, list)) and len(found) == 2 else None

    def tensors(self, folder, name):
        entry = f"data/{folder}/{name}_{folder}_config.json"
        if self.root + entry not in self.names:
            return {}
        storages, found = {}, {}
        for path, config in _decode.Place(self.document(entry), entry).at("config").fields().items():
            if config.at("use_pickle").of(bool):
                config.fail("is stored as a pickle, which is not opened")
            place = config.at("path_name").of(str)
            if place not in storages:
                storages[place] = torch.frombuffer(bytearray(self.entry(f"data/{folder}/{place}")) or bytearray(1), dtype=torch.uint8)
            found[path] = _decode.stored(storages[place], config.at("tensor_meta"), config.at("is_param").of(bool))
        return found
