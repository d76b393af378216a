"""Networks of few parameters: https://arxiv.org/abs/1602.07360."""

import cresset as torch
from cresset import nn

from ._registry import builder

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]


class Fire(nn.Module):
    """A 1 x 1 convolution to few channels, then 1 x 1 and 3 x 3 ones side by side.

    >>> torch.vision.models.squeezenet.Fire(4, 2, 8, 16)(torch.ones(1, 4, 5, 5)).shape
    torch.Size([1, 24, 5, 5])
    """

    def __init__(self, inplanes, squeeze_planes, expand1x1_planes, expand3x3_planes):
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, 1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, 1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, 3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.squeeze_activation(self.squeeze(x))
        return torch.cat([self.expand1x1_activation(self.expand1x1(x)), self.expand3x3_activation(self.expand3x3(x))], 1)


# (channels in the squeeze, channels of each expansion) of the Fire modules, "pool" where the size halves.
_STEMS = {"1_0": (96, 7), "1_1": (64, 3)}
_FIRES = {
    "1_0": [(16, 64), (16, 64), (32, 128), "pool", (32, 128), (48, 192), (48, 192), (64, 256), "pool", (64, 256)],
    "1_1": [(16, 64), (16, 64), "pool", (32, 128), (32, 128), "pool", (48, 192), (48, 192), (64, 256), (64, 256)],
}


class SqueezeNet(nn.Module):
    """SqueezeNet of a version, "1_0" or "1_1".

    >>> net = torch.vision.models.SqueezeNet("1_1", num_classes=5)
    >>> net(torch.ones(1, 3, 40, 40)).shape
    torch.Size([1, 5])
    """

    def __init__(self, version="1_0", num_classes=1000, dropout=0.5):
        super().__init__()
        if version not in _FIRES:
            raise ValueError(f"SqueezeNet: unknown version {version!r}, expected '1_0' or '1_1'")
        self.num_classes = num_classes
        channels, size = _STEMS[version]
        layers = [nn.Conv2d(3, channels, size, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, ceil_mode=True)]
        for fire in _FIRES[version]:
            if fire == "pool":
                layers.append(nn.MaxPool2d(3, 2, ceil_mode=True))
                continue
            squeezed, expanded = fire
            layers.append(Fire(channels, squeezed, expanded, expanded))
            channels = 2 * expanded
        self.features = nn.Sequential(*layers)
        last = nn.Conv2d(512, num_classes, 1)
        self.classifier = nn.Sequential(nn.Dropout(dropout), last, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1)))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                if module is last:
                    nn.init.normal_(module.weight, 0.0, 0.01)
                else:
                    nn.init.kaiming_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return torch.flatten(self.classifier(self.features(x)), 1)


squeezenet1_0 = builder(__name__, "squeezenet1_0", "SqueezeNet 1.0.", 1248424, lambda **kwargs: SqueezeNet("1_0", **kwargs))
squeezenet1_1 = builder(__name__, "squeezenet1_1", "SqueezeNet 1.1, of less than half the work of 1.0.", 1235496, lambda **kwargs: SqueezeNet("1_1", **kwargs))
