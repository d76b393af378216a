"""torch.distributed.tensor: placements of tensors. Spread tensors are not there: calls raise NotImplementedError."""

from cresset._core.missing import found as _found

from .placement_types import Partial, Placement, Replicate, Shard

_SUBMODULES = ...


def __getattr__(name):
    return _found(__name__, name)
