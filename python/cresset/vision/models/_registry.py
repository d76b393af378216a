"""The functions that build models: what they have in common, and the table of their names."""

import sys

from . import _weights

BUILDERS = {}
WEIGHTS = {}


def builder(module, name, text, count, make, defaults=()):
    """A function `name(*, weights=None, progress=True, **kwargs)` that calls `make` with the keywords, and `defaults` where there are none.

    `count` is the published number of parameters, which the docstring's example shows.
    """

    def build(*, weights=None, progress=True, **kwargs):
        if kwargs.pop("pretrained", False):
            weights = "IMAGENET1K_V1"
        config = {**dict(defaults), **kwargs}
        return make(**config) if weights is None else _weights.load(weights, enumeration, name, config, make, progress)

    build.__name__ = build.__qualname__ = name
    build.__module__ = module
    build.__doc__ = f"""{text}

    Args:
        weights: None, one of `get_model_weights("{name}")`, or its name; published weights are read from the cache of `torch.hub`, and downloaded only with
            CRESSET_DOWNLOAD=1 in the environment.
        progress: of a download.
        kwargs: for the class, `num_classes` (1000) among them.

    >>> with torch.device("meta"):
    ...     model = torch.vision.models.{name}()
    >>> sum(p.numel() for p in model.parameters())
    {count}
    """
    BUILDERS[name] = build
    enumeration = _weights.weights_of(module, name, count)
    if enumeration is not None:
        WEIGHTS[name] = enumeration
        sys.modules[module].__dict__[enumeration.__name__] = enumeration
        sys.modules[module].__all__.append(enumeration.__name__)
    return build


def list_models(include=None, exclude=None):
    """The names that `get_model` knows, sorted: those that match a pattern of `include` and none of `exclude`.

    >>> torch.vision.models.list_models(include="resnet*", exclude=["*5*", "*1"])
    ['resnet18', 'resnet34']
    """
    import fnmatch

    def matches(name, patterns):
        return any(fnmatch.fnmatchcase(name, p) for p in ([patterns] if isinstance(patterns, str) else patterns))

    return sorted(n for n in BUILDERS if (include is None or matches(n, include)) and (exclude is None or not matches(n, exclude)))


def get_model_builder(name):
    """The function that builds the model of a name. ValueError for a name that is unknown.

    >>> torch.vision.models.get_model_builder("ResNet18") is torch.vision.models.resnet18
    True
    """
    if name.lower() not in BUILDERS:
        raise ValueError(f"get_model_builder: unknown model {name!r}, expected one of {', '.join(sorted(BUILDERS))}")
    return BUILDERS[name.lower()]


def get_model(name, **config):
    """A model by name, built with keywords. ValueError for a name that is unknown.

    >>> torch.vision.models.get_model("squeezenet1_1", num_classes=7)(torch.ones(1, 3, 40, 40)).shape
    torch.Size([1, 7])
    """
    return get_model_builder(name)(**config)
