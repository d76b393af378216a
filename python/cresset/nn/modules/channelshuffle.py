"""Mixing the channels of groups."""

from .. import functional as F
from .module import Module


class ChannelShuffle(Module):
    """Puts the channels of (N, C, *) in the order that takes one of each group in turn.

    >>> nn.ChannelShuffle(2)(torch.arange(4.0).view(1, 4, 1, 1)).flatten().tolist()
    [0.0, 2.0, 1.0, 3.0]
    """

    __constants__ = ["groups"]

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self):
        return f"groups={self.groups}"
