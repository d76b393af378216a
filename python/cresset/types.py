"""Names for annotations."""

import builtins as _builtins
import os as _os
import typing as _typing

from . import Size, Tensor, UntypedStorage, device

__all__ = ["Number", "Device", "FileLike", "Storage"]

Number = _typing.Union[_builtins.int, _builtins.float, _builtins.bool]
Device = _typing.Union[device, str, _builtins.int, None]
FileLike = _typing.Union[str, _os.PathLike, _typing.IO[bytes]]
Storage = UntypedStorage
