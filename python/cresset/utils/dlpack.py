"""Exchange of tensors with other libraries through DLPack, without a copy."""

import enum as _enum

from .. import Tensor as _Tensor
from .. import from_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(_enum.IntEnum):
    """The kinds of devices of the DLPack standard.

    >>> torch.utils.dlpack.DLDeviceType.kDLCPU.value
    1
    """

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def to_dlpack(tensor):
    """A DLPack capsule over the memory of the tensor.

    >>> torch.from_dlpack(torch.utils.dlpack.to_dlpack(torch.arange(2)))
    tensor([0, 1])
    """
    if not isinstance(tensor, _Tensor):
        raise TypeError(f"to_dlpack: expected a Tensor, got {type(tensor).__name__}")
    return tensor.__dlpack__()
