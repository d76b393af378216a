"""torch.utils.data.datapipes: datasets made of steps that are put one behind the other.

>>> from cresset.utils.data.datapipes.iter import IterableWrapper
>>> list(IterableWrapper(range(6)).filter(lambda x: x % 2 == 0).map(lambda x: x * 10).batch(2))
[[0, 20], [40]]
"""

from . import iter, map  # noqa: A004
from .datapipe import DataChunk, DFIterDataPipe, IterDataPipe, MapDataPipe

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "iter", "map"]
