"""Archives: `save` and `load`, in the format of PyTorch."""

import io
import os

import _cresset_graph as _graph
import cresset as torch

from . import _module
from ._function import ScriptFunction


def to_bytes(obj, _extra_files=None, name="archive", lite=False):
    """The bytes of an archive, with `lite` of one that has bytecode for the lite interpreter, too."""
    extra = {k: v if isinstance(v, bytes) else str(v).encode() for k, v in (_extra_files or {}).items()}
    handle = obj._handle if isinstance(obj, ScriptFunction) else _script(obj)._c
    return _graph.script_save(handle, extra, name, lite)


def write(f, bytes_of):
    """Writes what `bytes_of` makes of an archive's name: to a path, whose file is there whole or not at all, or to an object with `write`."""
    if not isinstance(f, (str, os.PathLike)):
        f.write(bytes_of("archive"))
        return
    path = os.fspath(f)
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise RuntimeError(f"torch.jit.save: there is no folder {os.path.dirname(path)!r} for the file")
    data = bytes_of(os.path.splitext(os.path.basename(path))[0] or "archive")
    partial = f"{path}.{os.getpid()}.partial"
    try:
        with open(partial, "wb") as file:
            file.write(data)
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def source_of(f, what):
    """The path of a file that is there, or the bytes of an object with `read`."""
    if not isinstance(f, (str, os.PathLike)):
        return f.read()
    source = os.fsdecode(f)
    if not os.path.exists(source):
        raise ValueError(f"{what}: there is no file {source!r}")
    if os.path.isdir(source):
        raise ValueError(f"{what}: expected a file, got the folder {source!r}")
    return source


def device_text(map_location, what):
    """The name of a device, or None for none."""
    if not (map_location is None or isinstance(map_location, (str, torch.device))):
        raise ValueError(f"{what}: expected a device, its name or None for map_location, got {type(map_location).__name__}")
    return None if map_location is None else str(map_location)


def _script(m):
    if isinstance(m, _module.RecursiveScriptModule):
        return m
    if isinstance(m, _module.ScriptModule) and m._script() is not None:
        return m._script()
    raise RuntimeError(
        f"torch.jit.save: expected a ScriptModule or ScriptFunction, got {type(m).__name__}; compile it with torch.jit.script or torch.jit.trace first"
    )


def save(m, f, _extra_files=None):
    """Writes a compiled module or function to a file, a path or an object with `write`, for PyTorch and for C++ too.

    `_extra_files`: names and contents of further files. Errors: RuntimeError for what is not compiled, or calls functions of Python.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.jit.save(torch.jit.script(nn.ReLU()), file)
    >>> _ = file.seek(0)
    >>> torch.jit.load(file)(torch.tensor([-1.0]))
    tensor([0.])
    """
    write(f, lambda name: to_bytes(m, _extra_files, name))


def _saved_in_cpp(source, device):
    """A module whose parameters are the tensors that `torch::save` wrote in C++, a checkpoint of a tensor or a list of them."""
    found = torch.load(source, map_location=device, weights_only=True)
    tensors = [found] if isinstance(found, torch.Tensor) else found
    if not isinstance(tensors, list) or not all(type(t) is torch.Tensor for t in tensors):
        raise RuntimeError("torch.jit.load: the file is a checkpoint of torch.save, not an archive of TorchScript; load it with torch.load")
    holder = torch.nn.Module()
    for index, tensor in enumerate(tensors):
        holder.register_parameter(str(index), torch.nn.Parameter(tensor.detach(), requires_grad=tensor.requires_grad))
    return torch.jit.script(holder)


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """The module or function in an archive: a path, or an object with `read`. It cannot run anything but TorchScript. Of a file that `torch::save` wrote
    in C++, of a tensor or a list of them, it is a module with these as parameters.

    `map_location` is a device. `_extra_files`, a dict, gets the contents of the files that it names.
    Errors: ValueError for a path that is not there and a map_location that is no device, RuntimeError for a damaged archive, one of a later version or with operators that are lacking, all named.

    >>> import io
    >>> file = io.BytesIO(torch.jit.script(nn.ReLU()).save_to_buffer())
    >>> torch.jit.load(file)(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """
    source = source_of(f, "torch.jit.load")
    device = device_text(map_location, "torch.jit.load")
    loaded = _graph.script_load(source, device, list(_extra_files or ()))
    if loaded is None:
        return _saved_in_cpp(source if isinstance(source, str) else io.BytesIO(source), device)
    handle, extra = loaded
    for name, content in extra.items():
        _extra_files[name] = content
    return _module.wrap(handle)


def save_jit_module_to_flatbuffer(m, f, _extra_files=None):
    """PyTorch's flatbuffer format, which is not written here.

    Errors: NotImplementedError.

    >>> try:
    ...     torch.jit.save_jit_module_to_flatbuffer(torch.jit.script(nn.ReLU()), 'model.ff')
    ... except NotImplementedError as error:
    ...     print(str(error)[:44])
    torch.jit: flatbuffer files are not written;
    """
    raise NotImplementedError("torch.jit: flatbuffer files are not written; use torch.jit.save")


def jit_module_from_flatbuffer(f):
    """PyTorch's flatbuffer format, which is not read here.

    Errors: NotImplementedError.

    >>> try:
    ...     torch.jit.jit_module_from_flatbuffer('model.ff')
    ... except NotImplementedError as error:
    ...     print(str(error)[:44])
    torch.jit: flatbuffer files are not read; us
    """
    raise NotImplementedError("torch.jit: flatbuffer files are not read; use torch.jit.load")
