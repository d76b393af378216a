"""torchvision.transforms._presets: how an image is prepared for a trained model."""

import cresset as torch
from cresset import nn

from . import functional as F
from .functional import InterpolationMode

__all__ = ["ImageClassification"]


class ImageClassification(nn.Module):
    """Resizes the shorter side, crops the middle, and normalises channels of numbers from 0 to 1.

    Args:
        crop_size, resize_size: pixels.
        mean, std: of the channels.
        interpolation, antialias: of the resizing.

    >>> prepare = torch.vision.transforms._presets.ImageClassification(crop_size=4, resize_size=5)
    >>> prepare(torch.full((3, 8, 10), 255, dtype=torch.uint8))[:, 0, 0]
    tensor([2.2489, 2.4286, 2.6400])
    """

    def __init__(
        self, *, crop_size, resize_size=256, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), interpolation=InterpolationMode.BILINEAR, antialias=True
    ):
        super().__init__()
        self.crop_size, self.resize_size = [crop_size], [resize_size]
        self.mean, self.std = list(mean), list(std)
        self.interpolation, self.antialias = interpolation, antialias

    def forward(self, img):
        img = F.resize(img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias)
        img = F.center_crop(img, self.crop_size)
        if not isinstance(img, torch.Tensor):
            img = F.pil_to_tensor(img)
        return F.normalize(F.convert_image_dtype(img, torch.float), mean=self.mean, std=self.std)

    def __repr__(self):
        lines = [f"{name}={getattr(self, name)}" for name in ("crop_size", "resize_size", "mean", "std", "interpolation")]
        return f"{type(self).__name__}(\n    " + "\n    ".join(lines) + "\n)"
