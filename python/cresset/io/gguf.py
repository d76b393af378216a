"""GGUF files, which are read only: facts about a model by name, and tensors. Those in blocks of a few bits an element (Q4_0, Q4_1, Q5_0, Q5_1,
Q8_0, Q2_K to Q6_K, Q8_K) become float32 when they are asked for, the others keep their dtype.

>>> import struct
>>> head = struct.pack("<4sIQQ", b"GGUF", 3, 1, 0)
>>> row = struct.pack("<Q1sIQQIQ", 1, b"w", 2, 2, 1, 0, 0)
>>> content = (head + row).ljust(96, bytes(1)) + struct.pack("<2f", 1, 2)
>>> torch.io.load_gguf(content)
{'w': tensor([[1., 2.]])}
"""

import os

import _cresset
import cresset as torch

from ._files import source

__all__ = ["GGUFFile", "TensorInfo", "load_gguf"]


class TensorInfo:
    """Entry of a tensor in a file: name, shape (outermost first), type as the format calls it, offset and nbytes within the file.

    >>> torch.io.gguf.TensorInfo("w", (2, 32), "Q8_0", 128, 68)
    TensorInfo(name='w', shape=(2, 32), type='Q8_0', offset=128, nbytes=68)
    """

    def __init__(self, name, shape, type, offset, nbytes):
        self.name, self.shape, self.type, self.offset, self.nbytes = name, torch.Size(shape), type, offset, nbytes

    def __repr__(self):
        return f"TensorInfo(name={self.name!r}, shape={tuple(self.shape)}, type={self.type!r}, offset={self.offset}, nbytes={self.nbytes})"


class GGUFFile:
    """A file whose tensors are taken one by one: a path, or bytes. `metadata` is a dict of its facts; lists of numbers there are tensors.

    Raises FileNotFoundError and its kin; RuntimeError for damaged files.

    >>> import struct
    >>> content = struct.pack("<4sIQQ", b"GGUF", 3, 1, 1) + struct.pack("<Q4sIf", 4, b"rate", 6, 0.5)
    >>> content += struct.pack("<Q1sIQIQ", 1, b"w", 1, 32, 8, 0)
    >>> content = content.ljust(96, bytes(1)) + struct.pack("<e32b", 0.5, *range(32))
    >>> file = torch.io.gguf.GGUFFile(content)
    >>> file.metadata, file.keys(), file.info("w").type
    ({'rate': 0.5}, ['w'], 'Q8_0')
    >>> file.get_tensor("w")[:4]
    tensor([0.0000, 0.5000, 1.0000, 1.5000])
    """

    def __init__(self, f, mmap=False):
        self._mmap = bool(mmap) and isinstance(f, (str, os.PathLike))
        with source(f) as (data, name):
            self._handle, self.metadata, rows = _cresset._io_open_gguf(data, name)
        self._name = name
        self._infos = {row[0]: (number, TensorInfo(*row)) for number, row in enumerate(rows)}

    def keys(self):
        """The names of the tensors in the order of the file."""
        return list(self._infos)

    def info(self, name):
        """The file's entry of a tensor. Raises KeyError for a name that is not there."""
        if name not in self._infos:
            raise KeyError(f"gguf: {self._name!r} has no tensor {name!r}")
        return self._infos[name][1]

    def get_tensor(self, name):
        """A tensor. Raises KeyError for a name that is not there, RuntimeError for types of which only the size is known (IQ2_XXS, say)."""
        self.info(name)
        return _cresset._io_read_gguf(self._handle, self._infos[name][0], self._mmap)


def load_gguf(f, mmap=False):
    """The tensors of a GGUF file by name: of a path, bytes, or an object with `read`. With mmap, which needs a path, pages of tensors that
    are not quantised are read when used.

    Raises FileNotFoundError and its kin; RuntimeError for damaged files and types that are not read.

    >>> import struct
    >>> torch.io.load_gguf(struct.pack("<4sIQQ", b"GGUF", 3, 0, 0))
    {}
    """
    file = GGUFFile(f, mmap)
    return {name: file.get_tensor(name) for name in file.keys()}
