"""torch.utils.data: datasets, samplers, and the loader that makes batches of them.

Example::

    >>> import cresset as torch
    >>> dataset = torch.utils.data.TensorDataset(torch.arange(5))
    >>> [x.tolist() for x, in torch.utils.data.DataLoader(dataset, batch_size=3)]
    [[0, 1, 2], [3, 4]]
"""

from ._utils.collate import default_collate, default_convert
from ._utils.worker import get_worker_info
from . import datapipes  # noqa: F401
from .dataloader import DataLoader
from .datapipes._decorator import (
    argument_validation,
    functional_datapipe,
    guaranteed_datapipes_determinism,
    non_deterministic,
    runtime_validation,
    runtime_validation_disabled,
)
from .datapipes.datapipe import DataChunk, DFIterDataPipe, IterDataPipe, MapDataPipe
from .dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split
from .distributed import DistributedSampler
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

_SUBMODULES = ("nodes", "stateful_dataloader")
__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DFIterDataPipe", "DataChunk", "DataLoader", "Dataset", "DistributedSampler", "IterDataPipe",
           "IterableDataset", "MapDataPipe", "argument_validation", "functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic",
           "runtime_validation", "runtime_validation_disabled",
           "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
           "WeightedRandomSampler", "default_collate", "default_convert", "get_worker_info", "random_split"]  # fmt: skip
