"""MNIST and datasets in its format, of files that are there (http://yann.lecun.com/exdb/mnist: idx files)."""

import gzip
import os
import zlib

import numpy as np

import cresset as torch

from .vision import VisionDataset, as_image

__all__ = ["EMNIST", "FashionMNIST", "KMNIST", "MNIST", "QMNIST"]

_DTYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_idx(path):
    """A tensor of an idx file, plain or gzip. ValueError for a file whose bytes do not fit its header.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "labels")
    >>> with open(path, "wb") as file:
    ...     _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
    >>> torch.vision.datasets.mnist.read_idx(path)
    tensor([7, 8, 9], dtype=torch.uint8)
    """
    path = os.fspath(path)
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    with (gzip.open if zipped else open)(path, "rb") as file:
        try:
            head = file.read(4)
            if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _DTYPES or head[3] == 0:
                raise ValueError(f"{path}: no idx file, which begins with two zeros, a kind and a number of dimensions, got {head!r}")
            sizes = file.read(4 * head[3])
            shape = [int(n) for n in np.frombuffer(sizes, ">u4", len(sizes) // 4)]
            if len(shape) < head[3]:
                raise ValueError(f"{path}: ends within its header")
            dtype = np.dtype(_DTYPES[head[2]])
            expected = dtype.itemsize
            for n in shape:
                expected *= n
            parts, left = [], expected + 1
            while left and (part := file.read(min(left, 1 << 24))):
                parts.append(part)
                left -= len(part)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{path}: damaged gzip file: {error}") from None
    if left != 1:
        raise ValueError(f"{path}: expected {expected} bytes for the shape {tuple(shape)}, got {'more' if left == 0 else expected + 1 - left}")
    return torch.from_numpy(np.frombuffer(b"".join(parts), dtype).astype(dtype.newbyteorder("=")).reshape(shape))


class MNIST(VisionDataset):
    """Handwritten digits, 28 x 28: 60,000 for training, 10,000 for tests.

    Args:
        root: a folder with `MNIST/raw`, or with `raw`, or with the files themselves, plain or with .gz: train-images-idx3-ubyte and so on.
        train: whether the images are those for training.
        transform, target_transform: of images and classes.
        download: changes nothing: files that are there are used, and nothing is downloaded.

    Images are PIL's, or tensors (C, H, W) of bytes where PIL is not there, or `vision.set_image_backend("tensor")` said so.

    Errors: RuntimeError where the files are not there, and names the folders; ValueError for files that are damaged.

    >>> try:
    ...     torch.vision.datasets.MNIST("/nowhere")
    ... except RuntimeError as error:
    ...     print(str(error).partition(" in ")[0])
    MNIST: there is no train-images-idx3-ubyte, nor one with .gz,
    """

    classes = ["0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven", "8 - eight", "9 - nine"]

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        super().__init__(os.fspath(root), transform=transform, target_transform=target_transform)
        self.train = train
        self.data, self.targets = self._load()
        if self.data.dim() != 3 or self.data.dtype != torch.uint8 or len(self.data) != len(self.targets):
            found = f"{tuple(self.data.shape)} of {self.data.dtype} and {tuple(self.targets.shape)}"
            raise ValueError(f"{type(self).__name__}: expected bytes (N, H, W) and N labels, got {found}")

    @property
    def raw_folder(self):
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def class_to_idx(self):
        return {name: i for i, name in enumerate(self.classes)}

    def _names(self):
        split = "train" if self.train else "t10k"
        return f"{split}-images-idx3-ubyte", f"{split}-labels-idx1-ubyte"

    def _read(self, name):
        folders = [self.raw_folder, os.path.join(self.root, "raw"), self.root]
        for folder in folders:
            for path in (os.path.join(folder, name), os.path.join(folder, name + ".gz")):
                if os.path.isfile(path):
                    return read_idx(path)
        raise RuntimeError(
            f"{type(self).__name__}: there is no {name}, nor one with .gz, in {', '.join(folders)}; Cresset downloads no data sets: put the files there"
        )

    def _load(self):
        images, labels = self._names()
        return self._read(images), self._read(labels).long()

    def __getitem__(self, index):
        return self._given(as_image(self.data[index].numpy()), self._target(index))

    def _target(self, index):
        return int(self.targets[index])

    def __len__(self):
        return len(self.data)

    def extra_repr(self):
        return f"Split: {'Train' if self.train else 'Test'}"


class FashionMNIST(MNIST):
    """Clothes in the format of MNIST, in `FashionMNIST/raw` (https://arxiv.org/abs/1708.07747).

    >>> torch.vision.datasets.FashionMNIST.classes[:2]
    ['T-shirt/top', 'Trouser']
    """

    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


class KMNIST(MNIST):
    """Old Japanese letters in the format of MNIST, in `KMNIST/raw` (https://arxiv.org/abs/1812.01718).

    >>> torch.vision.datasets.KMNIST.classes[:3]
    ['o', 'ki', 'su']
    """

    classes = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]


class EMNIST(MNIST):
    """Handwritten digits and letters in the format of MNIST, in `EMNIST/raw` (https://arxiv.org/abs/1702.05373).

    Args:
        root, kwargs: as of MNIST.
        split: "byclass", "bymerge", "balanced", "letters", "digits" or "mnist".

    >>> torch.vision.datasets.EMNIST.splits
    ('byclass', 'bymerge', 'balanced', 'letters', 'digits', 'mnist')
    """

    splits = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")
    _DIGITS, _UPPER, _LOWER = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
    # The letters whose small form is counted as the capital.
    _MERGED = "cijklmopsuvwxyz"

    def __init__(self, root, split, **kwargs):
        if split not in self.splits:
            raise ValueError(f"EMNIST: split is one of {', '.join(self.splits)}, got {split!r}")
        self.split = split
        every = sorted(self._DIGITS + self._UPPER + self._LOWER)
        merged = [letter for letter in every if letter not in self._MERGED]
        self.classes = {"byclass": every, "bymerge": merged, "balanced": merged, "letters": ["N/A", *self._LOWER],
                        "digits": list(self._DIGITS), "mnist": list(self._DIGITS)}[split]  # fmt: skip
        super().__init__(root, **kwargs)

    def _names(self):
        return tuple(f"emnist-{self.split}-{'train' if self.train else 'test'}-{what}" for what in ("images-idx3-ubyte", "labels-idx1-ubyte"))


class QMNIST(MNIST):
    """MNIST with its 60,000 test images found again, and where each image comes from; in `QMNIST/raw` (https://arxiv.org/abs/1905.10498).

    Args:
        root, kwargs: as of MNIST.
        what: "train", "test", "test10k", "test50k" or "nist"; None: as train says.
        compat: whether targets are classes alone, and not all eight numbers of an image.

    >>> try:
    ...     torch.vision.datasets.QMNIST("/nowhere", what="all")
    ... except ValueError as error:
    ...     print(error)
    QMNIST: what is one of train, test, test10k, test50k, nist, got 'all'
    """

    _FILES = {"train": "train", "test": "test", "test10k": "test", "test50k": "test", "nist": "xnist"}

    def __init__(self, root, what=None, compat=True, train=True, **kwargs):
        what = what or ("train" if train else "test")
        if what not in self._FILES:
            raise ValueError(f"QMNIST: what is one of {', '.join(self._FILES)}, got {what!r}")
        self.what, self.compat = what, compat
        super().__init__(root, train, **kwargs)

    def _names(self):
        name = self._FILES[self.what]
        return (
            (f"qmnist-{name}-images-idx3-ubyte", f"qmnist-{name}-labels-idx2-int") if name != "xnist" else ("xnist-images-idx3-ubyte", "xnist-labels-idx2-int")
        )

    def _load(self):
        images, labels = super()._load()
        part = {"test10k": slice(0, 10000), "test50k": slice(10000, None)}.get(self.what, slice(None))
        return images[part], labels[part]

    def _target(self, index):
        return int(self.targets[index][0]) if self.compat else self.targets[index]

    def extra_repr(self):
        return f"Split: {self.what}"
