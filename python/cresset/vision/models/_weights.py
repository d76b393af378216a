"""Published weights of the models: what they are called, where they lie, and what images they want. They are read from the cache of `torch.hub`, where
PyTorch keeps them too; a download is attempted only where the environment says CRESSET_DOWNLOAD=1."""

import enum
import functools
import os
import re
import urllib.parse

import cresset as torch

_SITE = "https://download.pytorch.org/models/"
_CLASSES = 1000
# Of a model: the ends of its files' names, first and second version. The second was trained on images resized to 232.
_FILES = {
    "alexnet": ("owt-7be5be79",),
    "densenet121": ("a639ec97",),
    "densenet161": ("8d451a50",),
    "densenet169": ("b2777c0a",),
    "densenet201": ("c1103571",),
    "mobilenet_v2": ("b0353104", "7ebf99e0"),
    "mobilenet_v3_large": ("8738ca79", "5c1a4163"),
    "mobilenet_v3_small": ("047dcff4",),
    "resnet18": ("f37072fd",),
    "resnet34": ("b627a593",),
    "resnet50": ("0676ba61", "11ad3fa6"),
    "resnet101": ("63fe2227", "cd907fc2"),
    "resnet152": ("394f9c45", "f82ba261"),
    "resnext50_32x4d": ("7cdf4587", "1a0047aa"),
    "resnext101_32x8d": ("8ba56ff5", "110c445d"),
    "resnext101_64x4d": ("173b62eb",),
    "squeezenet1_0": ("b66bff10",),
    "squeezenet1_1": ("b8a52dc0",),
    "vgg11": ("8a719046",),
    "vgg11_bn": ("6002323d",),
    "vgg13": ("19584684",),
    "vgg13_bn": ("abd245e5",),
    "vgg16": ("397923af",),
    "vgg16_bn": ("6c64b313",),
    "vgg19": ("dcbb9e9d",),
    "vgg19_bn": ("c79401a0",),
    "wide_resnet50_2": ("95faca4d", "9ba9bcbe"),
    "wide_resnet101_2": ("32ee1156", "d733dc28"),
}
_PARTS = {"alexnet": "AlexNet", "bn": "BN", "densenet": "DenseNet", "large": "Large", "mobilenet": "MobileNet", "resnet": "ResNet", "resnext": "ResNeXt", "small": "Small",
          "squeezenet": "SqueezeNet", "vgg": "VGG", "wide": "Wide"}  # fmt: skip
_LEAST_SIZES = (("alexnet", 63), ("densenet", 29), ("vgg", 32), ("squeezenet1_0", 21), ("squeezenet1_1", 17))
# Files from before norm1 and conv2 were called so.
_OLD_KEY = re.compile(r"(denselayer\d+\.(?:norm|relu|conv))\.([12]\.)")

__all__ = ["Weights", "WeightsEnum", "get_model_weights", "get_weight"]


def _preparation(**options):
    from ..transforms._presets import ImageClassification  # wants NumPy, which models do not

    return ImageClassification(**options)


class Weights:
    """Where weights lie (`url`), how images are prepared for them (`transforms`, which makes the transform), and facts about them (`meta`).

    >>> weights = torch.vision.models.ResNet18_Weights.DEFAULT.value
    >>> weights.url.rpartition("/")[2], weights.meta["min_size"]
    ('resnet18-f37072fd.pth', (1, 1))
    """

    def __init__(self, url, transforms, meta):
        self.url, self.transforms, self.meta = url, transforms, meta

    def __eq__(self, other):
        return isinstance(other, Weights) and self.url == other.url

    def __hash__(self):
        return hash(self.url)


class WeightsEnum(enum.Enum):
    """The versions of the weights of one model; DEFAULT is the latest.

    >>> torch.vision.models.ResNet50_Weights.DEFAULT is torch.vision.models.ResNet50_Weights.IMAGENET1K_V2
    True
    """

    @classmethod
    def verify(cls, obj):
        """`obj` as one of these: None, a member, its name, or "DEFAULT". TypeError for a member of another model's, ValueError for an unknown name.

        >>> torch.vision.models.ResNet18_Weights.verify("IMAGENET1K_V1").name
        'IMAGENET1K_V1'
        """
        if obj is None or isinstance(obj, cls):
            return obj
        if not isinstance(obj, str):
            raise TypeError(f"Invalid Weight class provided; expected {cls.__name__} but received {type(obj).__name__}.")
        name = obj.removeprefix(f"{cls.__name__}.")
        if name not in cls.__members__:
            raise ValueError(f"{cls.__name__}: unknown weights {obj!r}, expected one of {', '.join(cls.__members__)}")
        return cls[name]

    def get_state_dict(self, progress=True, check_hash=False, *args, **kwargs):
        """The state dict, from the folder "checkpoints" of `torch.hub.get_dir()`.

        Args:
            progress, check_hash: of a download, which is attempted only with CRESSET_DOWNLOAD=1 in the environment.
            args, kwargs: for `torch.hub.load_state_dict_from_url`.

        Errors: FileNotFoundError, which names the file, where it is not there and downloads are not allowed.

        >>> try:
        ...     torch.vision.models.VGG11_Weights.DEFAULT.get_state_dict()
        ... except FileNotFoundError as error:
        ...     print(str(error)[:27])
        VGG11_Weights.IMAGENET1K_V1
        """
        folder = (args[0] if args else kwargs.get("model_dir")) or os.path.join(torch.hub.get_dir(), "checkpoints")
        path = os.path.join(folder, kwargs.get("file_name") or os.path.basename(urllib.parse.urlparse(self.url).path))
        if not os.path.exists(path) and os.getenv("CRESSET_DOWNLOAD", "0") != "1":
            raise FileNotFoundError(
                f"{self}: there is no {path}, and nothing is downloaded without being asked to: put {self.url} there, or set CRESSET_DOWNLOAD=1"
            )
        state = torch.hub.load_state_dict_from_url(self.url, *args, progress=progress, check_hash=check_hash, **{"weights_only": True, **kwargs})
        return {_OLD_KEY.sub(r"\1\2", key): value for key, value in state.items()}

    def __str__(self):
        return f"{type(self).__name__}.{self.name}"

    __repr__ = __str__

    @property
    def url(self):
        """Where the weights lie.

        >>> torch.vision.models.VGG16_Weights.DEFAULT.url.rpartition("/")[2]
        'vgg16-397923af.pth'
        """
        return self.value.url

    @property
    def transforms(self):
        """Makes what prepares an image for the model.

        >>> torch.vision.models.VGG16_Weights.DEFAULT.transforms()(torch.zeros(3, 300, 280, dtype=torch.uint8)).shape
        torch.Size([3, 224, 224])
        """
        return self.value.transforms

    @property
    def meta(self):
        """Facts: "min_size" of an image, "num_classes", "num_params".

        >>> torch.vision.models.VGG16_Weights.DEFAULT.meta["num_classes"]
        1000
        """
        return self.value.meta


def _enum_name(model):
    """`vgg16_bn` -> VGG16_BN_Weights."""

    def part(text):
        head = re.match(r"[a-z]*", text).group()
        return _PARTS.get(head, head) + text[len(head) :].upper() if head in _PARTS else text.upper() if text[0].isdigit() else text.capitalize()

    return "_".join(part(text) for text in model.split("_")) + "_Weights"


def weights_of(module, model, parameters):
    """The enumeration of the weights of a model, None where none are published. Its class is of `module`."""
    if model not in _FILES:
        return None
    members = {}
    for version, end in enumerate(_FILES[model], 1):
        transforms = functools.partial(_preparation, crop_size=224, **({"resize_size": 232} if version == 2 else {}))
        size = next((least for start, least in _LEAST_SIZES if model.startswith(start)), 1)
        meta = {"min_size": (size, size), "num_classes": _CLASSES, "num_params": parameters}
        members[f"IMAGENET1K_V{version}"] = Weights(f"{_SITE}{model}-{end}.pth", transforms, meta)
    members["DEFAULT"] = members[f"IMAGENET1K_V{len(_FILES[model])}"]
    found = WeightsEnum(_enum_name(model), members, module=module)
    found.__doc__ = f"""Weights of `{model}`, published for the {_CLASSES} classes of ImageNet.

    >>> torch.vision.models.{found.__name__}.verify("DEFAULT").name
    '{found.DEFAULT.name}'
    """
    return found


def load(weights, enumeration, name, config, make, progress):
    """The model that `make` makes of the keywords `config`, with weights."""
    if enumeration is None:
        raise ValueError(f"{name}: no weights are published for it, got weights={weights!r}, expected None")
    weights = enumeration.verify(weights)
    if config.setdefault("num_classes", _CLASSES) != _CLASSES:
        raise ValueError(f"The parameter 'num_classes' expected value {_CLASSES} but got {config['num_classes']} instead.")
    state = weights.get_state_dict(progress=progress)
    model = make(**config)
    model.load_state_dict(state)
    return model


def get_weight(name):
    """The weights of a full name. ValueError for a name that is unknown.

    >>> torch.vision.models.get_weight("ResNet50_Weights.IMAGENET1K_V2").name
    'IMAGENET1K_V2'
    """
    from ._registry import WEIGHTS

    kind, _, version = name.partition(".")
    found = {enumeration.__name__: enumeration for enumeration in WEIGHTS.values()}
    if not version or kind not in found:
        raise ValueError(f"get_weight: unknown weights {name!r}, expected a name such as 'ResNet50_Weights.IMAGENET1K_V2'")
    return found[kind].verify(version)


def get_model_weights(name):
    """The enumeration of the weights of a model, which is given by its name or the function that builds it. ValueError where there is none.

    >>> list(torch.vision.models.get_model_weights("resnet50"))
    [ResNet50_Weights.IMAGENET1K_V1, ResNet50_Weights.IMAGENET1K_V2]
    """
    from ._registry import WEIGHTS

    key = name.__name__ if callable(name) else name
    if key.lower() not in WEIGHTS:
        raise ValueError(f"get_model_weights: unknown model {key!r}, expected one of {', '.join(sorted(WEIGHTS))}")
    return WEIGHTS[key.lower()]
