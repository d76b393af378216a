"""Several programs and other files in one archive: `package_pt2` writes it, `load_pt2` reads it."""

import dataclasses
import json
import os
import typing

import cresset as torch

from .. import _archive
from ..exported_program import ExportedProgram
from . import constants
from ._files import PT2ArchiveReader, PT2ArchiveWriter, is_pt2_package
from ._package_weights import TensorProperties, Weights, get_complete_tensor, group_weights

__all__ = [
    "AOTICompiledModel", "FileLike", "PT2ArchiveContents", "PT2ArchiveReader", "PT2ArchiveWriter", "TensorProperties", "Weights", "get_complete_tensor",
    "group_weights", "is_pt2_package", "load_pt2", "load_weights_to_pt2_contents", "package_pt2",
]  # fmt: skip

FileLike = str | os.PathLike | typing.IO[bytes]
DEFAULT_PICKLE_PROTOCOL = 2
AOTI_FILES = list[str | Weights] | dict[str, list[str | Weights]]


class AOTICompiledModel:
    """A model that an archive has as code which PyTorch's Inductor compiled. That code is kept, and not run here: each use says how to go on.

    >>> model = torch.export.pt2_archive._package.AOTICompiledModel("m")
    >>> try:
    ...     model(torch.ones(2))
    ... except NotImplementedError as error:
    ...     print(str(error)[:41])
    'm' is code that PyTorch's Inductor compi
    """

    def __init__(self, loader):
        self.loader = loader

    def __call__(self, *args, **kwargs):
        self._refuse()

    def get_metadata(self):
        """Errors: NotImplementedError."""
        self._refuse()

    def get_constant_fqns(self):
        """Errors: NotImplementedError."""
        self._refuse()

    def load_constants(self, constants_map, *, check_full_update, user_managed=False, allow_h2d_copy=False):
        """Errors: NotImplementedError."""
        self._refuse()

    def __deepcopy__(self, memo):
        return self

    def _refuse(self):
        raise NotImplementedError(
            f"{self.loader!r} is code that PyTorch's Inductor compiled, which is not run here; save the ExportedProgram with package_pt2(exported_programs=...), "
            "or compile it with torch._inductor.aoti_compile_and_package; PT2ArchiveReader reads the files themselves"
        )


@dataclasses.dataclass
class PT2ArchiveContents:
    """All that an archive has: programs, compiled models, and other files, each by name.

    >>> torch.export.pt2_archive._package.PT2ArchiveContents({}, {}, {"note": "hi"}).extra_files
    {'note': 'hi'}
    """

    exported_programs: dict[str, ExportedProgram]
    aoti_runners: dict[str, AOTICompiledModel]
    extra_files: dict[str, typing.Any]


def package_pt2(
    f, *, exported_programs=None, aoti_files=None, extra_files=None, opset_version=None, pickle_protocol=DEFAULT_PICKLE_PROTOCOL, executorch_files=None
):
    """Writes programs and files into one archive, which PyTorch reads too; returns `f`. Weights that programs share are kept once.

    Args:
        f: a path, or a file open for writing bytes, which is left at its start.
        exported_programs: by name; a program alone is called "model".
        aoti_files: by name of the model, lists of paths of files, which are copied, and of `Weights`; a list alone is of "model".
        extra_files: strings or bytes by name.
        opset_version: the versions of the operators that the file states.
        pickle_protocol: taken for PyTorch's sake: of the format's parts only example arguments are pickled, always by protocol 2.
        executorch_files: bytes by name.

    Errors: ValueError where there is nothing to write and for what the format cannot hold, with the node; TypeError for values of other classes;
    FileNotFoundError for paths that are no files.

    >>> import io
    >>> buffer = torch.export.pt2_archive._package.package_pt2(io.BytesIO(), extra_files={"note": "hi"})
    >>> torch.export.pt2_archive._package.load_pt2(buffer).extra_files
    {'note': 'hi'}
    """
    if exported_programs is None and aoti_files is None and extra_files is None:
        raise ValueError("package_pt2: expected one of exported_programs, aoti_files and extra_files, got none of them")
    programs = _by_name("exported_programs", exported_programs, ExportedProgram)
    compiled = _by_name("aoti_files", aoti_files, (list, tuple))

    def put(writer):
        _archive.put_programs(writer, programs, opset_version)
        _put_compiled(writer, compiled)
        for name, data in (executorch_files or {}).items():
            writer.write_bytes(constants.EXECUTORCH_DIR + name, data)
        _put_extra_files(writer, extra_files or {})

    return _archive.write(f, put)


def _by_name(what, given, kinds):
    """The values by name; one alone is the default model's."""
    if isinstance(given, kinds):
        given = {_archive.DEFAULT_MODEL: given}
    if given is not None and not isinstance(given, dict):
        raise TypeError(f"package_pt2: {what}: expected a dict from name to value, got {type(given).__name__}")
    for name, value in (given or {}).items():
        if not isinstance(value, kinds):
            raise TypeError(f"package_pt2: {what}: {name!r}: got {type(value).__name__}")
    return given or {}


def _put_extra_files(writer, files):
    """Strings or bytes by name."""
    for name, data in files.items():
        (writer.write_string if isinstance(data, str) else writer.write_bytes)(constants.EXTRA_DIR + name, data)


def _put_compiled(writer, compiled):
    """Files of compiled models, and weights beside them: each memory once, with a table for each model of where its weights lie."""
    weights = {}
    for model, items in compiled.items():
        for item in items:
            if isinstance(item, Weights):
                weights.setdefault(model, Weights({})).update(item)
            else:
                writer.write_file(f"{constants.AOTINDUCTOR_DIR}{model}/{os.path.basename(item)}", item)
    tables = {model: {} for model in weights}
    for i, group in enumerate(group_weights(weights)):
        name, whole = f"{constants.WEIGHT_FILENAME_PREFIX}{i}", get_complete_tensor(group, weights)
        writer.write_bytes(constants.WEIGHTS_DIR + name, _archive.saved(whole))
        for model, path in group:
            facts = weights[model].get_weight_properties(path)
            tables[model][path] = [name, list(facts.shape), list(facts.stride), facts.offset]
    for model, table in tables.items():
        writer.write_string(f"{constants.AOTINDUCTOR_DIR}{model}/weights_config.json", json.dumps(table))


def load_pt2(f, *, expected_opset_version=None, run_single_threaded=False, num_runners=1, device_index=-1, load_weights_from_disk=False):
    """All that an archive has which `package_pt2`, `torch.export.save` or PyTorch wrote. Nothing in the file can run code.

    Args:
        f: a path, or a file open for reading bytes.
        expected_opset_version: the versions of the operators that the programs must have.
        run_single_threaded, num_runners, device_index, load_weights_from_disk: of code that Inductor compiled, which is not run here.

    Errors: as `torch.export.load`.

    >>> import io
    >>> program = torch.export.export(nn.ReLU(), (torch.ones(2),))
    >>> buffer = torch.export.pt2_archive._package.package_pt2(io.BytesIO(), exported_programs={"a": program})
    >>> list(torch.export.pt2_archive._package.load_pt2(buffer).exported_programs)
    ['a']
    """
    with _archive.ProgramReader(f) as reader:
        programs = {name: reader.program(name, expected_opset_version) for name in reader.models()}
        folder = constants.AOTINDUCTOR_DIR
        compiled = {n.removeprefix(folder).split("/")[0]: None for n in reader.get_file_names() if n.startswith(folder)}
        return PT2ArchiveContents(programs, {name: AOTICompiledModel(name) for name in compiled}, reader.extra_files())


def load_weights_to_pt2_contents(pt2_contents, weights_map):
    """Gives compiled models of an archive their weights. Errors: RuntimeError for names that no compiled model has.

    >>> contents = torch.export.pt2_archive._package.PT2ArchiveContents({}, {}, {})
    >>> torch.export.pt2_archive._package.load_weights_to_pt2_contents(contents, {})
    """
    runners = pt2_contents.aoti_runners
    for name, weights in weights_map.items():
        if name not in runners:
            raise RuntimeError(f"load_weights_to_pt2_contents: no compiled model is called {name!r}; there are {sorted(runners)}")
        runners[name].load_constants(weights, check_full_update=True, user_managed=True)
