"""torchvision.transforms: changes of images as objects, in the order that Compose gives. Random ones draw from the default generator."""

import math
import numbers
import random

import cresset as torch
from cresset import nn

from . import functional as F
from ._random import (ElasticTransform, GaussianBlur, LinearTransformation, RandomAdjustSharpness, RandomAffine, RandomAutocontrast,  # noqa: F401
                      RandomEqualize, RandomPerspective, RandomPosterize, RandomRotation, RandomSolarize, WithProbability, _draw, _shown)  # fmt: skip
from .autoaugment import AugMix, AutoAugment, AutoAugmentPolicy, RandAugment, TrivialAugmentWide  # noqa: F401
from .functional import InterpolationMode

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "CenterCrop", "ColorJitter", "Compose", "ConvertImageDtype", "ElasticTransform", "FiveCrop",
           "GaussianBlur", "Grayscale", "InterpolationMode", "Lambda", "LinearTransformation", "Normalize", "PILToTensor", "Pad", "RandAugment",
           "RandomAdjustSharpness", "RandomAffine", "RandomApply", "RandomAutocontrast", "RandomChoice", "RandomCrop", "RandomEqualize", "RandomErasing",
           "RandomGrayscale", "RandomHorizontalFlip", "RandomInvert", "RandomOrder", "RandomPerspective", "RandomPosterize", "RandomResizedCrop",
           "RandomRotation", "RandomSolarize", "RandomVerticalFlip", "Resize", "TenCrop", "ToPILImage", "ToTensor", "TrivialAugmentWide"]  # fmt: skip


def _whole(end):
    return int(torch.randint(0, end, (1,)))


def _nested(name, transforms):
    return "\n".join([f"{name}(", *(f"    {transform}" for transform in transforms), ")"])


# ---- several transforms ---------------------------------------------------------------------------------------------------


class Compose:
    """One transform after another.

    >>> T = torch.vision.transforms
    >>> T.Compose([T.CenterCrop(2), T.Normalize([1.0], [2.0])])(torch.full((1, 4, 4), 5.0))
    tensor([[[2., 2.],
             [2., 2.]]])
    """

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, img):
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self):
        return _nested("Compose", self.transforms)


class Lambda:
    """A function as a transform.

    >>> torch.vision.transforms.Lambda(lambda x: x * 2)(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, lambd):
        if not callable(lambd):
            raise TypeError(f"Lambda: expected a function, got {type(lambd).__name__}")
        self.lambd = lambd

    def __call__(self, img):
        return self.lambd(img)

    def __repr__(self):
        return "Lambda()"


class RandomApply(nn.Module):
    """All transforms of a list, or, with probability 1 - p, none.

    >>> torch.vision.transforms.RandomApply([torch.vision.transforms.CenterCrop(1)], p=1.0)(torch.ones(1, 3, 3)).shape
    torch.Size([1, 1, 1])
    """

    def __init__(self, transforms, p=0.5):
        super().__init__()
        self.transforms, self.p = transforms, p

    def forward(self, img):
        if self.p < torch.rand(1):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self):
        return _nested("RandomApply", [f"p={self.p}", *self.transforms])


class RandomChoice:
    """One transform of a list, chosen by Python's `random`, with weights p.

    >>> torch.vision.transforms.RandomChoice([torch.vision.transforms.CenterCrop(1)])(torch.ones(1, 3, 3)).shape
    torch.Size([1, 1, 1])
    """

    def __init__(self, transforms, p=None):
        if p is not None and not isinstance(p, (list, tuple)):
            raise TypeError(f"RandomChoice: p is a list, got {type(p).__name__}")
        self.transforms, self.p = transforms, p

    def __call__(self, img):
        return random.choices(self.transforms, weights=self.p)[0](img)

    def __repr__(self):
        return f"{_nested('RandomChoice', self.transforms)}(p={self.p})"


class RandomOrder:
    """All transforms of a list, in an order of Python's `random`.

    >>> torch.vision.transforms.RandomOrder([torch.vision.transforms.CenterCrop(1)])(torch.ones(1, 3, 3)).shape
    torch.Size([1, 1, 1])
    """

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, img):
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for i in order:
            img = self.transforms[i](img)
        return img

    def __repr__(self):
        return _nested("RandomOrder", self.transforms)


# ---- between tensors, arrays and PIL --------------------------------------------------------------------------------------


class ToTensor:
    """`functional.to_tensor`: arrays (H, W, C) and images of PIL become tensors (C, H, W), bytes floats from 0 to 1.

    >>> import numpy as np
    >>> torch.vision.transforms.ToTensor()(np.full((1, 1, 3), 255, np.uint8)).flatten()
    tensor([1., 1., 1.])
    """

    def __call__(self, pic):
        return F.to_tensor(pic)

    def __repr__(self):
        return "ToTensor()"


class PILToTensor:
    """`functional.pil_to_tensor`: the values of an image of PIL as they are.

    >>> torch.vision.transforms.PILToTensor()
    PILToTensor()
    """

    def __call__(self, pic):
        return F.pil_to_tensor(pic)

    def __repr__(self):
        return "PILToTensor()"


class ToPILImage:
    """`functional.to_pil_image`: images of PIL, of a mode.

    >>> torch.vision.transforms.ToPILImage()
    ToPILImage()
    """

    def __init__(self, mode=None):
        self.mode = mode

    def __call__(self, pic):
        return F.to_pil_image(pic, self.mode)

    def __repr__(self):
        return f"ToPILImage({'' if self.mode is None else f'mode={self.mode}'})"


class ConvertImageDtype(nn.Module):
    """`functional.convert_image_dtype`: another dtype, scaled.

    >>> torch.vision.transforms.ConvertImageDtype(torch.uint8)(torch.ones(1, 1, 1))
    tensor([[[255]]], dtype=torch.uint8)
    """

    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def forward(self, image):
        return F.convert_image_dtype(image, self.dtype)


# ---- one image of another -------------------------------------------------------------------------------------------------


class Normalize(nn.Module):
    """Each channel less its mean, over its deviation.

    >>> torch.vision.transforms.Normalize([0.5], [0.25])(torch.ones(1, 1, 1))
    tensor([[[2.]]])
    """

    def __init__(self, mean, std, inplace=False):
        super().__init__()
        self.mean, self.std, self.inplace = mean, std, inplace

    def forward(self, tensor):
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self):
        return _shown(self, mean=self.mean, std=self.std)


class Resize(nn.Module):
    """`functional.resize`: another size.

    >>> torch.vision.transforms.Resize((2, 3))(torch.ones(3, 8, 8)).shape
    torch.Size([3, 2, 3])
    """

    def __init__(self, size, interpolation=InterpolationMode.BILINEAR, max_size=None, antialias=True):
        super().__init__()
        F._pair("Resize", size)
        self.size, self.interpolation, self.max_size, self.antialias = size, F._interpolation(interpolation), max_size, antialias

    def forward(self, img):
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self):
        return _shown(self, size=self.size, interpolation=self.interpolation.value, max_size=self.max_size, antialias=self.antialias)


class CenterCrop(nn.Module):
    """`functional.center_crop`: the middle.

    >>> torch.vision.transforms.CenterCrop((1, 2))(torch.ones(3, 8, 8)).shape
    torch.Size([3, 1, 2])
    """

    def __init__(self, size):
        super().__init__()
        self.size = F._square("CenterCrop", size)

    def forward(self, img):
        return F.center_crop(img, self.size)

    def __repr__(self):
        return _shown(self, size=tuple(self.size))


class FiveCrop(CenterCrop):
    """`functional.five_crop`: the corners and the middle.

    >>> len(torch.vision.transforms.FiveCrop(2)(torch.ones(3, 8, 8)))
    5
    """

    def forward(self, img):
        return F.five_crop(img, self.size)


class TenCrop(CenterCrop):
    """`functional.ten_crop`: the corners and the middle, of the mirror image too.

    >>> len(torch.vision.transforms.TenCrop(2)(torch.ones(3, 8, 8)))
    10
    """

    def __init__(self, size, vertical_flip=False):
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def forward(self, img):
        return F.ten_crop(img, self.size, self.vertical_flip)

    def __repr__(self):
        return _shown(self, size=tuple(self.size), vertical_flip=self.vertical_flip)


class Pad(nn.Module):
    """`functional.pad`: more pixels around.

    >>> torch.vision.transforms.Pad((1, 0))(torch.ones(3, 8, 8)).shape
    torch.Size([3, 8, 10])
    """

    def __init__(self, padding, fill=0, padding_mode="constant"):
        super().__init__()
        F._sides(padding)
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError(f"Pad: padding_mode is constant, edge, reflect or symmetric, got {padding_mode!r}")
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def forward(self, img):
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def __repr__(self):
        return _shown(self, padding=self.padding, fill=self.fill, padding_mode=self.padding_mode)


class Grayscale(nn.Module):
    """`functional.rgb_to_grayscale`: gray.

    >>> torch.vision.transforms.Grayscale()(torch.ones(3, 1, 1)).shape
    torch.Size([1, 1, 1])
    """

    def __init__(self, num_output_channels=1):
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img):
        return F.rgb_to_grayscale(img, self.num_output_channels)

    def __repr__(self):
        return _shown(self, num_output_channels=self.num_output_channels)


# ---- random ones ----------------------------------------------------------------------------------------------------------


class RandomHorizontalFlip(WithProbability):
    """Left and right exchanged, with probability p.

    >>> torch.vision.transforms.RandomHorizontalFlip(p=1.0)(torch.tensor([[[1, 2]]]))
    tensor([[[2, 1]]])
    """

    def _changed(self, img):
        return F.hflip(img)


class RandomVerticalFlip(WithProbability):
    """Top and bottom exchanged, with probability p.

    >>> torch.vision.transforms.RandomVerticalFlip(p=1.0)(torch.tensor([[[1], [2]]])).flatten()
    tensor([2, 1])
    """

    def _changed(self, img):
        return F.vflip(img)


class RandomInvert(WithProbability):
    """The negative, with probability p.

    >>> torch.vision.transforms.RandomInvert(p=1.0)(torch.ones(1, 1, 1))
    tensor([[[0.]]])
    """

    def _changed(self, img):
        return F.invert(img)


class RandomGrayscale(WithProbability):
    """Gray in as many channels as before, with probability p.

    >>> torch.vision.transforms.RandomGrayscale(p=1.0)(torch.ones(3, 1, 1)).shape
    torch.Size([3, 1, 1])
    """

    def __init__(self, p=0.1):
        super().__init__(p)

    def _changed(self, img):
        return F.rgb_to_grayscale(img, F.get_image_num_channels(img))


class RandomCrop(nn.Module):
    """A part at a random place.

    Args:
        size: (height, width), or one number for both.
        padding: pixels around the image before, as `functional.pad` takes them.
        pad_if_needed: whether to pad an image that is smaller than size; ValueError for one if not.
        fill, padding_mode: of the padding.

    >>> torch.vision.transforms.RandomCrop(4, padding=1)(torch.ones(3, 8, 8)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(self, size, padding=None, pad_if_needed=False, fill=0, padding_mode="constant"):
        super().__init__()
        self.size, self.padding, self.pad_if_needed, self.fill, self.padding_mode = (
            tuple(F._square("RandomCrop", size)),
            padding,
            pad_if_needed,
            fill,
            padding_mode,
        )

    @staticmethod
    def get_params(img, output_size):
        """Top, left, height and width of a random part."""
        (_, rows, columns), (height, width) = F.get_dimensions(img), output_size
        if rows < height or columns < width:
            raise ValueError(f"RandomCrop: a part of {height} x {width} is larger than the image, {rows} x {columns}")
        if (rows, columns) == (height, width):
            return 0, 0, height, width
        return _whole(rows - height + 1), _whole(columns - width + 1), height, width

    def forward(self, img):
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        _, rows, columns = F.get_dimensions(img)
        if self.pad_if_needed and columns < self.size[1]:
            img = F.pad(img, [self.size[1] - columns, 0], self.fill, self.padding_mode)
        if self.pad_if_needed and rows < self.size[0]:
            img = F.pad(img, [0, self.size[0] - rows], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))

    def __repr__(self):
        return _shown(self, size=self.size, padding=self.padding)


class RandomResizedCrop(nn.Module):
    """A part of random area and proportion at a random place, in another size.

    Args:
        size: (height, width), or one number for both.
        scale: the range of the part's area, over the image's.
        ratio: the range of its width over its height.
        interpolation, antialias: as `functional.resize` takes them.

    >>> torch.vision.transforms.RandomResizedCrop(4)(torch.ones(3, 8, 8)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0), interpolation=InterpolationMode.BILINEAR, antialias=True):
        super().__init__()
        for name, value in (("scale", scale), ("ratio", ratio)):
            if not isinstance(value, (tuple, list)) or len(value) != 2:
                raise TypeError(f"RandomResizedCrop: {name} is two numbers, got {value!r}")
        self.size, self.scale, self.ratio = F._square("RandomResizedCrop", size), scale, ratio
        self.interpolation, self.antialias = F._interpolation(interpolation), antialias

    @staticmethod
    def get_params(img, scale, ratio):
        """Top, left, height and width: of ten draws the first that fits, else the largest part in the middle whose proportion is in range."""
        _, rows, columns = F.get_dimensions(img)
        for _ in range(10):
            area = rows * columns * _draw(*scale)
            proportion = math.exp(_draw(math.log(ratio[0]), math.log(ratio[1])))
            width, height = int(round(math.sqrt(area * proportion))), int(round(math.sqrt(area / proportion)))
            if 0 < width <= columns and 0 < height <= rows:
                return _whole(rows - height + 1), _whole(columns - width + 1), height, width
        width, height = columns, rows
        if columns / rows < min(ratio):
            height = int(round(width / min(ratio)))
        elif columns / rows > max(ratio):
            width = int(round(height * max(ratio)))
        return (rows - height) // 2, (columns - width) // 2, height, width

    def forward(self, img):
        return F.resized_crop(img, *self.get_params(img, self.scale, self.ratio), self.size, self.interpolation, self.antialias)

    def __repr__(self):
        scale, ratio = (tuple(round(v, 4) for v in value) for value in (self.scale, self.ratio))
        return _shown(self, size=tuple(self.size), scale=scale, ratio=ratio, interpolation=self.interpolation.value, antialias=self.antialias)


class ColorJitter(nn.Module):
    """Random brightness, contrast, saturation and hue, in a random order.

    Args:
        brightness, contrast, saturation: the range of the factor; one number v is the range from max(0, 1 - v) to 1 + v.
        hue: the range of the turn, within -0.5 to 0.5; one number v is the range from -v to v.

    >>> torch.vision.transforms.ColorJitter(brightness=(2, 2))(torch.full((3, 1, 1), 0.25)).flatten()
    tensor([0.5000, 0.5000, 0.5000])
    """

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        super().__init__()
        self.brightness, self.contrast, self.saturation = (
            self._range(name, value) for name, value in (("brightness", brightness), ("contrast", contrast), ("saturation", saturation))
        )
        self.hue = self._range("hue", hue, middle=0, bounds=(-0.5, 0.5))

    @staticmethod
    def _range(name, value, middle=1, bounds=(0, float("inf"))):
        if isinstance(value, numbers.Number):
            if value < 0:
                raise ValueError(f"ColorJitter: {name} is not negative, got {value}")
            low, high = middle - value, middle + value
            low = max(low, 0) if middle == 1 else low
        elif isinstance(value, (tuple, list)) and len(value) == 2:
            low, high = (float(v) for v in value)
        else:
            raise TypeError(f"ColorJitter: {name} is a number or two, got {value!r}")
        if not bounds[0] <= low <= high <= bounds[1]:
            raise ValueError(f"ColorJitter: {name} is within {bounds[0]} to {bounds[1]}, got {low} to {high}")
        return None if low == high == middle else (float(low), float(high))

    @staticmethod
    def get_params(brightness, contrast, saturation, hue):
        """The order of the four changes, and their factors; None where there is no range."""
        order = torch.randperm(4)
        return order, *(None if value is None else _draw(*value) for value in (brightness, contrast, saturation, hue))

    def forward(self, img):
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        changes = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for i in order.tolist():
            if factors[i] is not None:
                img = changes[i](img, factors[i])
        return img

    def __repr__(self):
        return _shown(self, brightness=self.brightness, contrast=self.contrast, saturation=self.saturation, hue=self.hue)


class RandomErasing(nn.Module):
    """A random part takes other values, with probability p (https://arxiv.org/abs/1708.04896).

    Args:
        p: the probability.
        scale: the range of the part's area, over the image's.
        ratio: the range of its height over its width.
        value: a number, one of each channel, or "random" for normal noise.
        inplace: whether the image itself changes.

    >>> torch.vision.transforms.RandomErasing(p=1.0, value=7)(torch.zeros(1, 8, 8)).max()
    tensor(7.)
    """

    def __init__(self, p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False):
        super().__init__()
        if isinstance(value, str) and value != "random":
            raise ValueError(f"RandomErasing: value is numbers or 'random', got {value!r}")
        if not isinstance(value, (numbers.Number, str, tuple, list)):
            raise TypeError(f"RandomErasing: value is numbers or 'random', got {type(value).__name__}")
        if not 0 <= scale[0] <= scale[1] <= 1:
            raise ValueError(f"RandomErasing: scale is within 0 to 1, got {scale}")
        if not 0 <= p <= 1:
            raise ValueError(f"RandomErasing: p is from 0 to 1, got {p}")
        self.p, self.scale, self.ratio, self.value, self.inplace = p, scale, ratio, value, inplace

    @staticmethod
    def get_params(img, scale, ratio, value=None):
        """Top, left, height, width and values of a random part; the image itself where ten draws do not fit. No values mean noise."""
        channels, rows, columns = img.shape[-3:]
        for _ in range(10):
            area = rows * columns * _draw(*scale)
            proportion = math.exp(_draw(math.log(ratio[0]), math.log(ratio[1])))
            height, width = int(round(math.sqrt(area * proportion))), int(round(math.sqrt(area / proportion)))
            if height < rows and width < columns:
                values = torch.empty([channels, height, width], dtype=torch.float32).normal_() if value is None else torch.tensor(value)[:, None, None]
                return _whole(rows - height + 1), _whole(columns - width + 1), height, width, values
        return 0, 0, rows, columns, img

    def forward(self, img):
        if not torch.rand(1) < self.p:
            return img
        value = None if self.value == "random" else [self.value] if isinstance(self.value, numbers.Number) else list(self.value)
        if value is not None and len(value) not in (1, img.shape[-3]):
            raise ValueError(f"RandomErasing: value has one number or one for each of {img.shape[-3]} channels, got {len(value)}")
        return F.erase(img, *self.get_params(img, self.scale, self.ratio, value), self.inplace)

    def __repr__(self):
        return _shown(self, p=self.p, scale=self.scale, ratio=self.ratio, value=self.value, inplace=self.inplace)
