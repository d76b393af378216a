"""Where checkpoints are kept: the classes that write and read the pieces."""

import abc
import dataclasses

from .._wire import register_type
from .metadata import MetadataIndex

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


@dataclasses.dataclass(frozen=True)
class WriteResult:
    """An item that was written, and where it is.

    >>> from cresset.distributed.checkpoint import metadata, planner, storage
    >>> storage.WriteResult(metadata.MetadataIndex('w'), 8, None).size_in_bytes
    8
    """

    index: MetadataIndex
    size_in_bytes: int
    storage_data: object


register_type(WriteResult, lambda value: dict(vars(value)))


class StorageWriter(abc.ABC):
    """Writes plans. All ranks: `reset`, `set_up_storage_writer`, `prepare_local_plan`; the coordinator: `prepare_global_plan`; all: `write_data`;
    the coordinator: `finish`.

    >>> issubclass(torch.distributed.checkpoint.FileSystemWriter, torch.distributed.checkpoint.StorageWriter)
    True
    """

    @abc.abstractmethod
    def reset(self, checkpoint_id=None):
        """Begins a new checkpoint, in another place where one is given."""

    @abc.abstractmethod
    def set_up_storage_writer(self, is_coordinator, *args, **kwargs):
        """Says whether this rank is the coordinator; `rank` may follow by name."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan):
        """The plan of this rank, with what the storage adds to it."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans):
        """The plans of all ranks, with what the storage adds to them."""

    @abc.abstractmethod
    def write_data(self, plan, planner):
        """Writes the items of a plan: a future of `WriteResult`s."""

    @abc.abstractmethod
    def finish(self, metadata, results):
        """Writes the metadata, from the results of all ranks: the checkpoint is whole."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        """Whether this class can save there."""

    def storage_meta(self):
        """`StorageMeta` of the checkpoint; None where there is none to tell."""
        return None


class StorageReader(abc.ABC):
    """Reads plans. All ranks: `reset`, `read_metadata`, `set_up_storage_reader`, `prepare_local_plan`; the coordinator: `prepare_global_plan`; all:
    `read_data`.

    >>> issubclass(torch.distributed.checkpoint.FileSystemReader, torch.distributed.checkpoint.StorageReader)
    True
    """

    @abc.abstractmethod
    def reset(self, checkpoint_id=None):
        """Begins a new load, from another place where one is given."""

    @abc.abstractmethod
    def read_metadata(self, *args, **kwargs):
        """`Metadata` of the checkpoint."""

    @abc.abstractmethod
    def set_up_storage_reader(self, metadata, is_coordinator, *args, **kwargs):
        """Takes the metadata, and whether this rank is the coordinator."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan):
        """The plan of this rank, with what the storage adds to it."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans):
        """The plans of all ranks, with what the storage adds to them."""

    @abc.abstractmethod
    def read_data(self, plan, planner):
        """Reads the items of a plan into what the planner names: a future of None."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        """Whether this class can load from there."""
