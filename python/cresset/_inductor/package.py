"""Programs compiled ahead of time: `.pt2` files with machine code, which run without a compiler, from Python and from C++ (`cresset::graph::load_compiled`)."""

import os
import tempfile

import _cresset_compile

from .. import graph as _graph
from ..export import ExportedProgram, save


class AOTICompiledModel(_graph.Program):
    """A program from a package: a function of the arguments that the program was exported with.

    >>> import pathlib, tempfile
    >>> file = str(pathlib.Path(tempfile.mkdtemp()) / "m.pt2")
    >>> _ = torch._inductor.aoti_compile_and_package(torch.export.export(nn.ReLU(), (torch.zeros(2),)), package_path=file)
    >>> torch._inductor.aoti_load_package(file)(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """

    def get_metadata(self):
        """The texts given as `aot_inductor.metadata`, and the instruction sets that there is code for."""
        return {**self._program.metadata(), "AOTI_DEVICE_KEY": "cpu", "CRESSET_ISAS": ",".join(self._program.isas())}

    def get_constant_fqns(self):
        """The names of parameters, buffers and constants."""
        return [name for name, _ in self._program.state()]

    def load_constants(self, constants_map, *, check_full_update, user_managed=False):
        """Copies tensors into the program's constants, by name.

        Errors: ValueError for names that the program has not, where `check_full_update` for those that are not given, and for other sizes or dtypes.
        """
        known = dict(self._program.state())
        missing, unknown = known.keys() - constants_map.keys(), constants_map.keys() - known.keys()
        if unknown or (check_full_update and missing):
            raise ValueError(f"load_constants: expected the names {sorted(known)}, got unknown ones {sorted(unknown)} and none for {sorted(missing)}")
        for name, tensor in constants_map.items():
            if tensor.shape != known[name].shape or tensor.dtype != known[name].dtype:
                raise ValueError(
                    f"load_constants: {name!r}: expected {known[name].dtype} of {tuple(known[name].shape)}, got {tensor.dtype} of {tuple(tensor.shape)}"
                )
        for name, tensor in constants_map.items():
            known[name].detach().copy_(tensor.detach())


def compile_and_package(program, path, configs):
    """Writes the package; its path."""
    if not isinstance(program, ExportedProgram):
        raise TypeError(f"aoti_compile_and_package: expected an ExportedProgram, got {type(program)}")
    configs = dict(configs or {})
    isas, metadata = configs.pop("aot_inductor.isas", []), configs.pop("aot_inductor.metadata", {})
    if path is None:
        path = os.path.join(tempfile.mkdtemp(), "model.pt2")
    path = os.fspath(path)
    if not path.endswith(".pt2"):
        raise ValueError(f"aoti_compile_and_package: expected a path that ends in .pt2, got {path!r}")
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, os.path.basename(path))
        save(program, plain)
        _cresset_compile.write_package(plain, path, list(isas), {str(key): str(value) for key, value in metadata.items()})
    return path


def load_package(path):
    """The program in a package."""
    return AOTICompiledModel(_cresset_compile.Package.load(os.fspath(path)))
