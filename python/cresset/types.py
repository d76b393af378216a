"""Names for annotations."""

import builtins as _builtins
import os as _os
import typing as _typing

from . import Size, Tensor, UntypedStorage, device, dtype, layout

__all__ = ["Number", "Device", "FileLike", "Storage"]

Number = _typing.Union[_builtins.int, _builtins.float, _builtins.bool]
Device = _typing.Union[device, str, _builtins.int, None]
FileLike = _typing.Union[str, _os.PathLike, _typing.IO[bytes]]
Storage = UntypedStorage
_bool, _device, _dtype, _float, _int, _layout, _size = _builtins.bool, device, dtype, _builtins.float, _builtins.int, layout, _typing.Union[Size, list, tuple]
_TensorOrTensors = _typing.Union[Tensor, _typing.Sequence[Tensor]]
