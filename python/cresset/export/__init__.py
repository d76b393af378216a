"""Programs as graphs that need no Python: `export` captures a module, `save` and `load` keep it in `.pt2` files, which PyTorch reads and writes too.

>>> program = torch.export.export(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), (torch.ones(2, 3),))
>>> [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
['aten.linear.default', 'aten.relu.default']
>>> program.module()(torch.zeros(2, 3)).shape
torch.Size([2, 4])
"""

import os as _os
import typing as _typing

import cresset as torch

from ..utils import _pytree as _pytree
from . import decomp_utils, exported_program, graph_signature, passes
from .decomp_utils import CustomDecompTable
from .dynamic_shapes import AdditionalInputs, Constraint, Dim, ShapesCollection, dims
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature, default_decompositions
from .graph_signature import ExportBackwardSignature, ExportGraphSignature
from .unflatten import FlatArgsAdapter, UnflattenedModule, unflatten

__all__ = [
    "AdditionalInputs",
    "Constraint",
    "CustomDecompTable",
    "Dim",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "ExportedProgram",
    "FlatArgsAdapter",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "ShapesCollection",
    "UnflattenedModule",
    "default_decompositions",
    "dims",
    "draft_export",
    "export",
    "load",
    "register_dataclass",
    "save",
    "unflatten",
]

FileLike = str | _os.PathLike | _typing.IO[bytes]


def export(mod, args, kwargs=None, *, dynamic_shapes=None, strict=False, preserve_module_call_signature=(), prefer_deferred_runtime_asserts_over_guards=False):
    """A module as a graph of operators, captured while it runs once on example arguments without data.

    Args:
        mod: an `nn.Module`.
        args, kwargs: example arguments: tensors, numbers, strings, None, in containers that `torch.utils._pytree` knows.
        dynamic_shapes: which sizes may change: by argument, a dictionary from dimension to `Dim`, or a tuple, nested as the arguments; a
            `ShapesCollection` or `AdditionalInputs`. All others are those of the example.
        strict: refuse what depends on data with `torch._dynamo.exc.Unsupported`.
        preserve_module_call_signature: paths of submodules whose calls `unflatten` is to give their arguments and results back.
        prefer_deferred_runtime_asserts_over_guards: check relations between sizes when the program runs instead of refusing them.

    Errors: ValueError for what is no module or no argument, `UserError` for args that are no tuple and shapes that do not fit them, `TypeError` for
    arguments that the module does not take, `GuardOnDataDependentSymNode` where the program branches on data; whatever the module raises.

    >>> program = torch.export.export(nn.Linear(3, 2), (torch.ones(1, 3),))
    >>> program.graph_signature.parameters
    ('weight', 'bias')
    """
    from .._dynamo.exc import UserError, UserErrorType
    from ._trace import exported

    if not isinstance(mod, torch.nn.Module):
        raise ValueError(f"export: expected an nn.Module, got {type(mod)}")
    if isinstance(mod, getattr(torch.jit, "ScriptModule", ())):
        raise ValueError("export: got a ScriptModule; `torch._export.converter.TS2EPConverter(module, args).convert()` gives its program")
    if not isinstance(args, tuple):
        raise UserError(UserErrorType.INVALID_INPUT, f"export: expected args to be a tuple of example arguments, got {type(args)}")
    return exported(mod, args, kwargs, dynamic_shapes, strict, preserve_module_call_signature, prefer_deferred_runtime_asserts_over_guards)


def draft_export(
    mod, args, kwargs=None, *, dynamic_shapes=None, preserve_module_call_signature=(), strict=False, prefer_deferred_runtime_asserts_over_guards=False
):
    """Like `export`, and goes on where that refuses: Dims that the program fixes or limits become what it makes of them, and conditions on data are
    decided by running the module once on the example, and asserted when the program runs. `_report` of the result lists all of it, as does a warning.

    Errors: as `export` for everything else.

    >>> type(torch.export.draft_export(nn.ReLU(), (torch.ones(2),))).__name__
    'ExportedProgram'
    """
    from ._trace import drafted

    return drafted(mod, args, kwargs, dynamic_shapes, strict, preserve_module_call_signature, prefer_deferred_runtime_asserts_over_guards)


def save(ep, f, *, extra_files=None, opset_version=None, pickle_protocol=2):
    """Writes a program to a `.pt2` file, which PyTorch reads too.

    Args:
        ep: the program.
        f: a path, or a file open for writing bytes, which is left at its start.
        extra_files: names to strings or bytes that are kept beside it.
        opset_version, pickle_protocol: taken for PyTorch's sake: the version of the operators is written with the file.

    Errors: TypeError for what is no ExportedProgram; ValueError for what the format cannot hold, with the node.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> torch.export.save(torch.export.export(nn.ReLU(), (torch.ones(2),)), buffer)
    >>> torch.export.load(buffer).module()(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """
    from .pt2_archive._package import package_pt2

    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"save: expected an ExportedProgram, got {type(ep)}")
    package_pt2(f, exported_programs=ep, extra_files=extra_files, opset_version=opset_version)


def load(f, *, extra_files=None, expected_opset_version=None):
    """Reads a program from a `.pt2` file that `save` or PyTorch wrote: the only one, or of several that of the name "model". Nothing in the file can run code.

    Args:
        f: a path, or a file open for reading bytes.
        extra_files: a dictionary whose keys are names of files to be read beside the program; the values are put into it.
        expected_opset_version: the version of the operators that the file must have.

    Errors: ValueError for a file that is damaged, of another version, or whose graph is none, with the node and the field.

    >>> import io
    >>> try:
    ...     torch.export.load(io.BytesIO(b"nothing"))
    ... except ValueError as error:
    ...     print(str(error)[:38])
    load: 'file' is no .pt2 archive, or is
    """
    from ._archive import ProgramReader

    with ProgramReader(f) as reader:
        program = reader.program(reader.only_model(), expected_opset_version)
        for name in extra_files or ():
            extra_files[name] = reader.extra_file(name)
    return program


def register_dataclass(cls, *, serialized_type_name=None):
    """Makes a dataclass a container of arguments and results, whose children are its fields.

    Errors: ValueError for what is no dataclass.

    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Both:
    ...     a: torch.Tensor
    ...     b: torch.Tensor
    >>> torch.export.register_dataclass(Both)
    >>> torch.utils._pytree.tree_structure(Both(1, 2)).num_leaves
    2
    """
    _pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)
