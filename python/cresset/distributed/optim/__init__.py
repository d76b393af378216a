"""Optimizers over several processes."""

from ._functional import as_functional_optim
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer", "as_functional_optim"]
_SUBMODULES = ...


def __getattr__(name):
    from cresset._core.missing import found

    if name == "DistributedOptimizer":
        from .optimizer import DistributedOptimizer

        return DistributedOptimizer
    return found(__name__, name)
