"""Random transforms that move pixels or change tones, and what is made of matrices."""

import math
import numbers

import cresset as torch
from cresset import nn

from . import functional as F
from .functional import InterpolationMode


def _shown(transform, **values):
    return f"{type(transform).__name__}({', '.join(f'{name}={value}' for name, value in values.items())})"


def _draw(low, high):
    return float(torch.empty(1).uniform_(low, high))


def _whole(low, high):
    return int(torch.randint(low, high, size=(1,)))


def _around_zero(what, name, value, counts=(2,)):
    """A range, of which one number v is that from -v to v."""
    if isinstance(value, numbers.Number):
        if value < 0:
            raise ValueError(f"{what}: {name}, if it is one number, is not negative, got {value}")
        return [-float(value), float(value)]
    if not isinstance(value, (list, tuple)) or len(value) not in counts:
        raise ValueError(f"{what}: {name} is one number or {' or '.join(map(str, counts))}, got {value!r}")
    return [float(v) for v in value]


def _fill_of(img, fill):
    """A fill as functions take it, of an image that is a tensor."""
    if not isinstance(img, torch.Tensor):
        return fill
    return [float(fill)] * F.get_image_num_channels(img) if isinstance(fill, numbers.Number) else [float(v) for v in fill]


class WithProbability(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, img):
        return self._changed(img) if torch.rand(1) < self.p else img

    def __repr__(self):
        return _shown(self, p=self.p)


class RandomRotation(nn.Module):
    """`functional.rotate` by a random angle.

    Args:
        degrees: the range of the angle; one number v is that from -v to v.
        interpolation, expand, center, fill: as `functional.rotate` takes them.

    >>> torch.vision.transforms.RandomRotation((90, 90))(torch.tensor([[[1, 2], [3, 4]]]))
    tensor([[[2, 4],
             [1, 3]]])
    """

    def __init__(self, degrees, interpolation=InterpolationMode.NEAREST, expand=False, center=None, fill=0):
        super().__init__()
        if not isinstance(fill, (numbers.Number, list, tuple)) and fill is not None:
            raise TypeError(f"RandomRotation: fill is a number or several, got {type(fill).__name__}")
        if center is not None and len(center) != 2:
            raise ValueError(f"RandomRotation: center is two numbers, got {center!r}")
        self.degrees = _around_zero("RandomRotation", "degrees", degrees)
        self.interpolation, self.expand, self.center, self.fill = F._interpolation(interpolation), expand, center, 0 if fill is None else fill

    @staticmethod
    def get_params(degrees):
        """A random angle."""
        return _draw(float(degrees[0]), float(degrees[1]))

    def forward(self, img):
        fill = _fill_of(img, self.fill)
        return F.rotate(img, self.get_params(self.degrees), self.interpolation, self.expand, self.center, fill)

    def __repr__(self):
        return _shown(self, degrees=self.degrees, interpolation=self.interpolation.value, expand=self.expand, fill=self.fill)


class RandomAffine(nn.Module):
    """`functional.affine` by random numbers.

    Args:
        degrees: the range of the angle; one number v is that from -v to v.
        translate: how far the image moves at most to the sides and up or down, as parts of its size.
        scale: the range of the scale.
        shear: the range along x; one number v is that from -v to v; four numbers are the ranges along x and y.
        interpolation, fill, center: as `functional.affine` takes them.

    >>> torch.vision.transforms.RandomAffine(0)(torch.tensor([[[1, 2], [3, 4]]]))
    tensor([[[1, 2],
             [3, 4]]])
    """

    def __init__(self, degrees, translate=None, scale=None, shear=None, interpolation=InterpolationMode.NEAREST, fill=0, center=None):
        super().__init__()
        self.degrees = _around_zero("RandomAffine", "degrees", degrees)
        if translate is not None and (len(translate) != 2 or not all(0.0 <= t <= 1.0 for t in translate)):
            raise ValueError(f"RandomAffine: translate is two numbers from 0 to 1, got {translate!r}")
        if scale is not None and (len(scale) != 2 or not all(s > 0 for s in scale)):
            raise ValueError(f"RandomAffine: scale is two positive numbers, got {scale!r}")
        if center is not None and len(center) != 2:
            raise ValueError(f"RandomAffine: center is two numbers, got {center!r}")
        self.translate, self.scale, self.center = translate, scale, center
        self.shear = None if shear is None else _around_zero("RandomAffine", "shear", shear, (2, 4))
        self.interpolation, self.fill = F._interpolation(interpolation), 0 if fill is None else fill

    @staticmethod
    def get_params(degrees, translate, scale_ranges, shears, img_size):
        """Angle, translation, scale and shear for an image of a (width, height)."""
        angle = _draw(float(degrees[0]), float(degrees[1]))
        moved = (0, 0)
        if translate is not None:
            across, down = float(translate[0] * img_size[0]), float(translate[1] * img_size[1])
            moved = (int(round(_draw(-across, across))), int(round(_draw(-down, down))))
        scale = 1.0 if scale_ranges is None else _draw(scale_ranges[0], scale_ranges[1])
        shear_x = shear_y = 0.0
        if shears is not None:
            shear_x = _draw(shears[0], shears[1])
            if len(shears) == 4:
                shear_y = _draw(shears[2], shears[3])
        return angle, moved, scale, (shear_x, shear_y)

    def forward(self, img):
        _, height, width = F.get_dimensions(img)
        parameters = self.get_params(self.degrees, self.translate, self.scale, self.shear, [width, height])
        return F.affine(img, *parameters, interpolation=self.interpolation, fill=_fill_of(img, self.fill), center=self.center)

    def __repr__(self):
        shown = {name: getattr(self, name) for name in ("translate", "scale", "shear") if getattr(self, name) is not None}
        shown |= {"interpolation": self.interpolation.value} if self.interpolation != InterpolationMode.NEAREST else {}
        shown |= {"fill": self.fill} if self.fill != 0 else {}
        shown |= {"center": self.center} if self.center is not None else {}
        return _shown(self, degrees=self.degrees, **shown)


class RandomPerspective(nn.Module):
    """`functional.perspective`, the corners moved inwards at random, with probability p.

    Args:
        distortion_scale: how far corners move at most, over half of the size.
        p: the probability.
        interpolation, fill: as `functional.perspective` takes them.

    >>> torch.vision.transforms.RandomPerspective(p=1.0)(torch.ones(1, 8, 8)).shape
    torch.Size([1, 8, 8])
    """

    def __init__(self, distortion_scale=0.5, p=0.5, interpolation=InterpolationMode.BILINEAR, fill=0):
        super().__init__()
        self.distortion_scale, self.p = distortion_scale, p
        self.interpolation, self.fill = F._interpolation(interpolation), 0 if fill is None else fill

    @staticmethod
    def get_params(width, height, distortion_scale):
        """The corners before and after."""
        across, down = int(distortion_scale * (width // 2)), int(distortion_scale * (height // 2))
        left, right = (lambda: _whole(0, across + 1)), (lambda: _whole(width - across - 1, width))
        top, bottom = (lambda: _whole(0, down + 1)), (lambda: _whole(height - down - 1, height))
        end = [[left(), top()], [right(), top()], [right(), bottom()], [left(), bottom()]]
        return [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], end

    def forward(self, img):
        if not torch.rand(1) < self.p:
            return img
        _, height, width = F.get_dimensions(img)
        start, end = self.get_params(width, height, self.distortion_scale)
        return F.perspective(img, start, end, self.interpolation, _fill_of(img, self.fill))

    def __repr__(self):
        return _shown(self, p=self.p)


class ElasticTransform(nn.Module):
    """`functional.elastic_transform` by a smooth random displacement.

    Args:
        alpha: how far pixels come from at most, of both directions or (x, y).
        sigma: how smooth the displacement is, of both directions or (x, y).
        interpolation, fill: as `functional.elastic_transform` takes them.

    >>> torch.vision.transforms.ElasticTransform(5.0, 1.0)(torch.ones(1, 16, 16)).shape
    torch.Size([1, 16, 16])
    """

    def __init__(self, alpha=50.0, sigma=5.0, interpolation=InterpolationMode.BILINEAR, fill=0):
        super().__init__()
        self.alpha, self.sigma = self._both("alpha", alpha), self._both("sigma", sigma)
        self.interpolation = F._interpolation(interpolation)
        self.fill = [float(fill)] if isinstance(fill, numbers.Number) else [float(v) for v in fill]

    @staticmethod
    def _both(name, value):
        value = [float(value)] if isinstance(value, numbers.Number) else value
        if not isinstance(value, (list, tuple)) or len(value) not in (1, 2):
            raise TypeError(f"ElasticTransform: {name} is one number or two, got {value!r}")
        return [float(v) for v in value] * (2 // len(value))

    @staticmethod
    def get_params(alpha, sigma, size):
        """A displacement for an image of a (height, width)."""
        parts = []
        for strength, smooth, length in zip(alpha, sigma, reversed(size)):
            noise = torch.rand([1, 1, *size]) * 2 - 1
            if smooth > 0.0:
                kernel = int(8 * smooth + 1)
                noise = F.gaussian_blur(noise, [kernel + (kernel % 2 == 0)] * 2, [smooth, smooth])
            parts.append(noise * strength / length)
        return torch.concat(parts, 1).permute([0, 2, 3, 1])

    def forward(self, img):
        _, height, width = F.get_dimensions(img)
        displacement = self.get_params(self.alpha, self.sigma, [height, width])
        return F.elastic_transform(img, displacement, self.interpolation, self.fill)

    def __repr__(self):
        return _shown(self, alpha=self.alpha, sigma=self.sigma, interpolation=self.interpolation, fill=self.fill)


class GaussianBlur(nn.Module):
    """`functional.gaussian_blur` by a random deviation.

    Args:
        kernel_size: odd, of both directions or (width, height).
        sigma: the range of the deviation, or the deviation.

    >>> torch.vision.transforms.GaussianBlur(3)(torch.ones(1, 4, 4)).shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, kernel_size, sigma=(0.1, 2.0)):
        super().__init__()
        self.kernel_size = tuple(F._square("GaussianBlur", kernel_size))
        if any(k <= 0 or k % 2 == 0 for k in self.kernel_size):
            raise ValueError(f"GaussianBlur: kernel_size is odd and positive, got {kernel_size!r}")
        sigma = (sigma, sigma) if isinstance(sigma, numbers.Number) else tuple(sigma)
        if len(sigma) != 2 or not 0.0 < sigma[0] <= sigma[1]:
            raise ValueError(f"GaussianBlur: sigma is a positive number or a range of them, got {sigma!r}")
        self.sigma = sigma

    @staticmethod
    def get_params(sigma_min, sigma_max):
        """A random deviation."""
        return torch.empty(1).uniform_(sigma_min, sigma_max).item()

    def forward(self, img):
        sigma = self.get_params(*self.sigma)
        return F.gaussian_blur(img, list(self.kernel_size), [sigma, sigma])

    def __repr__(self):
        return _shown(self, kernel_size=self.kernel_size, sigma=self.sigma)


class RandomPosterize(WithProbability):
    """`functional.posterize`, with probability p.

    >>> torch.vision.transforms.RandomPosterize(2, p=1.0)(torch.tensor([[[100]]], dtype=torch.uint8))
    tensor([[[64]]], dtype=torch.uint8)
    """

    def __init__(self, bits, p=0.5):
        super().__init__(p)
        self.bits = bits

    def _changed(self, img):
        return F.posterize(img, self.bits)

    def __repr__(self):
        return _shown(self, bits=self.bits, p=self.p)


class RandomSolarize(WithProbability):
    """`functional.solarize`, with probability p.

    >>> torch.vision.transforms.RandomSolarize(0.5, p=1.0)(torch.tensor([[[0.75, 0.25]]]))
    tensor([[[0.2500, 0.2500]]])
    """

    def __init__(self, threshold, p=0.5):
        super().__init__(p)
        self.threshold = threshold

    def _changed(self, img):
        return F.solarize(img, self.threshold)

    def __repr__(self):
        return _shown(self, threshold=self.threshold, p=self.p)


class RandomAdjustSharpness(WithProbability):
    """`functional.adjust_sharpness`, with probability p.

    >>> torch.vision.transforms.RandomAdjustSharpness(2.0, p=1.0)(torch.ones(1, 4, 4)).shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, sharpness_factor, p=0.5):
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def _changed(self, img):
        return F.adjust_sharpness(img, self.sharpness_factor)

    def __repr__(self):
        return _shown(self, sharpness_factor=self.sharpness_factor, p=self.p)


class RandomAutocontrast(WithProbability):
    """`functional.autocontrast`, with probability p.

    >>> torch.vision.transforms.RandomAutocontrast(p=1.0)(torch.tensor([[[0.25, 0.5]]]))
    tensor([[[0., 1.]]])
    """

    def _changed(self, img):
        return F.autocontrast(img)


class RandomEqualize(WithProbability):
    """`functional.equalize`, with probability p.

    >>> torch.vision.transforms.RandomEqualize(p=1.0)(torch.zeros(1, 2, 2, dtype=torch.uint8)).shape
    torch.Size([1, 2, 2])
    """

    def _changed(self, img):
        return F.equalize(img)


class LinearTransformation(nn.Module):
    """All values of an image, less a mean, times a matrix: whitening, for instance.

    Args:
        transformation_matrix: (D, D), D being C H W.
        mean_vector: (D).

    >>> torch.vision.transforms.LinearTransformation(torch.eye(4) * 2, torch.ones(4))(torch.ones(1, 2, 2) * 3).flatten()
    tensor([4., 4., 4., 4.])
    """

    def __init__(self, transformation_matrix, mean_vector):
        super().__init__()
        if transformation_matrix.dim() != 2 or transformation_matrix.size(0) != transformation_matrix.size(1):
            raise ValueError(f"LinearTransformation: the matrix is square, got {tuple(transformation_matrix.shape)}")
        if mean_vector.size(0) != transformation_matrix.size(0):
            raise ValueError(f"LinearTransformation: the mean has {transformation_matrix.size(0)} numbers, got {mean_vector.size(0)}")
        if transformation_matrix.device != mean_vector.device or transformation_matrix.dtype != mean_vector.dtype:
            raise ValueError("LinearTransformation: matrix and mean are of one device and dtype")
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def forward(self, tensor):
        count = math.prod(tensor.shape[-3:])
        if count != self.transformation_matrix.size(0):
            raise ValueError(f"LinearTransformation: expected images of {self.transformation_matrix.size(0)} values, got {count} of {tuple(tensor.shape)}")
        if tensor.device != self.mean_vector.device:
            raise ValueError(f"LinearTransformation: expected an image on {self.mean_vector.device}, got one on {tensor.device}")
        return ((tensor.reshape(-1, count) - self.mean_vector) @ self.transformation_matrix).reshape(tensor.shape)

    def __repr__(self):
        return _shown(self, transformation_matrix=self.transformation_matrix.tolist(), mean_vector=self.mean_vector.tolist())
