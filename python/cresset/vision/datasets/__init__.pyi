"""Images with classes, of local files."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from _cresset import _bool, _int, _str
from cresset.utils.data import Dataset

_Path = _str | os.PathLike[_str]
_Transform = Callable[[Any], Any] | None

class VisionDataset(Dataset[Any]):
    def __init__(
        self, root: _Path | None = None, transforms: Any = None, transform: _Transform = None,
        target_transform: _Transform = None,
    ) -> None: ...  # fmt: skip
    def __getitem__(self, index: Any) -> Any: ...
    def __len__(self) -> _int: ...
    def extra_repr(self) -> _str: ...

class CIFAR10(VisionDataset):
    base_folder: _str
    def __init__(
        self, root: _Path, train: _bool = True, transform: _Transform = None, target_transform: _Transform = None,
        download: _bool = False,
    ) -> None: ...  # fmt: skip
    def __getitem__(self, index: Any) -> Any: ...
    def __len__(self) -> _int: ...
    def extra_repr(self) -> _str: ...

class CIFAR100(CIFAR10):
    base_folder: _str

class DatasetFolder(VisionDataset):
    def __init__(
        self, root: _Path, loader: Callable[[_str], Any], extensions: _str | Sequence[_str] | None = None,
        transform: _Transform = None, target_transform: _Transform = None, is_valid_file: Callable[[_str], _bool] | None = None,
        allow_empty: _bool = False,
    ) -> None: ...  # fmt: skip
    @staticmethod
    def make_dataset(
        directory: _Path, class_to_idx: Any, extensions: _str | Sequence[_str] | None = None,
        is_valid_file: Callable[[_str], _bool] | None = None, allow_empty: _bool = False,
    ) -> Any: ...  # fmt: skip
    def find_classes(self, directory: _Path) -> tuple[list[_str], dict[_str, _int]]: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __len__(self) -> _int: ...

class MNIST(VisionDataset):
    classes: list[_str]
    def __init__(
        self, root: _Path, train: _bool = True, transform: _Transform = None, target_transform: _Transform = None,
        download: _bool = False,
    ) -> None: ...  # fmt: skip
    @property
    def raw_folder(self) -> _str: ...
    @property
    def class_to_idx(self) -> dict[_str, _int]: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __len__(self) -> _int: ...
    def extra_repr(self) -> _str: ...

class EMNIST(MNIST):
    splits: tuple[_str, ...]
    def __init__(self, root: _Path, split: _str, **kwargs: Any) -> None: ...

class FakeData(VisionDataset):
    def __init__(
        self, size: _int | Sequence[_int] = 1000, image_size: Sequence[_int] = ..., num_classes: _int = 10,
        transform: _Transform = None, target_transform: _Transform = None, random_offset: _int = 0,
    ) -> None: ...  # fmt: skip
    def __getitem__(self, index: Any) -> Any: ...
    def __len__(self) -> _int: ...

class FashionMNIST(MNIST):
    classes: list[_str]

class ImageFolder(DatasetFolder):
    def __init__(
        self, root: _Path, transform: _Transform = None, target_transform: _Transform = None, loader: Callable[[_str], Any] = ...,
        is_valid_file: Callable[[_str], _bool] | None = None, allow_empty: _bool = False,
    ) -> None: ...  # fmt: skip

class KMNIST(MNIST):
    classes: list[_str]

class QMNIST(MNIST):
    def __init__(self, root: _Path, what: _str | None = None, compat: _bool = True, train: _bool = True, **kwargs: Any) -> None: ...
    def extra_repr(self) -> _str: ...
