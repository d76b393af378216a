"""Images into columns of patches and back."""

from .. import functional as F
from .module import Module


class Fold(Module):
    """Adds patches, columns of (N, C·∏kernel, L), into images (N, C, *output_size).

    >>> nn.Fold((4, 5), (2, 2))(torch.ones(1, 8, 12)).shape
    torch.Size([1, 2, 4, 5])
    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.__constants__)


class Unfold(Module):
    """The patches under a sliding window of (N, C, H, W), as columns of (N, C·∏kernel, L).

    >>> nn.Unfold((2, 3))(torch.ones(1, 2, 3, 4)).shape
    torch.Size([1, 12, 4])
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.__constants__)
