"""Distances between vectors."""

from .. import functional as F
from .module import Module


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last dimension: (N, D) twice to (N), or (N, 1) with keepdim.

    >>> nn.PairwiseDistance(p=1.0, eps=0.0)(torch.ones(2, 3), torch.zeros(2, 3)).tolist()
    [3.0, 3.0]
    """

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between x1 and x2 along `dim`, which goes away.

    >>> nn.CosineSimilarity(dim=0)(torch.ones(4), torch.ones(4)).round().item()
    1.0
    """

    __constants__ = ["dim", "eps"]

    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
