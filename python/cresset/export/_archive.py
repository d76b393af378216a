"""Programs in archives: each as JSON, its weights as bytes, and its example arguments."""

import ctypes
import io
import json

import cresset as torch

from . import _decode, _encode
from .pt2_archive import constants
from .pt2_archive._files import PT2ArchiveReader, PT2ArchiveWriter

DEFAULT_MODEL = "model"


# ---- writing --------------------------------------------------------------------------------------------------------------


def write(file, put):
    """An archive of what `put(writer)` writes; an open file that can be read again is left at its start."""
    with PT2ArchiveWriter(file) as writer:
        put(writer)
    if getattr(file, "seekable", bool)():
        file.seek(0)
    return file


def put_programs(writer, programs, opset):
    """Programs by name. Memory that they share is kept once."""
    weights, others = {}, {}
    for name, program in programs.items():
        document = json.dumps(_encode.document(program, opset), allow_nan=False)
        _put_tensors(
            writer, weights, constants.WEIGHTS_DIR + constants.WEIGHT_FILENAME_PREFIX, constants.WEIGHTS_CONFIG_FILENAME_FORMAT.format(name), program.state_dict
        )
        _put_tensors(
            writer,
            others,
            constants.CONSTANTS_DIR + constants.TENSOR_CONSTANT_FILENAME_PREFIX,
            constants.CONSTANTS_CONFIG_FILENAME_FORMAT.format(name),
            program.constants,
        )
        writer.write_string(constants.MODELS_FILENAME_FORMAT.format(name), document)
        if program.example_inputs is not None:
            writer.write_bytes(constants.SAMPLE_INPUTS_FILENAME_FORMAT.format(name), saved(program.example_inputs))


def saved(value):
    """The bytes that torch.save writes."""
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def _put_tensors(writer, places, prefix, config_file, tensors):
    """Each memory once: tensors that share some say where in it they lie. `places`: memory -> name of its file."""
    config = {}
    for path, tensor in tensors.items():
        storage = tensor.untyped_storage()
        key = storage.data_ptr() or id(tensor), tensor.dtype
        if key not in places:
            file = f"{prefix}{len(places)}"
            places[key] = file.rsplit("/", 1)[1]
            writer.write_bytes(file, _bytes(tensor))
        config[path] = {
            "path_name": places[key], "is_param": isinstance(tensor, torch.nn.Parameter), "use_pickle": False,
            "tensor_meta": _encode.facts(tensor.detach().requires_grad_(tensor.requires_grad) if tensor.requires_grad else tensor),
        }  # fmt: skip
    writer.write_string(config_file, json.dumps({"config": config}))


def _bytes(tensor):
    storage = tensor.detach().cpu().untyped_storage()
    return ctypes.string_at(storage.data_ptr(), storage.nbytes()) if storage.nbytes() else b""


# ---- reading --------------------------------------------------------------------------------------------------------------


class ProgramReader(PT2ArchiveReader):
    """Reads programs of an archive by their names."""

    def __init__(self, file):
        super().__init__(file)
        if self.has_record("byteorder") and self.read_bytes("byteorder") != b"little":
            raise ValueError(f"load: {self._file!r}: expected weights of little-endian order")
        self._memory = {}  # by file of the archive

    def models(self):
        """The names of the programs."""
        first, last = constants.MODELS_FILENAME_FORMAT.split("{}")
        return [n.removeprefix(first).removesuffix(last) for n in self.get_file_names() if n.startswith(first) and n.endswith(last)]

    def extra_files(self):
        """The files beside the programs: text, or bytes that are no UTF-8."""
        names = [n.removeprefix(constants.EXTRA_DIR) for n in self.get_file_names() if n.startswith(constants.EXTRA_DIR)]
        return {name: self.extra_file(name) for name in names}

    def extra_file(self, name):
        """One of them."""
        data = self.read_bytes(constants.EXTRA_DIR + name)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data

    def program(self, name, opset):
        """A program. Errors: ValueError for a document or weights that make none, with the place."""
        document = self._document(constants.MODELS_FILENAME_FORMAT.format(name))
        state = self._tensors(constants.WEIGHTS_DIR, constants.WEIGHTS_CONFIG_FILENAME_FORMAT.format(name))
        others = self._tensors(constants.CONSTANTS_DIR, constants.CONSTANTS_CONFIG_FILENAME_FORMAT.format(name))
        return _decode.program(document, state, others, self._examples(name), opset)

    def only_model(self):
        """The name of the only program, or of the one that `save` writes. Errors: ValueError where there is none such, with those that there are."""
        names = self.models()
        if DEFAULT_MODEL in names or len(names) == 1:
            return DEFAULT_MODEL if DEFAULT_MODEL in names else names[0]
        if not names:
            raise ValueError(f"load: {self._file!r}: the archive has no model")
        raise ValueError(f"load: {self._file!r}: expected one model, got {', '.join(names)}; torch.export.pt2_archive._package.load_pt2 reads all of them")

    def _document(self, name):
        text = self.read_bytes(name)
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"load: {self._file!r}: {name}: expected JSON: {error}") from None

    def _examples(self, name):
        entry = constants.SAMPLE_INPUTS_FILENAME_FORMAT.format(name)
        if not self.has_record(entry) or not (data := self.read_bytes(entry)):
            return None
        found = torch.load(io.BytesIO(data), weights_only=True)
        return (tuple(found[0]), dict(found[1])) if isinstance(found, (tuple, list)) and len(found) == 2 else None

    def _tensors(self, folder, entry):
        if not self.has_record(entry):
            return {}
        found = {}
        for path, config in self._document(entry)["config"].items():
            if config["use_pickle"]:
                raise ValueError(f"load: {self._file!r}: {path!r} is stored as a pickle, which is not opened")
            place = folder + config["path_name"]
            if place not in self._memory:
                self._memory[place] = torch.frombuffer(bytearray(self.read_bytes(place)) or bytearray(1), dtype=torch.uint8)
            found[path] = _decode.stored(self._memory[place], config["tensor_meta"], f"{entry}: {path}", config["is_param"])
        return found
