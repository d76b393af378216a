"""torchvision.io.image: tensors (C, H, W) of bytes, of PNG and JPEG files and back."""

import enum
import os

import _cresset

import cresset as torch

__all__ = [
    "ImageReadMode",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "read_file",
    "read_image",
    "write_file",
    "write_jpeg",
    "write_png",
]

# An image of more pixels is an error, whatever its file says.
MAX_IMAGE_PIXELS = 1 << 28
_ANY, _JPEG, _PNG = range(3)


def codecs_found():
    """Whether libjpeg and libpng are there, in the build and now.

    >>> torch.vision.io.image.codecs_found() in (True, False)
    True
    """
    return _cresset._image_codecs_found()


class ImageReadMode(enum.Enum):
    """The channels that come out of a file.

    >>> torch.vision.io.ImageReadMode.RGB.value
    3
    """

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4
    RGBA = RGB_ALPHA


def _number(mode):
    if isinstance(mode, str):
        names = ImageReadMode.__members__
        if mode.upper() not in names:
            raise ValueError(f"decode_image: the mode is one of {', '.join(names)}, got {mode!r}")
        return names[mode.upper()].value
    if not isinstance(mode, ImageReadMode):
        raise TypeError(f"decode_image: the mode is an ImageReadMode or its name, got {type(mode).__name__}")
    return mode.value


def _least(min_size):
    if min_size is None:
        return 0, 0
    height, width = (min_size, min_size) if isinstance(min_size, int) else min_size
    if height < 1 or width < 1:
        raise ValueError(f"decode_image: min_size is a positive number or two, got {min_size!r}")
    return int(height), int(width)


def _decoded(data, name, kind, mode, upright, min_size):
    return _cresset._image_decode(data, name, kind, _number(mode), upright, MAX_IMAGE_PIXELS, *_least(min_size))


def _name(data):
    """Name of the data in messages: nothing for a path, which has a name of its own."""
    if isinstance(data, torch.Tensor):
        return "the data"
    if isinstance(data, (bytes, bytearray, memoryview)):
        return "the data"
    raise TypeError(f"decode_image: expected a tensor of bytes, or bytes, got {type(data).__name__}")


def _path(what, path):
    try:
        return os.fspath(path)
    except TypeError:
        raise TypeError(f"{what}: expected a path, got {type(path).__name__}") from None


def read_file(path):
    """The bytes of a file, a tensor (N) of uint8. RuntimeError for a file that cannot be read.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a")
    >>> torch.vision.io.write_file(path, torch.tensor([1, 2, 255], dtype=torch.uint8))
    >>> torch.vision.io.read_file(path)
    tensor([  1,   2, 255], dtype=torch.uint8)
    """
    return _cresset._image_read_file(_path("read_file", path))


def write_file(filename, data):
    """Writes a tensor (N) of uint8 as a file's bytes, all of them or, on an error, none.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a")
    >>> torch.vision.io.write_file(path, torch.zeros(5, dtype=torch.uint8))
    >>> os.path.getsize(path)
    5
    """
    _cresset._image_write_file(_path("write_file", filename), data)


def decode_image(input, mode=ImageReadMode.UNCHANGED, apply_exif_orientation=False, *, min_size=None):
    """The image (C, H, W) of a PNG or JPEG: uint8, or uint16 for PNGs of 16 bits.

    Args:
        input: the file's bytes, a tensor (N) of uint8 or Python's; or its path.
        mode: an ImageReadMode or its name; UNCHANGED: the channels of the file. A palette gives its colours.
        apply_exif_orientation: whether the image is turned and mirrored as its EXIF data tells.
        min_size: ours. (height, width) or one number for both: a JPEG may come out smaller by 2, 4 or 8, which is faster, but not
            smaller than this. For images that are made smaller next.

    Errors: RuntimeError for data that is no PNG or JPEG, is truncated or damaged, cannot hold the pixels that it announces, or announces
    more than `image.MAX_IMAGE_PIXELS`; for alpha of a JPEG; and where the codecs are not there.

    >>> data = torch.vision.io.encode_jpeg(torch.full((3, 32, 32), 200, dtype=torch.uint8))
    >>> torch.vision.io.decode_image(data, "GRAY").shape, torch.vision.io.decode_image(data, min_size=10).shape
    (torch.Size([1, 32, 32]), torch.Size([3, 16, 16]))
    """
    if isinstance(input, (str, os.PathLike)):
        return read_image(input, mode, apply_exif_orientation, min_size=min_size)
    return _decoded(input, _name(input), _ANY, mode, apply_exif_orientation, min_size)


def read_image(path, mode=ImageReadMode.UNCHANGED, apply_exif_orientation=False, *, min_size=None):
    """`decode_image` of a file. RuntimeError, which names the file, for one that cannot be read.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.png")
    >>> torch.vision.io.write_png(torch.ones(1, 2, 3, dtype=torch.uint8), path)
    >>> torch.vision.io.read_image(path, torch.vision.io.ImageReadMode.RGB).shape
    torch.Size([3, 2, 3])
    """
    return _decoded(_path("read_image", path), "", _ANY, mode, apply_exif_orientation, min_size)


def decode_png(input, mode=ImageReadMode.UNCHANGED, apply_exif_orientation=False):
    """`decode_image` of PNGs alone.

    >>> torch.vision.io.decode_png(torch.vision.io.encode_png(torch.ones(1, 2, 3, dtype=torch.uint8)))
    tensor([[[1, 1, 1],
             [1, 1, 1]]], dtype=torch.uint8)
    """
    return _decoded(input, _name(input), _PNG, mode, apply_exif_orientation, None)


def decode_jpeg(input, mode=ImageReadMode.UNCHANGED, device="cpu", apply_exif_orientation=False, *, min_size=None):
    """`decode_image` of JPEGs alone, of one or of each of a list. RuntimeError for another device than the CPU.

    >>> torch.vision.io.decode_jpeg(torch.vision.io.encode_jpeg(torch.ones(3, 8, 9, dtype=torch.uint8))).shape
    torch.Size([3, 8, 9])
    """
    if torch.device(device).type != "cpu":
        raise RuntimeError(f"decode_jpeg: images are decoded on the CPU, got the device {device}")
    if isinstance(input, (list, tuple)):
        if not input:
            raise ValueError("decode_jpeg: expected at least one tensor, got an empty list")
        return [decode_jpeg(one, mode, device, apply_exif_orientation, min_size=min_size) for one in input]
    return _decoded(input, _name(input), _JPEG, mode, apply_exif_orientation, min_size)


def encode_png(input, compression_level=6):
    """The bytes of a PNG of an image (C, H, W) of uint8, C being 1 or 3. RuntimeError for others, and for levels outside 0 to 9.

    >>> torch.vision.io.encode_png(torch.ones(1, 2, 3, dtype=torch.uint8))[1:4]
    tensor([80, 78, 71], dtype=torch.uint8)
    """
    return _cresset._image_encode_png(input, compression_level)


def encode_jpeg(input, quality=75):
    """The bytes of a JPEG of an image (C, H, W) of uint8, C being 1 or 3, or of each of a list. RuntimeError for others, and for a quality outside 1 to 100.

    >>> torch.vision.io.encode_jpeg(torch.ones(3, 8, 8, dtype=torch.uint8))[:3]
    tensor([255, 216, 255], dtype=torch.uint8)
    """
    if isinstance(input, (list, tuple)):
        if not input:
            raise ValueError("encode_jpeg: expected at least one tensor, got an empty list")
        return [encode_jpeg(one, quality) for one in input]
    return _cresset._image_encode_jpeg(input, quality)


def write_png(input, filename, compression_level=6):
    """`encode_png` to a file.

    >>> import os, tempfile
    >>> torch.vision.io.write_png(torch.ones(1, 2, 3, dtype=torch.uint8), os.path.join(tempfile.mkdtemp(), "a.png"))
    """
    write_file(filename, encode_png(input, compression_level))


def write_jpeg(input, filename, quality=75):
    """`encode_jpeg` to a file.

    >>> import os, tempfile
    >>> torch.vision.io.write_jpeg(torch.ones(1, 2, 3, dtype=torch.uint8), os.path.join(tempfile.mkdtemp(), "a.jpg"))
    """
    write_file(filename, encode_jpeg(input, quality))
