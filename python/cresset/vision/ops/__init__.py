"""torchvision.ops: modules that several models are made of."""

from .misc import Conv2dNormActivation, Permute, SqueezeExcitation

__all__ = ["Conv2dNormActivation", "Permute", "SqueezeExcitation"]


def __getattr__(name):
    from cresset import _missing

    raise _missing.error(__name__, name)
