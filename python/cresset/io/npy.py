"""NumPy's files: .npy holds one array, .npz several by name. Read and written without NumPy.

>>> import io
>>> buffer = io.BytesIO()
>>> torch.io.save_npy(torch.arange(3), buffer)
>>> torch.io.load_npy(buffer.getvalue()).tolist()
[0, 1, 2]
"""

import _cresset

from ._files import source, target

__all__ = ["load_npy", "load_npz", "save_npy", "save_npz"]


def save_npy(tensor, f):
    """Write a tensor as a .npy file, to a path or an object with `write`.

    Raises TypeError for dtypes that NumPy does not have (bfloat16).

    >>> import io
    >>> buffer = io.BytesIO()
    >>> torch.io.save_npy(torch.ones(2, 2), buffer)
    >>> len(buffer.getvalue())
    144
    """
    _cresset._io_save_npy(tensor, target(f))


def load_npy(f, mmap=False):
    """The tensor in a .npy file: a path, bytes, or an object with `read`. With mmap, which needs a path, its pages are read when used.

    Raises FileNotFoundError and its kin; RuntimeError for damaged files and for arrays of objects, text or records.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> torch.io.save_npy(torch.ones(2), buffer)
    >>> torch.io.load_npy(buffer.getvalue()).tolist()
    [1.0, 1.0]
    """
    with source(f) as (data, name):
        return _cresset._io_load_npy(data, name, bool(mmap))


def save_npz(tensors, f):
    """Write a dict of tensors as a .npz archive, to a path or an object with `write`.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> torch.io.save_npz({"a": torch.ones(2), "b": torch.arange(3)}, buffer)
    >>> list(torch.io.load_npz(buffer.getvalue()))
    ['a', 'b']
    """
    _cresset._io_save_npz(tensors, target(f))


def load_npz(f):
    """The tensors of a .npz archive, compressed or not, by name.

    Raises FileNotFoundError and its kin; RuntimeError for damaged archives.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> torch.io.save_npz({"a": torch.ones(2)}, buffer)
    >>> torch.io.load_npz(buffer.getvalue())["a"].tolist()
    [1.0, 1.0]
    """
    with source(f) as (data, name):
        return _cresset._io_load_npz(data, name)
