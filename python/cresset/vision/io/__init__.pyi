"""Images of files and back."""

import os
from enum import Enum
from typing import Any

from _cresset import Tensor, _bool, _int, _str

_Path = _str | os.PathLike[_str]

class ImageReadMode(Enum):
    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4
    RGBA = RGB_ALPHA

def decode_image(
    input: Tensor, mode: ImageReadMode | _str = ..., apply_exif_orientation: _bool = False, *, min_size: _int | None = None,
) -> Tensor: ...  # fmt: skip
def decode_jpeg(
    input: Tensor, mode: ImageReadMode | _str = ..., device: Any = "cpu", apply_exif_orientation: _bool = False, *,
    min_size: _int | None = None,
) -> Tensor: ...  # fmt: skip
def decode_png(input: Tensor, mode: ImageReadMode | _str = ..., apply_exif_orientation: _bool = False) -> Tensor: ...
def encode_jpeg(input: Tensor, quality: _int = 75) -> Tensor: ...
def encode_png(input: Tensor, compression_level: _int = 6) -> Tensor: ...
def read_file(path: _Path) -> Tensor: ...
def read_image(
    path: _Path, mode: ImageReadMode | _str = ..., apply_exif_orientation: _bool = False, *, min_size: _int | None = None,
) -> Tensor: ...  # fmt: skip
def write_file(filename: _Path, data: Tensor) -> None: ...
def write_jpeg(input: Tensor, filename: _Path, quality: _int = 75) -> None: ...
def write_png(input: Tensor, filename: _Path, compression_level: _int = 6) -> None: ...
