"""MobileNet found by search: https://arxiv.org/abs/1905.02244."""

import functools

import cresset as torch
from cresset import nn

from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ._registry import builder
from .mobilenetv2 import make_divisible

__all__ = ["MobileNetV3", "mobilenet_v3_large", "mobilenet_v3_small"]


class InvertedResidualConfig:
    """Settings of one block: a row of the paper's tables 1 and 2, its channels times `width_mult`.

    >>> row = torch.vision.models.mobilenetv3.InvertedResidualConfig(16, 3, 64, 24, False, "RE", 2, 1, 1.0)
    >>> row.expanded_channels, row.use_hs
    (64, False)
    """

    def __init__(self, input_channels, kernel, expanded_channels, out_channels, use_se, activation, stride, dilation, width_mult):
        self.input_channels, self.expanded_channels, self.out_channels = (
            self.adjust_channels(channels, width_mult) for channels in (input_channels, expanded_channels, out_channels)
        )
        self.kernel, self.use_se, self.use_hs, self.stride, self.dilation = kernel, use_se, activation == "HS", stride, dilation

    @staticmethod
    def adjust_channels(channels, width_mult):
        return make_divisible(channels * width_mult, 8)


class InvertedResidual(nn.Module):
    """One block of MobileNet, version 3.

    >>> row = torch.vision.models.mobilenetv3.InvertedResidualConfig(16, 5, 64, 24, True, "HS", 2, 1, 1.0)
    >>> torch.vision.models.mobilenetv3.InvertedResidual(row, torch.nn.BatchNorm2d)(torch.ones(1, 16, 6, 6)).shape
    torch.Size([1, 24, 3, 3])
    """

    def __init__(self, cnf, norm_layer, se_layer=functools.partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid)):
        super().__init__()
        if cnf.stride not in (1, 2):
            raise ValueError(f"InvertedResidual: stride is 1 or 2, got {cnf.stride}")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        activation, wide = nn.Hardswish if cnf.use_hs else nn.ReLU, cnf.expanded_channels
        layers = []
        if wide != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, wide, 1, norm_layer=norm_layer, activation_layer=activation))
        stride = 1 if cnf.dilation > 1 else cnf.stride
        layers.append(Conv2dNormActivation(wide, wide, cnf.kernel, stride, groups=wide, norm_layer=norm_layer, activation_layer=activation,
                                           dilation=cnf.dilation))  # fmt: skip
        if cnf.use_se:
            layers.append(se_layer(wide, make_divisible(wide // 4, 8)))
        layers.append(Conv2dNormActivation(wide, cnf.out_channels, 1, norm_layer=norm_layer, activation_layer=None))
        self.block = nn.Sequential(*layers)
        self.out_channels = cnf.out_channels

    def forward(self, input):
        return input + self.block(input) if self.use_res_connect else self.block(input)


class MobileNetV3(nn.Module):
    """MobileNet, version 3.

    Args:
        inverted_residual_setting: an InvertedResidualConfig for each block.
        last_channel: how many channels the linear layer before the last has.
        num_classes: how many numbers come out.
        block, norm_layer: make blocks and normalisations.
        dropout: which part of the last layer's inputs is dropped in training.

    >>> row = torch.vision.models.mobilenetv3.InvertedResidualConfig(16, 3, 16, 16, True, "RE", 2, 1, 1.0)
    >>> net = torch.vision.models.MobileNetV3([row], 32, num_classes=5)
    >>> net(torch.ones(2, 3, 32, 32)).shape
    torch.Size([2, 5])
    """

    def __init__(self, inverted_residual_setting, last_channel, num_classes=1000, block=None, norm_layer=None, dropout=0.2):
        super().__init__()
        rows = list(inverted_residual_setting)
        if not rows:
            raise ValueError("MobileNetV3: inverted_residual_setting is empty, expected at least one block")
        if not all(isinstance(row, InvertedResidualConfig) for row in rows):
            raise TypeError("MobileNetV3: inverted_residual_setting is a list of InvertedResidualConfig")
        block = block or InvertedResidual
        norm_layer = norm_layer or functools.partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        common = {"norm_layer": norm_layer, "activation_layer": nn.Hardswish}
        before, wide = rows[-1].out_channels, 6 * rows[-1].out_channels
        self.features = nn.Sequential(
            Conv2dNormActivation(3, rows[0].input_channels, stride=2, **common),
            *(block(row, norm_layer) for row in rows),
            Conv2dNormActivation(before, wide, 1, **common),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(wide, last_channel), nn.Hardswish(inplace=True), nn.Dropout(dropout, inplace=True), nn.Linear(last_channel, num_classes)
        )
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
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


# Kernel, expanded channels, channels out, gate, activation, stride.
_LARGE = (
    (3, 16, 16, False, "RE", 1), (3, 64, 24, False, "RE", 2), (3, 72, 24, False, "RE", 1), (5, 72, 40, True, "RE", 2),
    (5, 120, 40, True, "RE", 1), (5, 120, 40, True, "RE", 1), (3, 240, 80, False, "HS", 2), (3, 200, 80, False, "HS", 1),
    (3, 184, 80, False, "HS", 1), (3, 184, 80, False, "HS", 1), (3, 480, 112, True, "HS", 1), (3, 672, 112, True, "HS", 1),
    (5, 672, 160, True, "HS", 2), (5, 960, 160, True, "HS", 1), (5, 960, 160, True, "HS", 1),
)  # fmt: skip
_SMALL = (
    (3, 16, 16, True, "RE", 2), (3, 72, 24, False, "RE", 2), (3, 88, 24, False, "RE", 1), (5, 96, 40, True, "HS", 2),
    (5, 240, 40, True, "HS", 1), (5, 240, 40, True, "HS", 1), (5, 120, 48, True, "HS", 1), (5, 144, 48, True, "HS", 1),
    (5, 288, 96, True, "HS", 2), (5, 576, 96, True, "HS", 1), (5, 576, 96, True, "HS", 1),
)  # fmt: skip


def _mobilenet(rows, last_channel, width_mult=1.0, reduced_tail=False, dilated=False, **kwargs):
    """The last three blocks are the tail: it may have half the channels, and dilate instead of halving the size."""
    shrink, blocks, before = 2 if reduced_tail else 1, [], 16
    for i, (kernel, wide, out, gate, activation, stride) in enumerate(rows):
        tail = i >= len(rows) - 3
        out = out // shrink if tail else out
        wide = wide // shrink if i >= len(rows) - 2 else wide
        blocks.append(InvertedResidualConfig(before, kernel, wide, out, gate, activation, stride, 2 if tail and dilated else 1, width_mult))
        before = out
    return MobileNetV3(blocks, InvertedResidualConfig.adjust_channels(last_channel // shrink, width_mult), **kwargs)


mobilenet_v3_large = builder(__name__, "mobilenet_v3_large", "MobileNet, version 3, large.", 5483032, functools.partial(_mobilenet, _LARGE, 1280))
mobilenet_v3_small = builder(__name__, "mobilenet_v3_small", "MobileNet, version 3, small.", 2542856, functools.partial(_mobilenet, _SMALL, 1024))
