"""torchvision.transforms: changes of images, on tensors, arrays and images of PIL.

>>> T = torch.vision.transforms
>>> T.Compose([T.Resize(4), T.CenterCrop(2)])(torch.ones(3, 8, 10)).shape
torch.Size([3, 2, 2])
"""

from . import autoaugment, functional, transforms
from .transforms import *  # noqa: F403

__all__ = transforms.__all__
