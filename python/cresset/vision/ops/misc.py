"""torchvision.ops.misc: a convolution with what follows it, and gates of channels."""

import cresset as torch
from cresset import nn

__all__ = ["Conv2dNormActivation", "FrozenBatchNorm2d", "Permute", "SqueezeExcitation"]


class Conv2dNormActivation(nn.Sequential):
    """A convolution, a normalisation and an activation, in this order; those that are None are left out.

    Args:
        in_channels, out_channels, kernel_size, stride, groups, dilation: of the convolution.
        padding: of the convolution; None: as much as keeps the size at stride 1.
        norm_layer: makes the normalisation of a number of channels.
        activation_layer: makes the activation; it is asked for `inplace` unless that is None.
        bias: of the convolution; None: there is one where there is no normalisation.

    >>> layer = torch.vision.ops.Conv2dNormActivation(3, 8, stride=2)
    >>> layer(torch.ones(1, 3, 6, 6)).shape, list(layer.state_dict())[:2]
    (torch.Size([1, 8, 3, 3]), ['0.weight', '1.weight'])
    """

    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1, norm_layer=nn.BatchNorm2d,
                 activation_layer=nn.ReLU, dilation=1, inplace=True, bias=None):  # fmt: skip
        if padding is None:
            sizes, steps = (v if isinstance(v, (tuple, list)) else (v, v) for v in (kernel_size, dilation))
            padding = tuple((size - 1) // 2 * step for size, step in zip(sizes, steps))
        layers = [nn.Conv2d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, norm_layer is None if bias is None else bias)]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer() if inplace is None else activation_layer(inplace=inplace))
        super().__init__(*layers)
        self.out_channels = out_channels


class SqueezeExcitation(nn.Module):
    """Scales each channel by a gate that a small network computes of the channels' means (https://arxiv.org/abs/1709.01507, figure 1).

    >>> gate = torch.vision.ops.SqueezeExcitation(4, 2)
    >>> gate(torch.ones(1, 4, 3, 3)).shape, list(gate.state_dict())
    (torch.Size([1, 4, 3, 3]), ['fc1.weight', 'fc1.bias', 'fc2.weight', 'fc2.bias'])
    """

    def __init__(self, input_channels, squeeze_channels, activation=nn.ReLU, scale_activation=nn.Sigmoid):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, input):
        gate = self.fc2(self.activation(self.fc1(self.avgpool(input))))
        return input * self.scale_activation(gate)


class Permute(nn.Module):
    """Reorders dimensions, as `torch.permute` does.

    >>> torch.vision.ops.Permute([1, 0])(torch.ones(2, 3)).shape
    torch.Size([3, 2])
    """

    def __init__(self, dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return torch.permute(x, self.dims)


class FrozenBatchNorm2d(nn.Module):
    """A batch normalisation of trained models whose statistics, weight and bias are buffers that stay as they are.

    Args:
        num_features: the channels of images (N, C, H, W).
        eps: is added to the variance.

    >>> layer = torch.vision.ops.FrozenBatchNorm2d(3)
    >>> layer(torch.ones(1, 3, 1, 1)).flatten(), len(list(layer.parameters()))
    (tensor([1.0000, 1.0000, 1.0000]), 0)
    """

    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        for name, start in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
            self.register_buffer(name, torch.full((num_features,), start))

    def _load_from_state_dict(self, state_dict, prefix, *args):
        state_dict.pop(prefix + "num_batches_tracked", None)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def forward(self, x):
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        return x * scale.reshape(1, -1, 1, 1) + (self.bias - self.running_mean * scale).reshape(1, -1, 1, 1)

    def extra_repr(self):
        return f"{self.weight.shape[0]}, eps={self.eps}"
