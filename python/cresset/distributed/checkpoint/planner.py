"""Plans: which pieces a rank writes or reads, and the classes that make them."""

import abc
import dataclasses
import enum
import functools
import io
import operator

import cresset as torch

from .._wire import register_type
from .metadata import ChunkStorageMetadata, MetadataIndex, TensorProperties

__all__ = [
    "BytesIOWriteData",
    "LoadItemType",
    "LoadPlan",
    "LoadPlanner",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "TensorWriteData",
    "WriteItem",
    "WriteItemType",
]


class WriteItemType(enum.Enum):
    """Kinds of what is written: a whole tensor, a piece of one, bytes.

    >>> from cresset.distributed.checkpoint import metadata, planner, storage
    >>> planner.WriteItemType.SHARD.value
    2
    """

    TENSOR = 1
    SHARD = 2
    BYTE_IO = 3


class LoadItemType(enum.Enum):
    """Kinds of what is read: a tensor or a piece of one, bytes.

    >>> from cresset.distributed.checkpoint import metadata, planner, storage
    >>> planner.LoadItemType.BYTE_IO.value
    2
    """

    TENSOR = 1
    BYTE_IO = 2


@dataclasses.dataclass(frozen=True)
class BytesIOWriteData:
    """Bytes that are written, and how many.

    >>> from cresset.distributed.checkpoint import metadata, planner, storage
    >>> planner.BytesIOWriteData(3).nbytes
    3
    """

    nbytes: int


@dataclasses.dataclass(frozen=True)
class TensorWriteData:
    """Piece of a tensor that is written, and the whole tensor's properties and shape.

    >>> from cresset.distributed.checkpoint import metadata, planner, storage
    >>> planner.TensorWriteData(None, metadata.TensorProperties(torch.float32), torch.Size([2])).size
    torch.Size([2])
    """

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: torch.Size


@dataclasses.dataclass(frozen=True)
class WriteItem:
    """Something to write: a tensor, a piece of one, or bytes.

    >>> planner = torch.distributed.checkpoint.DefaultSavePlanner()
    >>> planner.set_up_planner({'w': torch.zeros(2)})
    >>> planner.create_local_plan().items[0].tensor_storage_size()
    8
    """

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self):
        """Bytes of the tensor's values; None for what is no tensor."""
        if self.tensor_data is None:
            return None
        return functools.reduce(operator.mul, self.tensor_data.size, 1) * self.tensor_data.properties.dtype.itemsize


@dataclasses.dataclass(frozen=True)
class ReadItem:
    """A box of a stored piece, and where it goes in a tensor of the state.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> planner = dcp.DefaultLoadPlanner()
    >>> planner.set_up_planner({'w': torch.zeros(2)}, made)
    >>> planner.create_local_plan().items[0].lengths
    torch.Size([2])
    """

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: torch.Size
    storage_index: MetadataIndex
    storage_offsets: torch.Size
    lengths: torch.Size


@dataclasses.dataclass(frozen=True)
class SavePlan:
    """The items that a rank writes, with what planner and storage add.

    >>> planner = torch.distributed.checkpoint.DefaultSavePlanner()
    >>> planner.set_up_planner({'w': torch.zeros(2)})
    >>> [item.index.fqn for item in planner.create_local_plan().items]
    ['w']
    """

    items: list[WriteItem]
    storage_data: object = None
    planner_data: object = None
    usable: bool = True


@dataclasses.dataclass
class LoadPlan:
    """The items that a rank reads, with what planner and storage add.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> planner = dcp.DefaultLoadPlanner()
    >>> planner.set_up_planner({'w': torch.zeros(2)}, made)
    >>> len(planner.create_local_plan().items)
    1
    """

    items: list[ReadItem]
    storage_data: object = None
    planner_data: object = None


for _cls in (BytesIOWriteData, TensorWriteData, WriteItem, ReadItem, SavePlan, LoadPlan):
    register_type(_cls, lambda value: dict(vars(value)))


class SavePlanner(abc.ABC):
    """Decides what is saved. All ranks: `set_up_planner`, `create_local_plan`; the coordinator: `create_global_plan`; all: `finish_plan`, then
    `resolve_data` for each item while it is written. `DefaultSavePlanner` is what to derive from.

    >>> issubclass(torch.distributed.checkpoint.DefaultSavePlanner, torch.distributed.checkpoint.SavePlanner)
    True
    """

    @abc.abstractmethod
    def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
        """Takes the state that will be saved."""

    @abc.abstractmethod
    def create_local_plan(self):
        """`SavePlan` of this rank."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans):
        """(plans of all ranks, `Metadata`) from the local plans of all ranks, in their order."""

    @abc.abstractmethod
    def finish_plan(self, new_plan):
        """This rank's plan, from the one that `create_global_plan` gave it."""

    @abc.abstractmethod
    def resolve_data(self, write_item):
        """The tensor, or `io.BytesIO` with the bytes, of an item. Called from the threads that write."""


class LoadPlanner:
    """Decides what is loaded and where it goes; the order of calls is that of `SavePlanner`. `DefaultLoadPlanner` is what to derive from.

    >>> issubclass(torch.distributed.checkpoint.DefaultLoadPlanner, torch.distributed.checkpoint.LoadPlanner)
    True
    """

    @abc.abstractmethod
    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        """Takes the state that will be filled and the checkpoint's `Metadata`."""

    @abc.abstractmethod
    def create_local_plan(self):
        """`LoadPlan` of this rank."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan):
        """Plans of all ranks, from their local plans, in their order."""

    @abc.abstractmethod
    def finish_plan(self, central_plan):
        """This rank's plan, from the one that `create_global_plan` gave it."""

    @abc.abstractmethod
    def load_bytes(self, read_item, value):
        """Takes the bytes of an item, `io.BytesIO` at its beginning."""

    def resolve_bytes(self, read_item):
        """`io.BytesIO` that the bytes of an item are written to."""
        return io.BytesIO()

    @abc.abstractmethod
    def resolve_tensor(self, read_item):
        """Tensor of shape `read_item.lengths` that the values of an item are written to."""

    @abc.abstractmethod
    def commit_tensor(self, read_item, tensor):
        """Called with the tensor of `resolve_tensor` when its values are there."""
