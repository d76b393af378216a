"""torchvision.ops: modules that several models are made of."""

from .boxes import nms
from .misc import Conv2dNormActivation, FrozenBatchNorm2d, Permute, SqueezeExcitation

__all__ = ["Conv2dNormActivation", "FrozenBatchNorm2d", "Permute", "SqueezeExcitation", "nms"]


def __getattr__(name):
    from cresset._core import missing as _missing

    return _missing.found(__name__, name)
