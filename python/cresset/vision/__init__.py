"""torchvision's names: models, transforms, datasets, files of images and pictures. `python -m cresset` and `compat.install()` bind `torchvision` to this package.

    >>> model = torch.vision.models.resnet18(num_classes=10).eval()
    >>> model(torch.ones(1, 3, 32, 32)).shape
    torch.Size([1, 10])
"""

import importlib as _importlib

from cresset import __version__  # noqa: F401

_SUBMODULES = ("datasets", "io", "models", "ops", "transforms", "utils")


def __getattr__(name):
    if name in _SUBMODULES:
        return _importlib.import_module(f"{__name__}.{name}")
    from cresset import _missing

    raise _missing.error(__name__, name)
