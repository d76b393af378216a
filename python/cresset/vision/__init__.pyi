"""torchvision's names."""

from _cresset import _str

from . import datasets as datasets
from . import io as io
from . import models as models
from . import ops as ops
from . import transforms as transforms
from . import utils as utils

def set_image_backend(backend: _str | None) -> None: ...
def get_image_backend() -> _str: ...
