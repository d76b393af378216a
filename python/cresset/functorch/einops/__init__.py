"""The older home of `torch.func.rearrange`.

>>> from cresset.functorch.einops import rearrange
>>> rearrange(torch.ones(2, 6, 4), "b (h1 h) w -> b h (w h1)", h1=2).shape
torch.Size([2, 3, 8])
"""

from cresset.func import rearrange

__all__ = ["rearrange"]
