"""Densely connected networks: https://arxiv.org/abs/1608.06993."""

from collections import OrderedDict

import cresset as torch
from cresset import nn
from cresset.nn import functional as F
from cresset.utils.checkpoint import checkpoint

from ._registry import builder

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]


class _DenseLayer(nn.Module):
    def __init__(self, num_input_features, growth_rate, bn_size, drop_rate, memory_efficient=False):
        super().__init__()
        width = bn_size * growth_rate
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, width, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, growth_rate, 3, padding=1, bias=False)
        self.drop_rate = float(drop_rate)
        self.memory_efficient = memory_efficient

    def bn_function(self, inputs):
        return self.conv1(self.relu1(self.norm1(torch.cat(inputs, 1))))

    def forward(self, input):
        inputs = [input] if isinstance(input, torch.Tensor) else input
        if self.memory_efficient and torch.is_grad_enabled() and any(x.requires_grad for x in inputs):
            narrow = checkpoint(lambda *xs: self.bn_function(xs), *inputs, use_reentrant=False)
        else:
            narrow = self.bn_function(inputs)
        new = self.conv2(self.relu2(self.norm2(narrow)))
        return F.dropout(new, p=self.drop_rate, training=self.training) if self.drop_rate > 0 else new


class _DenseBlock(nn.ModuleDict):
    def __init__(self, num_layers, num_input_features, bn_size, growth_rate, drop_rate, memory_efficient=False):
        super().__init__()
        for i in range(num_layers):
            self[f"denselayer{i + 1}"] = _DenseLayer(num_input_features + i * growth_rate, growth_rate, bn_size, drop_rate, memory_efficient)

    def forward(self, init_features):
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return torch.cat(features, 1)


class _Transition(nn.Sequential):
    def __init__(self, num_input_features, num_output_features):
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_input_features, num_output_features, 1, bias=False)
        self.pool = nn.AvgPool2d(2, 2)


class DenseNet(nn.Module):
    """A network in whose blocks each layer sees the outputs of all layers before it.

    Args:
        growth_rate: how many channels each layer adds.
        block_config: how many layers each block has.
        num_init_features: how many channels the first convolution makes.
        bn_size: how many times growth_rate channels a layer narrows its inputs to.
        drop_rate: which part of a layer's outputs is dropped in training.
        num_classes: how many numbers come out.
        memory_efficient: whether to compute the narrow inputs again in backward instead of keeping them.

    >>> net = torch.vision.models.DenseNet(growth_rate=4, block_config=(2, 2), num_init_features=8, num_classes=5)
    >>> net(torch.ones(2, 3, 32, 32)).shape
    torch.Size([2, 5])
    """

    def __init__(self, growth_rate=32, block_config=(6, 12, 24, 16), num_init_features=64, bn_size=4, drop_rate=0, num_classes=1000, memory_efficient=False):
        super().__init__()
        self.features = nn.Sequential(OrderedDict(
            conv0=nn.Conv2d(3, num_init_features, 7, 2, 3, bias=False), norm0=nn.BatchNorm2d(num_init_features),
            relu0=nn.ReLU(inplace=True), pool0=nn.MaxPool2d(3, 2, 1),
        ))  # fmt: skip
        channels = num_init_features
        for i, count in enumerate(block_config, 1):
            self.features.add_module(f"denseblock{i}", _DenseBlock(count, channels, bn_size, growth_rate, drop_rate, memory_efficient))
            channels += count * growth_rate
            if i < len(block_config):
                self.features.add_module(f"transition{i}", _Transition(channels, channels // 2))
                channels //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(channels))
        self.classifier = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, x):
        x = F.relu(self.features(x), inplace=True)
        return self.classifier(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


def _densenet(depth, count, growth_rate, block_config, num_init_features):
    defaults = {"growth_rate": growth_rate, "block_config": block_config, "num_init_features": num_init_features}
    return builder(__name__, f"densenet{depth}", f"DenseNet of {depth} layers.", count, DenseNet, defaults)


densenet121 = _densenet(121, 7978856, 32, (6, 12, 24, 16), 64)
densenet161 = _densenet(161, 28681000, 48, (6, 12, 36, 24), 96)
densenet169 = _densenet(169, 14149480, 32, (6, 12, 32, 32), 64)
densenet201 = _densenet(201, 20013928, 32, (6, 12, 48, 32), 64)
