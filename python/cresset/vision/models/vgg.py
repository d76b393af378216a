"""Plain networks of 3 x 3 convolutions: https://arxiv.org/abs/1409.1556."""

import cresset as torch
from cresset import nn

from ._registry import builder

__all__ = ["VGG", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn"]

_CHANNELS = (64, 128, 256, 512, 512)


class VGG(nn.Module):
    """Convolutions, then three linear layers.

    Args:
        features: the module of the convolutions, with 512 channels at its end.
        num_classes: how many numbers come out.
        init_weights: whether to start from the distributions of the paper's later versions.
        dropout: which part of the linear layers' inputs is dropped in training.

    >>> with torch.device("meta"):
    ...     net = torch.vision.models.VGG(torch.nn.Conv2d(3, 512, 3), num_classes=5)
    >>> net(torch.ones(1, 3, 32, 32, device="meta")).shape
    torch.Size([1, 5])
    """

    def __init__(self, features, num_classes=1000, init_weights=True, dropout=0.5):
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096), nn.ReLU(True), nn.Dropout(dropout),
            nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(dropout),
            nn.Linear(4096, num_classes),
        )  # fmt: skip
        if init_weights:
            self._init_weights()

    def _init_weights(self):
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
            if isinstance(module, (nn.Conv2d, nn.BatchNorm2d, nn.Linear)) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


def make_layers(cfg, batch_norm=False):
    """The convolutions of a VGG: a number of `cfg` is a 3x3 convolution of as many channels and a ReLU, "M" halves the image by a maximum.

    >>> torch.vision.models.vgg.make_layers([8, "M"])(torch.ones(1, 3, 4, 4)).shape
    torch.Size([1, 8, 2, 2])
    """
    layers, before = [], 3
    for channels in cfg:
        if channels == "M":
            layers.append(nn.MaxPool2d(2, 2))
            continue
        layers.append(nn.Conv2d(before, channels, 3, padding=1))
        if batch_norm:
            layers.append(nn.BatchNorm2d(channels))
        layers.append(nn.ReLU(inplace=True))
        before = channels
    return nn.Sequential(*layers)


def _vgg(depth, counts, parameters, batch_norm=False):
    text = f"VGG of {depth} layers{' with batch normalisation' if batch_norm else ''}."
    name = f"vgg{depth}{'_bn' if batch_norm else ''}"
    cfg = [size for channels, count in zip(_CHANNELS, counts) for size in (*(channels,) * count, "M")]
    return builder(__name__, name, text, parameters, lambda **kwargs: VGG(make_layers(cfg, batch_norm), **kwargs))


vgg11 = _vgg(11, (1, 1, 2, 2, 2), 132863336)
vgg11_bn = _vgg(11, (1, 1, 2, 2, 2), 132868840, True)
vgg13 = _vgg(13, (2, 2, 2, 2, 2), 133047848)
vgg13_bn = _vgg(13, (2, 2, 2, 2, 2), 133053736, True)
vgg16 = _vgg(16, (2, 2, 3, 3, 3), 138357544)
vgg16_bn = _vgg(16, (2, 2, 3, 3, 3), 138365992, True)
vgg19 = _vgg(19, (2, 2, 4, 4, 4), 143667240)
vgg19_bn = _vgg(19, (2, 2, 4, 4, 4), 143678248, True)
