"""MobileNet, versions 2 and 3."""

from . import mobilenetv2, mobilenetv3
from .mobilenetv2 import *  # noqa: F403
from .mobilenetv3 import *  # noqa: F403

__all__ = [*mobilenetv2.__all__, *mobilenetv3.__all__]
