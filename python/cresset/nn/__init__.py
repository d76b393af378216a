"""torch.nn: so far the functions, and what they take for a distance."""

from . import functional  # noqa: F401


class PairwiseDistance:
    """The p-norm of differences along the last dimension."""

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def __call__(self, x1, x2):
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
