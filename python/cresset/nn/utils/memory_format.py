"""Weights of convolutions in another order in memory."""

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d


def _convert(module, memory_format, classes):
    for child in module.modules():
        if isinstance(child, classes):
            child.weight.data = child.weight.detach().clone().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Put the weights of every two-dimensional convolution below `module` in a memory format; returns the module.

    >>> net = nn.utils.convert_conv2d_weight_memory_format(nn.Conv2d(2, 4, 3), torch.channels_last)
    >>> net.weight.is_contiguous(memory_format=torch.channels_last)
    True
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module, memory_format):
    """Put the weights of every three-dimensional convolution below `module` in a memory format; returns the module.

    >>> type(nn.utils.convert_conv3d_weight_memory_format(nn.Conv3d(2, 4, 3), torch.contiguous_format)).__name__
    'Conv3d'
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
