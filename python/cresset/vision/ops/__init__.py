"""torchvision.ops: modules that several models are made of."""

from .boxes import nms
from .misc import Conv2dNormActivation, FrozenBatchNorm2d, Permute, SqueezeExcitation

__all__ = ["Conv2dNormActivation", "FrozenBatchNorm2d", "Permute", "SqueezeExcitation", "nms"]
