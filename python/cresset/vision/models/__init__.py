"""torchvision.models: networks for images, with torchvision's names of parameters, so that state dicts fit. Weights are downloaded
only with CRESSET_DOWNLOAD=1 in the environment.

    >>> model = torch.vision.models.mobilenet_v2(num_classes=10).eval()
    >>> model(torch.ones(1, 3, 32, 32)).shape
    torch.Size([1, 10])
"""

from . import alexnet as _alexnet, densenet, mobilenet, mobilenetv2, mobilenetv3, resnet, squeezenet, vgg
from ._registry import get_model, get_model_builder, list_models
from ._weights import Weights, WeightsEnum, get_model_weights, get_weight

_HOMES = (_alexnet, densenet, mobilenet, resnet, squeezenet, vgg)
for _home in _HOMES:
    globals().update({_name: getattr(_home, _name) for _name in _home.__all__})

__all__ = [
    "Weights",
    "WeightsEnum",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "list_models",
    *(name for home in _HOMES for name in home.__all__),
]
