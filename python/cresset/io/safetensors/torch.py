"""The names of `safetensors.torch`, for programs that run with `torch` and `safetensors` bound to Cresset.

>>> from cresset.io.safetensors.torch import load, save
>>> load(save({"a": torch.zeros(2)}))["a"].tolist()
[0.0, 0.0]
"""

from . import load, load_file, load_model, safe_open, save, save_file, save_model

__all__ = ["load", "load_file", "load_model", "safe_open", "save", "save_file", "save_model", "storage_ptr", "storage_size"]


def storage_ptr(tensor):
    """The address of the memory that a tensor lies in: equal for tensors that share it.

    >>> from cresset.io.safetensors.torch import storage_ptr
    >>> x = torch.ones(4)
    >>> storage_ptr(x) == storage_ptr(x[2:])
    True
    """
    return tensor.untyped_storage().data_ptr()


def storage_size(tensor):
    """How many bytes the memory has that a tensor lies in.

    >>> from cresset.io.safetensors.torch import storage_size
    >>> storage_size(torch.ones(4)[2:])
    16
    """
    return tensor.untyped_storage().nbytes()
