"""Functions of torchvision.transforms.functional that move pixels: turning, shearing, perspective, displacement."""

import math
import numbers

import cresset as torch

from . import functional as F

NEAREST, BILINEAR = F.InterpolationMode.NEAREST, F.InterpolationMode.BILINEAR


def _filled(what, img, fill):
    """One number of each channel, or None."""
    if fill is None:
        return None
    fill = [float(fill)] if isinstance(fill, numbers.Number) else [float(v) for v in fill]
    channels = F.get_image_num_channels(img)
    if len(fill) not in (1, channels):
        raise ValueError(f"{what}: fill has one number or one for each of {channels} channels, got {len(fill)}")
    return fill * channels if len(fill) == 1 else fill


def _pil_fill(img, fill):
    """`fill` as PIL takes it."""
    if fill is None:
        return {}
    bands = len(img.getbands())
    values = [fill] * bands if isinstance(fill, numbers.Number) else list(fill) * (bands if len(fill) == 1 else 1)
    values = values if img.mode == "F" else [int(v) for v in values]
    return {"fillcolor": values[0] if bands == 1 else tuple(values)}


def _resample(mode):
    return getattr(F._pil(), mode.name)


def _sampled(what, img, grid, interpolation, fill):
    """The image at the places of a grid (1, H, W, 2), each coordinate from -1 to 1 over the image."""
    if interpolation not in (NEAREST, BILINEAR, F.InterpolationMode.BICUBIC):
        raise ValueError(f"{what}: tensors have no interpolation {interpolation.value}, expected nearest, bilinear or bicubic")
    fill = _filled(what, img, fill)
    batch = img.reshape(-1, F.get_image_num_channels(img), *img.shape[-2:])
    batch = batch if batch.is_floating_point() else batch.float()
    count, channels = batch.shape[:2]
    if fill is not None:
        batch = torch.cat([batch, torch.ones_like(batch[:, :1])], 1)
    out = torch.nn.functional.grid_sample(batch, grid.to(batch.dtype).expand(count, -1, -1, -1), interpolation.value, "zeros", align_corners=False)
    if fill is not None:
        out, inside = out[:, :channels], out[:, channels:]
        values = torch.tensor(fill, dtype=out.dtype, device=out.device).view(1, -1, 1, 1)
        out = torch.where(inside < 0.5, values, out) if interpolation == NEAREST else out * inside + (1 - inside) * values
    if not img.is_floating_point():
        out = out.round()
    return out.to(img.dtype).reshape(*img.shape[:-2], *out.shape[-2:])


def _inverse_matrix(center, angle, translate, scale, shear):
    """The six numbers that tell where an output pixel comes from; the transform turns by angle, scales and shears around the center, then moves."""
    turn, across, down = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(turn - down) / math.cos(down)
    b = -math.cos(turn - down) * math.tan(across) / math.cos(down) - math.sin(turn)
    c = math.sin(turn - down) / math.cos(down)
    d = -math.sin(turn - down) * math.tan(across) / math.cos(down) + math.cos(turn)
    m = [d / scale, -b / scale, 0.0, -c / scale, a / scale, 0.0]
    x, y = center[0] + translate[0], center[1] + translate[1]
    m[2] = center[0] - m[0] * x - m[1] * y
    m[5] = center[1] - m[3] * x - m[4] * y
    return m


def _affine_grid(matrix, width, height, out_width, out_height, like):
    """Where the pixels of an output come from, around the middle of both."""
    dtype = like.dtype if like.is_floating_point() else torch.float32
    theta = torch.tensor(matrix, dtype=dtype, device=like.device).view(2, 3)
    x = torch.linspace(-out_width * 0.5 + 0.5, out_width * 0.5 - 0.5, out_width, device=like.device)
    y = torch.linspace(-out_height * 0.5 + 0.5, out_height * 0.5 - 0.5, out_height, device=like.device)
    base = torch.stack([x.expand(out_height, -1), y[:, None].expand(-1, out_width), torch.ones(out_height, out_width, device=like.device)], -1).to(dtype)
    scaled = theta.T / torch.tensor([0.5 * width, 0.5 * height], dtype=dtype, device=like.device)
    return (base.view(-1, 3) @ scaled).view(1, out_height, out_width, 2)


def _numbers(what, name, value, counts):
    value = [value] if isinstance(value, numbers.Number) else value
    if not isinstance(value, (list, tuple)) or len(value) not in counts:
        raise ValueError(f"{what}: {name} is {' or '.join(map(str, counts))} numbers, got {value!r}")
    return [float(v) for v in value]


def affine(img, angle, translate, scale, shear, interpolation=NEAREST, fill=None, center=None):
    """Turns, scales and shears around the center, then moves; the image keeps its size.

    Args:
        angle: in degrees, clockwise.
        translate: pixels to the right and down.
        scale: above 0.
        shear: degrees along x; or (x, y), a list of one number being both.
        interpolation: an InterpolationMode: NEAREST, BILINEAR or BICUBIC.
        fill: the value of pixels from outside, or one of each channel; None: 0.
        center: (x, y); None: the middle.

    >>> torch.vision.transforms.functional.affine(torch.arange(4).view(1, 1, 4), 0, [1, 0], 1.0, [0, 0])
    tensor([[[0, 0, 1, 2]]])
    """
    if not isinstance(angle, numbers.Number):
        raise TypeError(f"affine: the angle is a number, got {type(angle).__name__}")
    if isinstance(translate, numbers.Number):
        raise TypeError("affine: translate is two numbers, got one")
    shear = [shear, 0.0] if isinstance(shear, numbers.Number) else list(shear) * (2 if len(shear) == 1 else 1)
    translate, shear = _numbers("affine", "translate", translate, (2,)), _numbers("affine", "shear", shear, (2,))
    if scale <= 0:
        raise ValueError(f"affine: the scale is positive, got {scale}")
    interpolation = F._interpolation(interpolation)
    if center is not None:
        center = _numbers("affine", "center", center, (2,))
    is_tensor = F._checked("affine", img)
    _, height, width = F.get_dimensions(img)
    if not is_tensor:
        matrix = _inverse_matrix(center or [width * 0.5, height * 0.5], angle, translate, scale, shear)
        return img.transform(img.size, F._pil().AFFINE, matrix, _resample(interpolation), **_pil_fill(img, fill))
    middle = [0.0, 0.0] if center is None else [center[0] - width * 0.5, center[1] - height * 0.5]
    matrix = _inverse_matrix(middle, angle, translate, scale, shear)
    return _sampled("affine", img, _affine_grid(matrix, width, height, width, height, img), interpolation, fill)


def _turned_size(matrix, width, height):
    """The size of the whole turned image: rounding errors do not make it a pixel larger."""
    corners = torch.tensor([[x * 0.5 * width, y * 0.5 * height, 1.0] for x in (-1, 1) for y in (-1, 1)])
    places = corners @ torch.tensor(matrix, dtype=torch.float32).view(2, 3).T + torch.tensor([width * 0.5, height * 0.5])
    least, most = ((edge / 1e-4).trunc() * 1e-4 for edge in (places.amin(0), places.amax(0)))
    return [int(v) for v in most.ceil() - least.floor()]


def rotate(img, angle, interpolation=NEAREST, expand=False, center=None, fill=None):
    """Turns counter-clockwise, by degrees.

    Args:
        interpolation, fill: as of `affine`.
        expand: whether the output is as large as the whole turned image, around the middle.
        center: (x, y); None: the middle.

    >>> torch.vision.transforms.functional.rotate(torch.tensor([[[1, 2], [3, 4]]]), 90)
    tensor([[[2, 4],
             [1, 3]]])
    """
    if not isinstance(angle, numbers.Number):
        raise TypeError(f"rotate: the angle is a number, got {type(angle).__name__}")
    interpolation = F._interpolation(interpolation)
    if center is not None:
        center = _numbers("rotate", "center", center, (2,))
    if not F._checked("rotate", img):
        return img.rotate(angle, _resample(interpolation), expand, center, **_pil_fill(img, fill))
    _, height, width = F.get_dimensions(img)
    middle = [0.0, 0.0] if center is None else [center[0] - width * 0.5, center[1] - height * 0.5]
    matrix = _inverse_matrix(middle, -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    size = _turned_size(matrix, width, height) if expand else [width, height]
    return _sampled("rotate", img, _affine_grid(matrix, width, height, *size, img), interpolation, fill)


def _perspective_numbers(start, end):
    """The eight numbers that take the end points to the start points, by least squares."""
    rows, wanted = [], []
    for (x, y), (u, v) in zip(end, start):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        wanted += [u, v]
    a, b = torch.tensor(rows, dtype=torch.float64), torch.tensor(wanted, dtype=torch.float64)
    return torch.linalg.lstsq(a, b, driver="gels").solution.to(torch.float32).tolist()


def perspective(img, startpoints, endpoints, interpolation=BILINEAR, fill=None):
    """As seen from another place: four points of the image come to lie at four others.

    Args:
        startpoints, endpoints: four (x, y): top left, top right, bottom right, bottom left.
        interpolation, fill: as of `affine`.

    >>> corners = [[0, 0], [3, 0], [3, 3], [0, 3]]
    >>> image = torch.rand(1, 4, 4)
    >>> bool((torch.vision.transforms.functional.perspective(image, corners, corners) - image).abs().max() < 1e-5)
    True
    """
    for name, points in (("startpoints", startpoints), ("endpoints", endpoints)):
        if len(points) != 4 or any(len(point) != 2 for point in points):
            raise ValueError(f"perspective: {name} are four points (x, y), got {points!r}")
    interpolation = F._interpolation(interpolation)
    a, b, c, d, e, f, g, h = numbers_of = _perspective_numbers(startpoints, endpoints)
    if not F._checked("perspective", img):
        return img.transform(img.size, F._pil().PERSPECTIVE, numbers_of, _resample(interpolation), **_pil_fill(img, fill))
    _, height, width = F.get_dimensions(img)
    dtype = img.dtype if img.is_floating_point() else torch.float32
    x = torch.linspace(0.5, width - 0.5, width, device=img.device).expand(height, -1)
    y = torch.linspace(0.5, height - 0.5, height, device=img.device)[:, None].expand(-1, width)
    base = torch.stack([x, y, torch.ones_like(x)], -1).to(dtype).view(-1, 3)
    to_unit = torch.tensor([0.5 * width, 0.5 * height], dtype=dtype, device=img.device)
    above = base @ (torch.tensor([[a, b, c], [d, e, f]], dtype=dtype, device=img.device).T / to_unit)
    below = base @ torch.tensor([[g, h, 1.0], [g, h, 1.0]], dtype=dtype, device=img.device).T
    return _sampled("perspective", img, (above / below - 1.0).view(1, height, width, 2), interpolation, fill)


def elastic_transform(img, displacement, interpolation=BILINEAR, fill=None):
    """Every pixel comes from a place of its own.

    Args:
        displacement: (1, H, W, 2), how far to the right and down of its own place a pixel comes from, 2 being the image's size.
        interpolation, fill: as of `affine`.

    >>> torch.vision.transforms.functional.elastic_transform(torch.ones(1, 2, 2), torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 2, 2])
    """
    interpolation = F._interpolation(interpolation)
    if not isinstance(displacement, torch.Tensor):
        raise TypeError(f"elastic_transform: the displacement is a tensor, got {type(displacement).__name__}")
    if not F._checked("elastic_transform", img):
        return F.to_pil_image(elastic_transform(F.pil_to_tensor(img), displacement, interpolation, fill), img.mode)
    height, width = img.shape[-2:]
    if tuple(displacement.shape) != (1, height, width, 2):
        raise ValueError(f"elastic_transform: the displacement has the shape {(1, height, width, 2)}, got {tuple(displacement.shape)}")
    x, y = (torch.linspace((1.0 - n) / n, (n - 1.0) / n, n, device=img.device) for n in (width, height))
    base = torch.stack([x.expand(height, -1), y[:, None].expand(-1, width)], -1)[None]
    return _sampled("elastic_transform", img, base + displacement.to(img.device), interpolation, fill)
