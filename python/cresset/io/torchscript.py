"""TorchScript archives (of `torch.jit.save`, and of `torch::save` in LibTorch): their tensors, without the code.

>>> from cresset.io.torchscript import load_torchscript
>>> try:
...     load_torchscript(b"no archive")
... except RuntimeError as error:
...     print(error)
load_torchscript: '<bytes>' is no TorchScript archive; checkpoints are for torch.load
"""

import io
import os
import zipfile
from collections import OrderedDict

import _cresset
import cresset as torch

from ._files import source
from .inspect import _Checkpoint

__all__ = ["load_torchscript"]


class _Names(_Checkpoint):
    """The names of tensors, and of what stands in several places."""

    def __init__(self, data, name, entries):
        super().__init__({"tensors": [], "values": []}, data, name, entries)
        self.places, self.again = {}, []

    def visit_tensor(self, name, number, place, depth):
        if number in self.first:
            self.again.append((name, self.first[number]))
        elif self.tensors[place][8] is None:
            self.places[name] = self.tensors[place]
        return super().visit_tensor(name, number, place, depth)

    def visit(self, name, number, depth):
        kind, what = self.nodes[number]
        if kind == "object" and number in self.first:
            self.again.append((name, self.first[number]))
        return super().visit(name, number, depth)


def load_torchscript(f):
    """The tensors of a TorchScript archive by name, for `load_state_dict` of a module that is built like it. The code is not looked at.

    Args:
        f: a path, a file that is open for bytes, or bytes.

    Gives an OrderedDict: parameters and buffers, and tensors that are plain attributes, which a module does not expect (`strict=False`). Those that
    share memory in the file do so here.

    Errors: FileNotFoundError and its kin; RuntimeError for what is no such archive; RuntimeError or pickle.UnpicklingError for a damaged one.

    >>> try:
    ...     torch.io.load_torchscript("/nowhere.pt")
    ... except FileNotFoundError as error:
    ...     print(error.filename)
    /nowhere.pt
    """
    with source(f) as (data, name):
        if isinstance(data, int):
            with open(data, "rb", closefd=False) as file:
                file.seek(0)
                data = file.read()
        entries = _cresset._io_inspect_zip(data, name) if bytes(data[:4]) == b"PK\x03\x04" else []
        pickles = {entry[0] for entry in entries if entry[0].endswith(("/data.pkl", "/constants.pkl"))}
        folder = os.path.commonprefix(sorted(pickles)).rpartition("/")[0] if len(pickles) == 2 else None
        if folder is None or pickles != {f"{folder}/data.pkl", f"{folder}/constants.pkl"}:
            raise RuntimeError(f"load_torchscript: '{name}' is no TorchScript archive; checkpoints are for torch.load")
        found = _Names(data, name, entries)
        found.read()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _state(found, archive, folder)


def _state(found, archive, folder):
    swapped = f"{folder}/byteorder" in archive.namelist() and archive.read(f"{folder}/byteorder") == b"big"
    memory, state = {}, OrderedDict()
    for name, (dtype, shape, strides, storage, offset, *_) in found.places.items():
        dtype = getattr(torch, dtype)
        if storage is None:
            state[name] = torch.empty_strided(shape, strides, dtype=dtype, device="meta")
            continue
        if storage not in memory:
            content = bytearray(archive.read(f"{folder}/data/{found.storages[storage][0]}"))
            raw = torch.frombuffer(content, dtype=torch.uint8) if content else torch.empty(0, dtype=torch.uint8)
            width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
            memory[storage] = raw.view(-1, width).flip(1).reshape(-1) if swapped else raw
        whole = memory[storage]
        state[name] = whole[: whole.numel() // dtype.itemsize * dtype.itemsize].view(dtype).as_strided(shape, strides, offset)
    for name, first in found.again:
        if "[" in name:  # a list of what has a name, as recurrent layers keep
            continue
        for known in [key for key in state if key == first or key.startswith((f"{first}.", f"{first}["))]:
            state[name + known[len(first) :]] = state[known]
    return state
