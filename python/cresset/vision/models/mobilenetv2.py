"""Inverted residuals and linear bottlenecks: https://arxiv.org/abs/1801.04381."""

import cresset as torch
from cresset import nn
from cresset.nn import functional as F

from ..ops.misc import Conv2dNormActivation
from ._registry import builder

__all__ = ["MobileNetV2", "mobilenet_v2"]

# Of each stage: how many times the channels are expanded, channels, blocks, stride of the first (table 2 of the paper).
_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def make_divisible(value, divisor, min_value=None):
    """The multiple of `divisor` nearest to `value`, at least `min_value` and not less than nine tenths of `value`: how many channels there are.

    >>> from cresset.vision.models.mobilenetv2 import make_divisible
    >>> make_divisible(37, 8), make_divisible(10, 8), make_divisible(3, 8)
    (40, 16, 8)
    """
    rounded = max(divisor if min_value is None else min_value, int(value + divisor / 2) // divisor * divisor)
    return rounded if rounded >= 0.9 * value else rounded + divisor


class InvertedResidual(nn.Module):
    """Expands channels, filters each, narrows them, and adds the input where that has the same shape.

    >>> torch.vision.models.mobilenetv2.InvertedResidual(8, 8, 1, 6)(torch.ones(1, 8, 5, 5)).shape
    torch.Size([1, 8, 5, 5])
    """

    def __init__(self, inp, oup, stride, expand_ratio, norm_layer=None):
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"InvertedResidual: stride is 1 or 2, got {stride}")
        norm_layer = norm_layer or nn.BatchNorm2d
        hidden = int(round(inp * expand_ratio))
        layers = []
        if expand_ratio != 1:
            layers.append(Conv2dNormActivation(inp, hidden, 1, norm_layer=norm_layer, activation_layer=nn.ReLU6))
        layers.append(Conv2dNormActivation(hidden, hidden, stride=stride, groups=hidden, norm_layer=norm_layer, activation_layer=nn.ReLU6))
        self.conv = nn.Sequential(*layers, nn.Conv2d(hidden, oup, 1, bias=False), norm_layer(oup))
        self.stride, self.out_channels = stride, oup
        self.use_res_connect = stride == 1 and inp == oup

    def forward(self, x):
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """MobileNet, version 2.

    Args:
        num_classes: how many numbers come out.
        width_mult: multiplies the channels of all layers, the last only upwards.
        inverted_residual_setting: of each stage (expansion, channels, blocks, stride); None: the paper's.
        round_nearest: channels are multiples of it.
        block: makes blocks, as InvertedResidual does.
        norm_layer: makes the normalisation of a number of channels.
        dropout: which part of the last layer's inputs is dropped in training.

    >>> net = torch.vision.models.MobileNetV2(num_classes=5, width_mult=0.25)
    >>> net(torch.ones(2, 3, 32, 32)).shape
    torch.Size([2, 5])
    """

    def __init__(self, num_classes=1000, width_mult=1.0, inverted_residual_setting=None, round_nearest=8, block=None, norm_layer=None, dropout=0.2):
        super().__init__()
        stages = _STAGES if inverted_residual_setting is None else inverted_residual_setting
        if not stages or any(len(stage) != 4 for stage in stages):
            raise ValueError(f"MobileNetV2: inverted_residual_setting has four numbers a stage, got {inverted_residual_setting}")
        block, norm_layer = block or InvertedResidual, norm_layer or nn.BatchNorm2d
        common = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        channels = make_divisible(32 * width_mult, round_nearest)
        self.last_channel = make_divisible(1280 * max(1.0, width_mult), round_nearest)
        layers = [Conv2dNormActivation(3, channels, stride=2, **common)]
        for expansion, width, count, stride in stages:
            out = make_divisible(width * width_mult, round_nearest)
            for i in range(count):
                layers.append(block(channels, out, stride if i == 0 else 1, expand_ratio=expansion, norm_layer=norm_layer))
                channels = out
        layers.append(Conv2dNormActivation(channels, self.last_channel, 1, **common))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(self.last_channel, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.ones_(module.weight)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
            if isinstance(module, (nn.Conv2d, nn.BatchNorm2d, nn.GroupNorm, nn.Linear)) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(torch.flatten(F.adaptive_avg_pool2d(self.features(x), (1, 1)), 1))


mobilenet_v2 = builder(__name__, "mobilenet_v2", "MobileNet, version 2.", 3504872, MobileNetV2)
