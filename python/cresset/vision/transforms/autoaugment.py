"""torchvision.transforms.autoaugment: random sequences of changes, by published recipes."""

import enum
import math

import cresset as torch
from cresset import nn

from . import functional as F
from ._random import _fill_of, _shown
from .functional import InterpolationMode

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]


def _applied(img, name, magnitude, interpolation, fill):
    """The image changed by one of the operations that the recipes name."""
    if name == "Identity":
        return img
    if name in ("ShearX", "ShearY"):
        degrees = math.degrees(math.atan(magnitude))
        shear = [degrees, 0.0] if name == "ShearX" else [0.0, degrees]
        return F.affine(img, 0.0, [0, 0], 1.0, shear, interpolation, fill, [0, 0])
    if name in ("TranslateX", "TranslateY"):
        moved = [int(magnitude), 0] if name == "TranslateX" else [0, int(magnitude)]
        return F.affine(img, 0.0, moved, 1.0, [0.0, 0.0], interpolation, fill)
    if name == "Rotate":
        return F.rotate(img, magnitude, interpolation, fill=fill)
    factors = {"Brightness": F.adjust_brightness, "Color": F.adjust_saturation, "Contrast": F.adjust_contrast, "Sharpness": F.adjust_sharpness}
    if name in factors:
        return factors[name](img, 1.0 + magnitude)
    if name == "Posterize":
        return F.posterize(img, int(magnitude))
    if name == "Solarize":
        return F.solarize(img, magnitude)
    return {"AutoContrast": F.autocontrast, "Equalize": F.equalize, "Invert": F.invert}[name](img)


def _tones(bins, most):
    return {name: (torch.linspace(0.0, most, bins), True) for name in ("Brightness", "Color", "Contrast", "Sharpness")}


def _space(bins, size, shear=0.3, move=(150.0 / 331.0, 150.0 / 331.0), turn=30.0, factor=0.9, bits=4.0, most_bits=8, fixed_move=None, first=()):
    """Name to (magnitudes, whether they have a sign); size is (height, width)."""
    line = lambda most: (torch.linspace(0.0, most, bins), True)  # noqa: E731
    none = (torch.tensor(0.0), False)
    across, down = (fixed_move, fixed_move) if fixed_move else (move[1] * size[1], move[0] * size[0])
    space = {name: none for name in first}
    space |= {"ShearX": line(shear), "ShearY": line(shear), "TranslateX": line(across), "TranslateY": line(down), "Rotate": line(turn)}
    if factor:
        space |= _tones(bins, factor)
    space["Posterize"] = ((most_bits - (torch.arange(bins) / ((bins - 1) / bits)).round().int()), False)
    space["Solarize"] = (torch.linspace(255.0, 0.0, bins), False)
    return space | {"AutoContrast": none, "Equalize": none}


class AutoAugmentPolicy(enum.Enum):
    """Whose recipe AutoAugment follows.

    >>> torch.vision.transforms.AutoAugmentPolicy("cifar10")
    <AutoAugmentPolicy.CIFAR10: 'cifar10'>
    """

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


# Tables 7 to 9 of https://arxiv.org/abs/1805.09501: two operations with probability in tenths and magnitude of 0 to 9; a dash has none.
_POLICIES = {
    AutoAugmentPolicy.IMAGENET: """Posterize 4 8 Rotate 6 9, Solarize 6 5 AutoContrast 6 -, Equalize 8 - Equalize 6 -, Posterize 6 7 Posterize 6 6,
        Equalize 4 - Solarize 2 4, Equalize 4 - Rotate 8 8, Solarize 6 3 Equalize 6 -, Posterize 8 5 Equalize 10 -, Rotate 2 3 Solarize 6 8,
        Equalize 6 - Posterize 4 6, Rotate 8 8 Color 4 0, Rotate 4 9 Equalize 6 -, Equalize 0 - Equalize 8 -, Invert 6 - Equalize 10 -,
        Color 6 4 Contrast 10 8, Rotate 8 8 Color 10 2, Color 8 8 Solarize 8 7, Sharpness 4 7 Invert 6 -, ShearX 6 5 Equalize 10 -,
        Color 4 0 Equalize 6 -, Equalize 4 - Solarize 2 4, Solarize 6 5 AutoContrast 6 -, Invert 6 - Equalize 10 -, Color 6 4 Contrast 10 8,
        Equalize 8 - Equalize 6 -""",
    AutoAugmentPolicy.CIFAR10: """Invert 1 - Contrast 2 6, Rotate 7 2 TranslateX 3 9, Sharpness 8 1 Sharpness 9 3, ShearY 5 8 TranslateY 7 9,
        AutoContrast 5 - Equalize 9 -, ShearY 2 7 Posterize 3 7, Color 4 3 Brightness 6 7, Sharpness 3 9 Brightness 7 9,
        Equalize 6 - Equalize 5 -, Contrast 6 7 Sharpness 6 5, Color 7 7 TranslateX 5 8, Equalize 3 - AutoContrast 4 -,
        TranslateY 4 3 Sharpness 2 6, Brightness 9 6 Color 2 8, Solarize 5 2 Invert 0 -, Equalize 2 - AutoContrast 6 -,
        Equalize 2 - Equalize 6 -, Color 9 9 Equalize 6 -, AutoContrast 8 - Solarize 2 8, Brightness 1 3 Color 7 0,
        Solarize 4 5 AutoContrast 9 -, TranslateY 9 9 TranslateY 7 9, AutoContrast 9 - Solarize 8 3, Equalize 8 - Invert 1 -,
        TranslateY 7 9 AutoContrast 9 -""",
    AutoAugmentPolicy.SVHN: """ShearX 9 4 Invert 2 -, ShearY 9 8 Invert 7 -, Equalize 6 - Solarize 6 6, Invert 9 - Equalize 6 -, Equalize 6 - Rotate 9 3,
        ShearX 9 4 AutoContrast 8 -, ShearY 9 8 Invert 4 -, ShearY 9 5 Solarize 2 6, Invert 9 - AutoContrast 8 -, Equalize 6 - Rotate 9 3,
        ShearX 9 4 Solarize 3 3, ShearY 8 8 Invert 7 -, Equalize 9 - TranslateY 6 6, Invert 9 - Equalize 6 -, Contrast 3 3 Rotate 8 4,
        Invert 8 - TranslateY 0 2, ShearY 7 6 Solarize 4 8, Invert 6 - Rotate 8 4, ShearY 3 7 TranslateX 9 3, ShearX 1 6 Invert 6 -,
        Solarize 7 2 TranslateY 6 7, ShearY 8 4 Invert 8 -, ShearX 7 9 TranslateY 8 3, ShearY 8 5 AutoContrast 7 -, ShearX 7 2 Invert 1 -""",
}


def _table(policy):
    def step(name, tenths, magnitude):
        return name, int(tenths) / 10, None if magnitude == "-" else int(magnitude)

    rows = (row.split() for row in _POLICIES[policy].split(","))
    return [(step(*row[:3]), step(*row[3:])) for row in rows]


class AutoAugment(nn.Module):
    """Two changes that a search found for a data set (https://arxiv.org/abs/1805.09501), one of its 25 pairs at random.

    Args:
        policy: an AutoAugmentPolicy.
        interpolation, fill: as `functional.affine` takes them.

    >>> torch.vision.transforms.AutoAugment()(torch.zeros(3, 8, 8, dtype=torch.uint8)).shape
    torch.Size([3, 8, 8])
    """

    def __init__(self, policy=AutoAugmentPolicy.IMAGENET, interpolation=InterpolationMode.NEAREST, fill=None):
        super().__init__()
        if not isinstance(policy, AutoAugmentPolicy):
            raise ValueError(f"AutoAugment: the policy is an AutoAugmentPolicy, got {policy!r}")
        self.policy, self.interpolation, self.fill = policy, F._interpolation(interpolation), fill
        self.policies = _table(policy)

    @staticmethod
    def get_params(transform_num):
        """Which pair, the draws that decide on each of it, and their signs."""
        return int(torch.randint(transform_num, (1,)).item()), torch.rand((2,)), torch.randint(2, (2,))

    def forward(self, img):
        fill = None if self.fill is None else _fill_of(img, self.fill)
        which, draws, signs = self.get_params(len(self.policies))
        _, height, width = F.get_dimensions(img)
        space = _space(10, (height, width)) | {"Invert": (torch.tensor(0.0), False)}
        for i, (name, p, step) in enumerate(self.policies[which]):
            if draws[i] <= p:
                magnitudes, signed = space[name]
                magnitude = float(magnitudes[step]) if step is not None else 0.0
                img = _applied(img, name, -magnitude if signed and signs[i] == 0 else magnitude, self.interpolation, fill)
        return img

    def __repr__(self):
        return _shown(self, policy=self.policy, fill=self.fill)


class RandAugment(nn.Module):
    """A few changes of one strength, chosen at random (https://arxiv.org/abs/1909.13719).

    Args:
        num_ops: how many.
        magnitude: their strength, 0 to num_magnitude_bins - 1.
        num_magnitude_bins: how many strengths there are.
        interpolation, fill: as `functional.affine` takes them.

    >>> torch.vision.transforms.RandAugment()(torch.zeros(3, 8, 8, dtype=torch.uint8)).shape
    torch.Size([3, 8, 8])
    """

    def __init__(self, num_ops=2, magnitude=9, num_magnitude_bins=31, interpolation=InterpolationMode.NEAREST, fill=None):
        super().__init__()
        self.num_ops, self.magnitude, self.num_magnitude_bins = num_ops, magnitude, num_magnitude_bins
        self.interpolation, self.fill = F._interpolation(interpolation), fill

    def forward(self, img):
        fill = None if self.fill is None else _fill_of(img, self.fill)
        _, height, width = F.get_dimensions(img)
        space = _space(self.num_magnitude_bins, (height, width), first=("Identity",))
        names = list(space)
        for _ in range(self.num_ops):
            name = names[int(torch.randint(len(names), (1,)).item())]
            magnitudes, signed = space[name]
            magnitude = float(magnitudes[self.magnitude]) if magnitudes.ndim else 0.0
            if signed and torch.randint(2, (1,)):
                magnitude = -magnitude
            img = _applied(img, name, magnitude, self.interpolation, fill)
        return img

    def __repr__(self):
        return _shown(self, num_ops=self.num_ops, magnitude=self.magnitude, num_magnitude_bins=self.num_magnitude_bins, interpolation=self.interpolation,
                      fill=self.fill)  # fmt: skip


class TrivialAugmentWide(nn.Module):
    """One change of any strength, both at random (https://arxiv.org/abs/2103.10158).

    Args:
        num_magnitude_bins: how many strengths there are.
        interpolation, fill: as `functional.affine` takes them.

    >>> torch.vision.transforms.TrivialAugmentWide()(torch.zeros(3, 8, 8, dtype=torch.uint8)).shape
    torch.Size([3, 8, 8])
    """

    def __init__(self, num_magnitude_bins=31, interpolation=InterpolationMode.NEAREST, fill=None):
        super().__init__()
        self.num_magnitude_bins, self.interpolation, self.fill = num_magnitude_bins, F._interpolation(interpolation), fill

    def forward(self, img):
        fill = None if self.fill is None else _fill_of(img, self.fill)
        space = _space(self.num_magnitude_bins, None, shear=0.99, turn=135.0, factor=0.99, bits=6.0, fixed_move=32.0, first=("Identity",))
        name = list(space)[int(torch.randint(len(space), (1,)).item())]
        magnitudes, signed = space[name]
        magnitude = float(magnitudes[torch.randint(len(magnitudes), (1,), dtype=torch.long)].item()) if magnitudes.ndim else 0.0
        if signed and torch.randint(2, (1,)):
            magnitude = -magnitude
        return _applied(img, name, magnitude, self.interpolation, fill)

    def __repr__(self):
        return _shown(self, num_magnitude_bins=self.num_magnitude_bins, interpolation=self.interpolation, fill=self.fill)


class AugMix(nn.Module):
    """A mixture of the image and of several chains of changes of it (https://arxiv.org/abs/1912.02781).

    Args:
        severity: the strength, 1 to 10.
        mixture_width: how many chains.
        chain_depth: how many changes a chain has; below 1: one to three at random.
        alpha: of the distributions of the weights.
        all_ops: whether brightness, colour, contrast and sharpness are among the changes.
        interpolation, fill: as `functional.affine` takes them.

    >>> torch.vision.transforms.AugMix()(torch.zeros(3, 8, 8, dtype=torch.uint8)).shape
    torch.Size([3, 8, 8])
    """

    _BINS = 10

    def __init__(self, severity=3, mixture_width=3, chain_depth=-1, alpha=1.0, all_ops=True, interpolation=InterpolationMode.BILINEAR, fill=None):
        super().__init__()
        if not 1 <= severity <= self._BINS:
            raise ValueError(f"AugMix: the severity is 1 to {self._BINS}, got {severity}")
        self.severity, self.mixture_width, self.chain_depth, self.alpha, self.all_ops = severity, mixture_width, chain_depth, alpha, all_ops
        self.interpolation, self.fill = F._interpolation(interpolation), fill

    def forward(self, orig_img):
        is_tensor = isinstance(orig_img, torch.Tensor)
        img = orig_img if is_tensor else F.pil_to_tensor(orig_img)
        fill = None if self.fill is None else _fill_of(img, self.fill)
        _, height, width = F.get_dimensions(orig_img)
        space = _space(self._BINS, (height, width), move=(1 / 3, 1 / 3), factor=None, most_bits=4)
        space |= _tones(self._BINS, 0.9) if self.all_ops else {}
        names = list(space)
        batch = img.view([1] * max(4 - img.ndim, 0) + list(img.shape))
        dims = [batch.size(0)] + [1] * (batch.ndim - 1)
        own = torch._sample_dirichlet(torch.tensor([self.alpha, self.alpha]).expand(dims[0], -1))
        weights = torch._sample_dirichlet(torch.tensor([self.alpha] * self.mixture_width).expand(dims[0], -1)) * own[:, 1].view([dims[0], -1])
        mixed = own[:, 0].view(dims) * batch
        for i in range(self.mixture_width):
            changed = batch
            depth = self.chain_depth if self.chain_depth > 0 else int(torch.randint(low=1, high=4, size=(1,)).item())
            for _ in range(depth):
                name = names[int(torch.randint(len(names), (1,)).item())]
                magnitudes, signed = space[name]
                magnitude = float(magnitudes[torch.randint(self.severity, (1,), dtype=torch.long)].item()) if magnitudes.ndim else 0.0
                if signed and torch.randint(2, (1,)):
                    magnitude = -magnitude
                changed = _applied(changed, name, magnitude, self.interpolation, fill)
            mixed.add_(weights[:, i].view(dims) * changed)
        mixed = mixed.view(img.shape).to(dtype=img.dtype)
        return mixed if is_tensor else F.to_pil_image(mixed)

    def __repr__(self):
        return _shown(self, severity=self.severity, mixture_width=self.mixture_width, chain_depth=self.chain_depth, alpha=self.alpha, all_ops=self.all_ops,
                      interpolation=self.interpolation, fill=self.fill)  # fmt: skip
