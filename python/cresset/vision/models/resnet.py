"""Residual networks: https://arxiv.org/abs/1512.03385, with groups https://arxiv.org/abs/1611.05431, wide https://arxiv.org/abs/1605.07146."""

import cresset as torch
from cresset import nn

from ._registry import builder

__all__ = ["ResNet", "resnet101", "resnet152", "resnet18", "resnet34", "resnet50", "resnext101_32x8d", "resnext101_64x4d", "resnext50_32x4d",
           "wide_resnet101_2", "wide_resnet50_2"]  # fmt: skip


def conv3x3(in_planes, out_planes, stride=1, groups=1, dilation=1):
    """A 3 x 3 convolution without bias that keeps the size at stride 1.

    >>> torch.vision.models.resnet.conv3x3(3, 8)(torch.ones(1, 3, 5, 5)).shape
    torch.Size([1, 8, 5, 5])
    """
    return nn.Conv2d(in_planes, out_planes, 3, stride, dilation, dilation, groups, bias=False)


def conv1x1(in_planes, out_planes, stride=1):
    """A 1 x 1 convolution without bias.

    >>> torch.vision.models.resnet.conv1x1(3, 8, stride=2)(torch.ones(1, 3, 5, 5)).shape
    torch.Size([1, 8, 3, 3])
    """
    return nn.Conv2d(in_planes, out_planes, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions beside the identity, or beside `downsample`.

    >>> block = torch.vision.models.resnet.BasicBlock(4, 4)
    >>> block(torch.ones(1, 4, 5, 5)).shape
    torch.Size([1, 4, 5, 5])
    """

    expansion = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None):
        super().__init__()
        if groups != 1 or base_width != 64:
            raise ValueError(f"BasicBlock: has one group of width 64 only, got groups={groups}, base_width={base_width}")
        if dilation > 1:
            raise NotImplementedError(f"BasicBlock: has dilation 1 only, got {dilation}")
        norm_layer = norm_layer or nn.BatchNorm2d
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    """A 3 x 3 convolution of few channels between two of 1 x 1, beside the identity or `downsample`. The stride is that of the 3 x 3 one.

    >>> block = torch.vision.models.resnet.Bottleneck(16, 4)
    >>> block(torch.ones(1, 16, 5, 5)).shape
    torch.Size([1, 16, 5, 5])
    """

    expansion = 4

    def __init__(self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        out = self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))))
        out = self.bn3(self.conv3(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """A residual network: a stem, four stages of blocks, a mean and a linear layer.

    Args:
        block: BasicBlock, Bottleneck or a class like them.
        layers: how many blocks each of the four stages has.
        num_classes: how many numbers come out.
        zero_init_residual: start with blocks that are identities.
        groups, width_per_group: of the 3 x 3 convolutions of Bottleneck.
        replace_stride_with_dilation: of the last three stages, whether they keep the size and dilate instead.
        norm_layer: makes the normalisation of a number of channels.

    >>> net = torch.vision.models.ResNet(torch.vision.models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=5)
    >>> net(torch.ones(2, 3, 32, 32)).shape
    torch.Size([2, 5])
    """

    def __init__(self, block, layers, num_classes=1000, zero_init_residual=False, groups=1, width_per_group=64,
                 replace_stride_with_dilation=None, norm_layer=None):  # fmt: skip
        super().__init__()
        dilated = [False, False, False] if replace_stride_with_dilation is None else replace_stride_with_dilation
        if len(dilated) != 3:
            raise ValueError(f"ResNet: replace_stride_with_dilation is None or has 3 elements, got {replace_stride_with_dilation}")
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation, self.groups, self.base_width = 64, 1, groups, width_per_group
        self.conv1 = nn.Conv2d(3, self.inplanes, 7, 2, 3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        for i, (count, dilate) in enumerate(zip(layers, [False, *dilated])):
            setattr(self, f"layer{i + 1}", self._make_layer(block, 64 << i, count, 1 if i == 0 else 2, dilate))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._init_weights(zero_init_residual)

    def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
        before = self.dilation
        if dilate:
            self.dilation, stride = self.dilation * stride, 1
        downsample, out = None, planes * block.expansion
        if stride != 1 or self.inplanes != out:
            downsample = nn.Sequential(conv1x1(self.inplanes, out, stride), self._norm_layer(out))
        made = [block(self.inplanes, planes, stride, downsample, self.groups, self.base_width, before, self._norm_layer)]
        self.inplanes = out
        for _ in range(1, blocks):
            made.append(block(out, planes, groups=self.groups, base_width=self.base_width, dilation=self.dilation, norm_layer=self._norm_layer))
        return nn.Sequential(*made)

    def _init_weights(self, zero_init_residual):
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
        if not zero_init_residual:
            return
        for module in self.modules():
            last = {Bottleneck: "bn3", BasicBlock: "bn2"}.get(type(module))
            if last and getattr(module, last).weight is not None:
                nn.init.zeros_(getattr(module, last).weight)

    def _forward_impl(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))

    def forward(self, x):
        return self._forward_impl(x)


def _resnet(name, text, count, block, layers, **defaults):
    return builder(__name__, name, text, count, lambda **kwargs: ResNet(block, layers, **kwargs), defaults)


resnet18 = _resnet("resnet18", "ResNet of 18 layers.", 11689512, BasicBlock, [2, 2, 2, 2])
resnet34 = _resnet("resnet34", "ResNet of 34 layers.", 21797672, BasicBlock, [3, 4, 6, 3])
resnet50 = _resnet("resnet50", "ResNet of 50 layers.", 25557032, Bottleneck, [3, 4, 6, 3])
resnet101 = _resnet("resnet101", "ResNet of 101 layers.", 44549160, Bottleneck, [3, 4, 23, 3])
resnet152 = _resnet("resnet152", "ResNet of 152 layers.", 60192808, Bottleneck, [3, 8, 36, 3])
resnext50_32x4d = _resnet("resnext50_32x4d", "ResNeXt of 50 layers, 32 groups of width 4.", 25028904, Bottleneck, [3, 4, 6, 3],
                          groups=32, width_per_group=4)  # fmt: skip
resnext101_32x8d = _resnet("resnext101_32x8d", "ResNeXt of 101 layers, 32 groups of width 8.", 88791336, Bottleneck, [3, 4, 23, 3],
                           groups=32, width_per_group=8)  # fmt: skip
resnext101_64x4d = _resnet("resnext101_64x4d", "ResNeXt of 101 layers, 64 groups of width 4.", 83455272, Bottleneck, [3, 4, 23, 3],
                           groups=64, width_per_group=4)  # fmt: skip
wide_resnet50_2 = _resnet("wide_resnet50_2", "ResNet of 50 layers with bottlenecks twice as wide.", 68883240, Bottleneck, [3, 4, 6, 3],
                          width_per_group=128)  # fmt: skip
wide_resnet101_2 = _resnet("wide_resnet101_2", "ResNet of 101 layers with bottlenecks twice as wide.", 126886696, Bottleneck, [3, 4, 23, 3],
                           width_per_group=128)  # fmt: skip
