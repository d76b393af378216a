"""Exchange of tensors with other libraries through DLPack, without a copy."""

from .. import Tensor as _Tensor
from .. import from_dlpack
from .._tensor import DLDeviceType

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


def to_dlpack(tensor):
    """A DLPack capsule over the memory of the tensor.

    >>> torch.from_dlpack(torch.utils.dlpack.to_dlpack(torch.arange(2)))
    tensor([0, 1])
    """
    if not isinstance(tensor, _Tensor):
        raise TypeError(f"to_dlpack: expected a Tensor, got {type(tensor).__name__}")
    return tensor.detach().__dlpack__()
