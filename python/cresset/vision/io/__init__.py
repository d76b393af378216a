"""torchvision.io: images of files and back. PNG and JPEG; an error names what else a file is, and what to install where the codecs are not there.

>>> image = torch.arange(12, dtype=torch.uint8).view(3, 2, 2)
>>> bool((torch.vision.io.decode_image(torch.vision.io.encode_png(image)) == image).all())
True
"""

from . import image
from .image import *  # noqa: F403

__all__ = image.__all__
