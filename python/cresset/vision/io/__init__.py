"""torchvision.io: images of files and back. PNG and JPEG; an error names what else a file is, and what to install where the codecs are not there.

>>> image = torch.arange(12, dtype=torch.uint8).view(3, 2, 2)
>>> bool((torch.vision.io.decode_image(torch.vision.io.encode_png(image)) == image).all())
True
"""

from . import image
from .image import *  # noqa: F403

__all__ = image.__all__


def __getattr__(name):
    from cresset._core import missing as _missing

    return _missing.found(__name__, name)
