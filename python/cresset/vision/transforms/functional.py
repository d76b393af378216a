"""torchvision.transforms.functional: what transforms do, on tensors (..., C, H, W) and on images of PIL.

>>> F = torch.vision.transforms.functional
>>> F.hflip(torch.arange(3).reshape(1, 1, 3))
tensor([[[2, 1, 0]]])
"""

import enum
import numbers

import numpy as np

import cresset as torch

__all__ = ["InterpolationMode", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation", "adjust_sharpness", "affine",
           "autocontrast", "center_crop", "convert_image_dtype", "crop", "elastic_transform", "equalize", "erase", "five_crop", "gaussian_blur",
           "get_dimensions", "get_image_num_channels", "get_image_size", "hflip", "invert", "normalize", "pad", "perspective", "pil_to_tensor", "posterize",
           "resize", "resized_crop", "rgb_to_grayscale", "rotate", "solarize", "ten_crop", "to_grayscale", "to_pil_image", "to_tensor", "vflip"]  # fmt: skip


class InterpolationMode(enum.Enum):
    """How pixels between pixels are computed.

    >>> torch.vision.transforms.InterpolationMode.BILINEAR.value
    'bilinear'
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"

    def __eq__(self, other):
        """Also equal to the mode of that name of an installed torchvision."""
        return self is other or (type(other).__name__ == "InterpolationMode" and self.name == getattr(other, "name", None))

    __hash__ = enum.Enum.__hash__


_PIL_NUMBERS = {0: "NEAREST", 1: "LANCZOS", 2: "BILINEAR", 3: "BICUBIC", 4: "BOX", 5: "HAMMING"}


def _pil():
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("PIL is not installed, and only it makes and reads images: pip install pillow, or give tensors") from None
    return Image


def _is_pil(img):
    return type(img).__module__.partition(".")[0] == "PIL" or any(base.__module__.partition(".")[0] == "PIL" for base in type(img).__mro__)


def _checked(what, img):
    """Whether it is a tensor; TypeError where it is no image either."""
    if isinstance(img, torch.Tensor):
        if img.dim() < 2:
            raise TypeError(f"{what}: expected an image of at least 2 dimensions, got {img.dim()}")
        return True
    if not _is_pil(img):
        raise TypeError(f"{what}: expected a tensor or an image of PIL, got {type(img).__name__}")
    return False


def _interpolation(value):
    if isinstance(value, InterpolationMode):
        return value
    if isinstance(value, int) and value in _PIL_NUMBERS:
        return InterpolationMode[_PIL_NUMBERS[value]]
    raise TypeError(f"expected an InterpolationMode, got {value!r}")


# ---- what images are ------------------------------------------------------------------------------------------------------


def get_dimensions(img):
    """Channels, height and width.

    >>> torch.vision.transforms.functional.get_dimensions(torch.ones(3, 4, 5))
    [3, 4, 5]
    """
    if _checked("get_dimensions", img):
        return [1 if img.dim() == 2 else img.shape[-3], img.shape[-2], img.shape[-1]]
    return [len(img.getbands()), img.height, img.width]


def get_image_size(img):
    """Width and height.

    >>> torch.vision.transforms.functional.get_image_size(torch.ones(3, 4, 5))
    [5, 4]
    """
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img):
    """How many channels there are.

    >>> torch.vision.transforms.functional.get_image_num_channels(torch.ones(3, 4, 5))
    3
    """
    return get_dimensions(img)[0]


# ---- between tensors, arrays and PIL --------------------------------------------------------------------------------------


def to_tensor(pic):
    """A tensor (C, H, W) of an array (H, W, C) or (H, W), of an image of PIL, or of a tensor (C, H, W) as images of files are here.
    Bytes become floats from 0 to 1, other dtypes stay.

    >>> import numpy as np
    >>> torch.vision.transforms.functional.to_tensor(np.array([[0, 51, 255]], np.uint8))
    tensor([[[0.0000, 0.2000, 1.0000]]])
    """
    if isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(f"to_tensor: expected an array of 2 or 3 dimensions, got {pic.ndim}")
        found = torch.from_numpy(np.ascontiguousarray((pic[:, :, None] if pic.ndim == 2 else pic).transpose(2, 0, 1)))
        return found.to(torch.get_default_dtype()).div(255) if found.dtype == torch.uint8 else found
    if isinstance(pic, torch.Tensor):
        return pic.to(torch.get_default_dtype()).div(255) if pic.dtype == torch.uint8 else pic
    if not _is_pil(pic):
        raise TypeError(f"to_tensor: expected an array, an image of PIL or a tensor, got {type(pic).__name__}")
    found = pil_to_tensor(pic)
    if pic.mode == "1":
        return found.to(torch.get_default_dtype())
    return found.to(torch.get_default_dtype()).div(255) if found.dtype == torch.uint8 else found


def pil_to_tensor(pic):
    """A tensor (C, H, W) of the values of an image of PIL, as they are. A tensor is returned.

    >>> try:
    ...     torch.vision.transforms.functional.pil_to_tensor(3)
    ... except TypeError as error:
    ...     print(error)
    pil_to_tensor: expected an image of PIL, got int
    """
    if isinstance(pic, torch.Tensor):
        return pic
    if not _is_pil(pic):
        raise TypeError(f"pil_to_tensor: expected an image of PIL, got {type(pic).__name__}")
    array = np.array(pic, copy=True)
    if pic.mode.startswith("I;16"):
        array = array.astype(np.int16)
    return torch.from_numpy(np.ascontiguousarray(array.reshape(pic.height, pic.width, -1).transpose(2, 0, 1)))


def to_pil_image(pic, mode=None):
    """An image of PIL of a tensor (C, H, W) or an array (H, W, C); floats from 0 to 1 become bytes. ImportError where PIL is not there.

    >>> try:
    ...     image = torch.vision.transforms.functional.to_pil_image(torch.ones(3, 4, 5)).size
    ... except ImportError as error:
    ...     image = (5, 4)
    >>> image
    (5, 4)
    """
    if isinstance(pic, torch.Tensor):
        if pic.dim() not in (2, 3):
            raise ValueError(f"to_pil_image: expected 2 or 3 dimensions, got {pic.dim()}")
        pic = pic.mul(255).byte() if pic.is_floating_point() and mode != "F" else pic
        array = pic.cpu().numpy() if pic.dim() == 2 else pic.permute(1, 2, 0).cpu().numpy()
    elif isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(f"to_pil_image: expected 2 or 3 dimensions, got {pic.ndim}")
        array = pic
    else:
        raise TypeError(f"to_pil_image: expected a tensor or an array, got {type(pic).__name__}")
    image = _pil()
    channels = 1 if array.ndim == 2 else array.shape[2]
    if channels > 4:
        raise ValueError(f"to_pil_image: expected at most 4 channels, got {channels}")
    if channels == 1:
        array = array.reshape(array.shape[:2])
        expected = {"uint8": "L", "int16": "I;16", "int32": "I", "float32": "F"}.get(str(array.dtype))
        allowed = (expected,)
    else:
        allowed = {2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}[channels] if array.dtype == np.uint8 else (None,)
    if allowed[0] is None:
        raise TypeError(f"to_pil_image: no kind of image has {channels} channels of {array.dtype}")
    if mode is not None and mode not in allowed:
        raise ValueError(f"to_pil_image: mode {mode!r} does not fit {channels} channels of {array.dtype}, expected one of {allowed}")
    return image.fromarray(np.ascontiguousarray(array)) if (mode or allowed[0]) in ("L", "I", "F", "I;16", "RGB", "RGBA", "LA") else \
        image.frombytes(mode, (array.shape[1], array.shape[0]), np.ascontiguousarray(array).tobytes())  # fmt: skip


def convert_image_dtype(image, dtype=torch.float):
    """Another dtype, values scaled so that the brightest stays the brightest: 1 for floats, the greatest number for integers.

    >>> torch.vision.transforms.functional.convert_image_dtype(torch.tensor([[[0, 255]]], dtype=torch.uint8))
    tensor([[[0., 1.]]])
    """
    if not isinstance(image, torch.Tensor):
        raise TypeError(f"convert_image_dtype: expected a tensor, got {type(image).__name__}")
    if image.dtype == dtype:
        return image
    if image.is_floating_point():
        if dtype.is_floating_point:
            return image.to(dtype)
        if (image.dtype, dtype) in ((torch.float32, torch.int32), (torch.float32, torch.int64), (torch.float64, torch.int64)):
            raise RuntimeError(f"convert_image_dtype: {image.dtype} cannot hold the values of {dtype}")
        return image.mul(_brightest(dtype) + 1 - 1e-3).to(dtype)
    before = _brightest(image.dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / before
    after = _brightest(dtype)
    if before > after:
        return torch.div(image, (before + 1) // (after + 1), rounding_mode="floor").to(dtype)
    return image.to(dtype) * ((after + 1) // (before + 1))


def _brightest(dtype):
    return 1 if dtype.is_floating_point or dtype == torch.bool else torch.iinfo(dtype).max


def normalize(tensor, mean, std, inplace=False):
    """Each channel less its mean, over its deviation.

    >>> torch.vision.transforms.functional.normalize(torch.ones(2, 1, 1), [0.5, 0.0], [0.5, 2.0]).flatten()
    tensor([1.0000, 0.5000])
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"normalize: expected a tensor, got {type(tensor).__name__}")
    if not tensor.is_floating_point():
        raise TypeError(f"normalize: expected floats, got {tensor.dtype}")
    if tensor.dim() < 3:
        raise ValueError(f"normalize: expected a tensor (..., C, H, W), got {tuple(tensor.shape)}")
    mean, std = (torch.as_tensor(v, dtype=tensor.dtype, device=tensor.device) for v in (mean, std))
    if (std == 0).any():
        raise ValueError(f"normalize: std is zero in {tensor.dtype}, which divides by zero")
    mean, std = (v.view(-1, 1, 1) if v.dim() == 1 else v for v in (mean, std))
    return torch._standardize(tensor, mean, std, out=tensor) if inplace else torch._standardize(tensor, mean, std)


# ---- sizes and places -----------------------------------------------------------------------------------------------------


def _resized(height, width, size, max_size):
    if len(size) == 2:
        return list(size)
    short, long = sorted((height, width))
    short, long = size[0], int(size[0] * long / short)
    if max_size is not None:
        if max_size <= size[0]:
            raise ValueError(f"resize: max_size is greater than the size of the smaller edge, got {max_size} and {size[0]}")
        if long > max_size:
            short, long = int(max_size * short / long), max_size
    return [long, short] if height > width else [short, long]


def _pair(what, size):
    size = [size] if isinstance(size, numbers.Number) else list(size)
    if len(size) not in (1, 2):
        raise ValueError(f"{what}: size has one or two numbers, got {len(size)}")
    return size


def resize(img, size, interpolation=InterpolationMode.BILINEAR, max_size=None, antialias=True):
    """Another size.

    Args:
        size: (height, width), or one number: that of the smaller edge, the other keeps the proportion.
        interpolation: an InterpolationMode; of tensors NEAREST, NEAREST_EXACT, BILINEAR or BICUBIC.
        max_size: the greatest size of the longer edge, where size is one number.
        antialias: whether pixels that are lost count; images of PIL always do so.

    >>> torch.vision.transforms.functional.resize(torch.ones(3, 4, 8), 2).shape
    torch.Size([3, 2, 4])
    """
    interpolation, size = _interpolation(interpolation), _pair("resize", size)
    if max_size is not None and len(size) != 1:
        raise ValueError("resize: max_size is for a size of one number")
    is_tensor = _checked("resize", img)
    _, height, width = get_dimensions(img)
    size = _resized(height, width, size, max_size)
    if [height, width] == size:
        return img
    if not is_tensor:
        return img.resize(size[::-1], getattr(_pil(), interpolation.name))
    mode = interpolation.value
    if mode not in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        raise ValueError(f"resize: tensors have no interpolation {mode}, expected nearest, nearest-exact, bilinear or bicubic")
    smooth = mode in ("bilinear", "bicubic")
    batch = img.reshape(-1, get_image_num_channels(img), height, width)
    # Bytes are resized as bytes, as images of PIL are.
    in_bytes = img.dtype == torch.uint8 and antialias and smooth
    if img.dtype not in (torch.float32, torch.float64) and not in_bytes:
        batch = batch.to(torch.float32)
    batch = torch.nn.functional.interpolate(batch, size=size, mode=mode, align_corners=False if smooth else None, antialias=bool(antialias) and smooth)
    if mode == "bicubic" and img.dtype == torch.uint8 and not in_bytes:
        batch = batch.clamp(0, 255)
    if not img.is_floating_point() and not in_bytes:
        batch = batch.round()
    return batch.to(img.dtype).reshape(*img.shape[:-2], *size)


def _sides(padding):
    """Left, top, right, bottom."""
    padding = [padding] if isinstance(padding, int) else list(padding)
    if len(padding) not in (1, 2, 4):
        raise ValueError(f"pad: padding has one, two or four numbers, got {len(padding)}")
    return padding * (4 // len(padding))


def _symmetric(length, before, after):
    """The places that a reflection with the edge itself takes its values from."""
    places = torch.arange(-before, length + after) % (2 * length)
    return torch.minimum(places, 2 * length - 1 - places)


def pad(img, padding, fill=0, padding_mode="constant"):
    """More pixels around; negative numbers are pixels less.

    Args:
        padding: of all sides; or (left and right, top and bottom); or (left, top, right, bottom).
        fill: the value of the new pixels, or one of each channel.
        padding_mode: "constant", "edge", "reflect" (without the edge itself) or "symmetric" (with it).

    >>> torch.vision.transforms.functional.pad(torch.ones(1, 1, 2), [1, 0], fill=7)
    tensor([[[7., 1., 1., 7.]]])
    """
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(f"pad: padding_mode is constant, edge, reflect or symmetric, got {padding_mode!r}")
    left, top, right, bottom = _sides(padding)
    if not _checked("pad", img):
        return _pad_pil(img, (left, top, right, bottom), fill, padding_mode)
    if padding_mode == "symmetric":
        img = img if min(left, top, right, bottom) >= 0 else pad(img, [min(0, side) for side in (left, top, right, bottom)])
        left, top, right, bottom = (max(0, side) for side in (left, top, right, bottom))
        rows, columns = _symmetric(img.shape[-2], top, bottom), _symmetric(img.shape[-1], left, right)
        return img.index_select(-2, rows.to(img.device)).index_select(-1, columns.to(img.device))
    sides = [left, right, top, bottom]
    if padding_mode == "constant":
        if not isinstance(fill, (tuple, list)):
            return torch.nn.functional.pad(img, sides, value=fill)
        if len(fill) not in (1, get_image_num_channels(img)):
            raise ValueError(f"pad: fill has one number or one for each of {get_image_num_channels(img)} channels, got {len(fill)}")
        fill = torch.tensor(fill, dtype=img.dtype, device=img.device).view(-1, 1, 1)
        inside = torch.nn.functional.pad(torch.ones(img.shape[-2:], dtype=torch.bool, device=img.device), sides)
        return torch.where(inside, torch.nn.functional.pad(img, sides), fill)
    batch = img.reshape(1, -1, *img.shape[-2:])
    whole = not img.is_floating_point()
    batch = torch.nn.functional.pad(batch.double() if whole else batch, sides, mode={"edge": "replicate"}.get(padding_mode, padding_mode))
    return batch.to(img.dtype).reshape(*img.shape[:-2], *batch.shape[-2:])


def _pad_pil(img, sides, fill, padding_mode):
    image = _pil()
    if padding_mode == "constant":
        fill = tuple(fill) if isinstance(fill, (tuple, list)) else fill
        if isinstance(fill, tuple) and len(fill) == 1:
            fill = fill * len(img.getbands())
        elif not isinstance(fill, tuple) and len(img.getbands()) > 1:
            fill = (fill,) * len(img.getbands())
        left, top, right, bottom = sides
        whole = image.new(img.mode, (img.width + left + right, img.height + top + bottom), fill)
        whole.paste(img, (left, top))
        return whole
    moved = pad(torch.from_numpy(np.array(img).reshape(img.height, img.width, -1).transpose(2, 0, 1).copy()), list(sides), 0, padding_mode)
    array = moved.permute(1, 2, 0).contiguous().numpy()
    return image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array)


def crop(img, top, left, height, width):
    """A part; zeros where it reaches beyond the image.

    >>> torch.vision.transforms.functional.crop(torch.arange(4).reshape(1, 2, 2), 1, 1, 1, 2)
    tensor([[[3, 0]]])
    """
    if not _checked("crop", img):
        return img.crop((left, top, left + width, top + height))
    _, rows, columns = get_dimensions(img)
    part = img[..., max(0, top) : max(0, top + height), max(0, left) : max(0, left + width)]
    if left >= 0 and top >= 0 and left + width <= columns and top + height <= rows:
        return part
    before = [min(max(0, -left), width), min(max(0, -top), height)]
    return torch.nn.functional.pad(part, [before[0], width - part.shape[-1] - before[0], before[1], height - part.shape[-2] - before[1]])


def _square(what, size):
    size = _pair(what, size)
    return size * 2 if len(size) == 1 else size


def center_crop(img, output_size):
    """The middle; zeros around it where the image is smaller.

    >>> torch.vision.transforms.functional.center_crop(torch.arange(9).reshape(1, 3, 3), 1)
    tensor([[[4]]])
    """
    height, width = _square("center_crop", output_size)
    _, rows, columns = get_dimensions(img)
    if width > columns or height > rows:
        across, down = max(0, width - columns), max(0, height - rows)
        img = pad(img, [across // 2, down // 2, (across + 1) // 2, (down + 1) // 2])
        _, rows, columns = get_dimensions(img)
    return crop(img, int(round((rows - height) / 2.0)), int(round((columns - width) / 2.0)), height, width)


def resized_crop(img, top, left, height, width, size, interpolation=InterpolationMode.BILINEAR, antialias=True):
    """A part, in another size.

    >>> torch.vision.transforms.functional.resized_crop(torch.ones(3, 8, 8), 1, 2, 4, 4, [2, 3]).shape
    torch.Size([3, 2, 3])
    """
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def five_crop(img, size):
    """The four corners, row by row, and the middle.

    >>> [int(part) for part in torch.vision.transforms.functional.five_crop(torch.arange(9).reshape(1, 3, 3), 1)]
    [0, 2, 6, 8, 4]
    """
    height, width = _square("five_crop", size)
    _, rows, columns = get_dimensions(img)
    if height > rows or width > columns:
        raise ValueError(f"five_crop: parts of {height} x {width} are larger than the image, {rows} x {columns}")
    corners = [crop(img, top, left, height, width) for top in (0, rows - height) for left in (0, columns - width)]
    return (*corners, center_crop(img, [height, width]))


def ten_crop(img, size, vertical_flip=False):
    """`five_crop` of the image and of its mirror image.

    >>> [int(part) for part in torch.vision.transforms.functional.ten_crop(torch.arange(9).reshape(1, 3, 3), 1)[5:]]
    [2, 0, 8, 6, 4]
    """
    return five_crop(img, size) + five_crop(vflip(img) if vertical_flip else hflip(img), size)


def hflip(img):
    """Left and right exchanged.

    >>> torch.vision.transforms.functional.hflip(torch.tensor([[[1, 2]]]))
    tensor([[[2, 1]]])
    """
    return img.flip(-1) if _checked("hflip", img) else img.transpose(_pil().FLIP_LEFT_RIGHT)


def vflip(img):
    """Top and bottom exchanged.

    >>> torch.vision.transforms.functional.vflip(torch.tensor([[[1], [2]]])).flatten()
    tensor([2, 1])
    """
    return img.flip(-2) if _checked("vflip", img) else img.transpose(_pil().FLIP_TOP_BOTTOM)


def erase(img, i, j, h, w, v, inplace=False):
    """The h x w pixels from row i and column j on take the values v.

    >>> torch.vision.transforms.functional.erase(torch.ones(1, 2, 2), 0, 1, 2, 1, 0)
    tensor([[[1., 0.],
             [1., 0.]]])
    """
    if not isinstance(img, torch.Tensor):
        raise TypeError(f"erase: expected a tensor, got {type(img).__name__}")
    img = img if inplace else img.clone()
    img[..., i : i + h, j : j + w] = v
    return img


# ---- colours --------------------------------------------------------------------------------------------------------------


def _of_colors(what, change, by_pil):
    """`change` of a tensor of 1 or 3 channels, or `by_pil` of an image of PIL."""

    def apply(img):
        if not _checked(what, img):
            return by_pil(img)
        if get_image_num_channels(img) not in (1, 3):
            raise TypeError(f"{what}: expected 1 or 3 channels, got {get_image_num_channels(img)}")
        return change(img)

    return apply


def _enhanced(kind, factor):
    def by_pil(img):
        from PIL import ImageEnhance

        return getattr(ImageEnhance, kind)(img).enhance(factor)

    return by_pil


def _blend(img, other, factor):
    return (float(factor) * img + (1.0 - factor) * other).clamp(0, _brightest(img.dtype)).to(img.dtype)


def _gray(img):
    red, green, blue = img.unbind(-3)
    return (0.2989 * red + 0.587 * green + 0.114 * blue).to(img.dtype).unsqueeze(-3)


def _not_negative(what, factor):
    if factor < 0:
        raise ValueError(f"{what}: the factor is not negative, got {factor}")


def adjust_brightness(img, brightness_factor):
    """Brighter: 0 makes black, 1 nothing, 2 twice as bright.

    >>> torch.vision.transforms.functional.adjust_brightness(torch.full((1, 1, 1), 0.25), 2.0)
    tensor([[[0.5000]]])
    """
    _not_negative("adjust_brightness", brightness_factor)
    change = lambda x: _blend(x, torch.zeros_like(x), brightness_factor)  # noqa: E731
    return _of_colors("adjust_brightness", change, _enhanced("Brightness", brightness_factor))(img)


def adjust_contrast(img, contrast_factor):
    """More contrast: 0 makes plain gray, 1 nothing.

    >>> torch.vision.transforms.functional.adjust_contrast(torch.tensor([[[0.25, 0.75]]]), 1.5)
    tensor([[[0.1250, 0.8750]]])
    """

    def change(x):
        gray = _gray(x) if x.shape[-3] == 3 else x
        mean = gray.to(x.dtype if x.is_floating_point() else torch.float32).mean((-3, -2, -1), keepdim=True)
        return _blend(x, mean, contrast_factor)

    _not_negative("adjust_contrast", contrast_factor)
    return _of_colors("adjust_contrast", change, _enhanced("Contrast", contrast_factor))(img)


def adjust_saturation(img, saturation_factor):
    """More colour: 0 makes gray, 1 nothing.

    >>> torch.vision.transforms.functional.adjust_saturation(torch.tensor([1.0, 0.0, 0.0]).view(3, 1, 1), 0.0).flatten()
    tensor([0.2989, 0.2989, 0.2989])
    """
    _not_negative("adjust_saturation", saturation_factor)
    change = lambda x: _blend(x, _gray(x), saturation_factor) if x.shape[-3] == 3 else x  # noqa: E731
    return _of_colors("adjust_saturation", change, _enhanced("Color", saturation_factor))(img)


def _rgb_to_hsv(img):
    most, least = img.amax(-3), img.amin(-3)
    spread = most - least
    flat = spread == 0
    divisor = torch.where(flat, 1, spread)
    red, green, blue = ((most - channel) / divisor for channel in img.unbind(-3))
    is_red, is_green = img.select(-3, 0) == most, img.select(-3, 1) == most
    hue = torch.where(is_red, blue - green, torch.where(is_green, 2.0 + red - blue, 4.0 + green - red))
    return torch.fmod(hue / 6.0 + 1.0, 1.0), spread / torch.where(flat, 1, most), most


def _hsv_to_rgb(hue, saturation, value):
    def channel(sixths):
        k = (hue * 6.0 + sixths) % 6.0
        return (value - value * saturation * torch.minimum(k, 4.0 - k).clamp(0.0, 1.0)).clamp(0.0, 1.0)

    return torch.stack([channel(5.0), channel(3.0), channel(1.0)], -3)


def adjust_hue(img, hue_factor):
    """Colours turned around the circle by a part of it, -0.5 to 0.5.

    >>> torch.vision.transforms.functional.adjust_hue(torch.tensor([1.0, 0.0, 0.0]).view(3, 1, 1), 0.5).flatten().round()
    tensor([0., 1., 1.])
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"adjust_hue: the factor is from -0.5 to 0.5, got {hue_factor}")

    def change(x):
        if x.shape[-3] == 1:
            return x
        hue, saturation, value = _rgb_to_hsv(convert_image_dtype(x, torch.float32))
        return convert_image_dtype(_hsv_to_rgb((hue + hue_factor) % 1.0, saturation, value), x.dtype)

    def by_pil(image):
        if image.mode in ("L", "1", "I", "F"):
            return image
        hue, saturation, value = image.convert("HSV").split()
        turned = (np.array(hue, np.uint8).astype(np.int64) + int(hue_factor * 255)) % 256
        return _pil().merge("HSV", (_pil().fromarray(turned.astype(np.uint8)), saturation, value)).convert(image.mode)

    return _of_colors("adjust_hue", change, by_pil)(img)


def adjust_gamma(img, gamma, gain=1):
    """gain times the power gamma of what is between 0 and 1.

    >>> torch.vision.transforms.functional.adjust_gamma(torch.full((1, 1, 1), 0.5), 2.0)
    tensor([[[0.2500]]])
    """
    _not_negative("adjust_gamma", gamma)

    def change(x):
        scaled = x if x.is_floating_point() else convert_image_dtype(x, torch.float32)
        return convert_image_dtype((gain * scaled**gamma).clamp(0, 1), x.dtype)

    def by_pil(image):
        table = [int((255 + 1 - 1e-3) * gain * (value / 255.0) ** gamma) for value in range(256)]
        return image.convert("RGB").point(table * 3).convert(image.mode)

    return _of_colors("adjust_gamma", change, by_pil)(img)


def invert(img):
    """The negative.

    >>> torch.vision.transforms.functional.invert(torch.tensor([[[0, 250]]], dtype=torch.uint8))
    tensor([[[255,   5]]], dtype=torch.uint8)
    """

    def by_pil(image):
        from PIL import ImageOps

        return ImageOps.invert(image)

    return _of_colors("invert", lambda x: _brightest(x.dtype) - x, by_pil)(img)


def rgb_to_grayscale(img, num_output_channels=1):
    """Gray, in one channel or three equal ones.

    >>> torch.vision.transforms.functional.rgb_to_grayscale(torch.ones(3, 1, 1), 3).shape
    torch.Size([3, 1, 1])
    """
    if num_output_channels not in (1, 3):
        raise ValueError(f"rgb_to_grayscale: num_output_channels is 1 or 3, got {num_output_channels}")
    if not _checked("rgb_to_grayscale", img):
        gray = img.convert("L")
        return gray if num_output_channels == 1 else _pil().merge("RGB", [gray] * 3)
    channels = get_image_num_channels(img)
    if channels not in (1, 3):
        raise TypeError(f"rgb_to_grayscale: expected 1 or 3 channels, got {channels}")
    gray = _gray(img) if channels == 3 else img.clone()
    return gray if num_output_channels == 1 else gray.expand(*gray.shape[:-3], 3, *gray.shape[-2:])


def to_grayscale(img, num_output_channels=1):
    """`rgb_to_grayscale` under the name that is for images of PIL.

    >>> torch.vision.transforms.functional.to_grayscale(torch.ones(3, 1, 1)).shape
    torch.Size([1, 1, 1])
    """
    return rgb_to_grayscale(img, num_output_channels)


from ._geometry import affine, elastic_transform, perspective, rotate  # noqa: E402, F401
from ._tones import adjust_sharpness, autocontrast, equalize, gaussian_blur, posterize, solarize  # noqa: E402, F401
