"""Functions compiled ahead of time: files with machine code, which run without being compiled.

>>> compiled = torch.compile(lambda x: x.sin(), fullgraph=True).aot_compile(((torch.zeros(2),), {}))
>>> compiled(torch.zeros(2))
tensor([0., 0.])
"""

import os
import pathlib
import tempfile

import cresset as torch

__all__ = ["AOTCompiledFunction"]


class AOTCompiledFunction:
    """A function compiled ahead of time: `aot_compile` of what `torch.compile` gave makes it, `torch.compiler.load_compiled_function` reads it from a file.

    It takes arguments like those that it was compiled for, and records no history for gradients. Errors: those of its operators; RuntimeError and ValueError for
    other arguments.
    """

    def __init__(self, content):
        from .._inductor.package import load_package

        self._content = content
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "function.pt2")
            pathlib.Path(path).write_bytes(content)
            self._model = load_package(path)

    def __call__(self, *args, **kwargs):
        return self._model(*args, **kwargs)

    def save_compiled_function(self, path, external_data=None):
        """Writes the function to a file. `external_data`, objects of the program that the file is to do without, is not taken."""
        _refuse(external_data)
        pathlib.Path(path).write_bytes(self._content)


class _Function(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        """The function's result."""
        return self.function(*args, **kwargs)


def compiled_now(function, compiler, example_inputs):
    """A function or module compiled for arguments like `example_inputs`, a pair of a tuple and a dict. Errors: RuntimeError without `fullgraph=True`."""
    if not compiler.fullgraph:
        raise RuntimeError("aot_compile: expected a function of torch.compile(..., fullgraph=True)")
    from .._inductor.package import compile_and_package

    args, kwargs = example_inputs
    module = function if isinstance(function, torch.nn.Module) else _Function(function)
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "function.pt2")
        compile_and_package(torch.export.export(module, tuple(args), dict(kwargs)), path, None)
        return AOTCompiledFunction(pathlib.Path(path).read_bytes())


def loaded(file, external_data):
    """The function in a file that is open for reading."""
    _refuse(external_data)
    content = file.read()
    if not isinstance(content, bytes):
        raise TypeError(f"load_compiled_function: expected a file that is open for reading bytes, got one of {type(content).__name__}")
    return AOTCompiledFunction(content)


def _refuse(external_data):
    if external_data:
        raise NotImplementedError(f"external_data: objects that a compiled function uses are in its file, got {sorted(external_data)} beside it")
