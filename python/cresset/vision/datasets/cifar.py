"""CIFAR10 and CIFAR100, of files that are there (https://www.cs.toronto.edu/~kriz/cifar.html: the Python version)."""

import os
import pickle

import numpy as np

from .vision import VisionDataset, as_image

__all__ = ["CIFAR10", "CIFAR100"]


class _DataUnpickler(pickle.Unpickler):
    """Makes arrays of NumPy and plain values, and nothing else: a file from a stranger runs no code."""

    _ALLOWED = {(home, name) for home in ("numpy.core.multiarray", "numpy._core.multiarray") for name in ("_reconstruct", "scalar")}
    _ALLOWED |= {("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")}

    def find_class(self, module, name):
        if (module, name) not in self._ALLOWED:
            raise pickle.UnpicklingError(f"refused to load {module}.{name}: only arrays and plain values are read")
        return super().find_class(module, name)


class CIFAR10(VisionDataset):
    """Photos of ten classes, 32 x 32: 50,000 for training, 10,000 for tests.

    Args:
        root: a folder with `cifar-10-batches-py`.
        train: whether the images are those for training.
        transform, target_transform: of images and classes.
        download: changes nothing: files that are there are used, and nothing is downloaded.

    Images are PIL's, or tensors (C, H, W) of bytes where PIL is not there, or `vision.set_image_backend("tensor")` said so.

    Errors: RuntimeError where the files are not there; ValueError for files that are damaged.

    >>> try:
    ...     torch.vision.datasets.CIFAR10("/nowhere")
    ... except RuntimeError as error:
    ...     print(error)
    CIFAR10: there is no /nowhere/cifar-10-batches-py/data_batch_1; Cresset downloads no data sets: put the files there
    """

    base_folder = "cifar-10-batches-py"
    _train, _test = tuple(f"data_batch_{i}" for i in range(1, 6)), ("test_batch",)
    _labels, _meta, _names = "labels", "batches.meta", "label_names"

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        super().__init__(os.fspath(root), transform=transform, target_transform=target_transform)
        self.train = train
        parts, self.targets = [], []
        for name in self._train if train else self._test:
            pixels, labels = self._batch(name)
            parts.append(pixels)
            self.targets.extend(labels)
        self.data = np.ascontiguousarray(np.concatenate(parts).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        self.classes = self._read(self._meta)[self._names]
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}

    def _read(self, name):
        path = os.path.join(self.root, self.base_folder, name)
        if not os.path.isfile(path):
            raise RuntimeError(f"{type(self).__name__}: there is no {path}; Cresset downloads no data sets: put the files there")
        with open(path, "rb") as file:
            try:
                return _DataUnpickler(file, encoding="latin1").load()
            except (pickle.UnpicklingError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError, MemoryError) as error:
                raise ValueError(f"{path}: damaged: {error}") from None

    def _batch(self, name):
        found = self._read(name)
        pixels, labels = (found.get("data"), found.get(self._labels)) if isinstance(found, dict) else (None, None)
        fits = (
            isinstance(pixels, np.ndarray)
            and pixels.dtype == np.uint8
            and pixels.shape[1:] == (3072,)
            and isinstance(labels, list)
            and len(labels) == len(pixels)
        )
        if not fits:
            raise ValueError(f"{os.path.join(self.root, self.base_folder, name)}: damaged: expected bytes (N, 3072) as 'data' and N {self._labels!r}")
        return pixels, labels

    def __getitem__(self, index):
        return self._given(as_image(self.data[index]), self.targets[index])

    def __len__(self):
        return len(self.data)

    def extra_repr(self):
        return f"Split: {'Train' if self.train else 'Test'}"


class CIFAR100(CIFAR10):
    """Photos of a hundred classes, in a folder `cifar-100-python`; else as CIFAR10.

    >>> torch.vision.datasets.CIFAR100.base_folder
    'cifar-100-python'
    """

    base_folder = "cifar-100-python"
    _train, _test = ("train",), ("test",)
    _labels, _meta, _names = "fine_labels", "meta", "fine_label_names"
