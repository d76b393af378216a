"""torchvision's names: models, transforms, datasets, files of images and pictures. `python -m cresset` and `compat.install()` bind `torchvision` to this package.

>>> model = torch.vision.models.resnet18(num_classes=10).eval()
>>> model(torch.ones(1, 3, 32, 32)).shape
torch.Size([1, 10])
"""

import importlib as _importlib
import importlib.util

from cresset import __version__  # noqa: F401

_SUBMODULES = ("datasets", "io", "models", "ops", "transforms", "utils")

_backend = None


def set_image_backend(backend):
    """Kind of the images of datasets: "PIL", or "tensor": (C, H, W) of bytes.

    >>> torch.vision.set_image_backend("tensor")
    >>> torch.vision.get_image_backend()
    'tensor'
    >>> torch.vision.set_image_backend(None)  # as it was
    """
    global _backend
    if backend not in ("PIL", "tensor", None):
        raise ValueError(f"set_image_backend: the backend is 'PIL' or 'tensor', got {backend!r}")
    _backend = backend


def get_image_backend():
    """Kind of the images of datasets; unless it was set "PIL" where PIL is installed, else "tensor".

    >>> torch.vision.get_image_backend() in ("PIL", "tensor")
    True
    """
    if _backend is not None:
        return _backend
    return "PIL" if _importlib.util.find_spec("PIL") else "tensor"
