"""Contents of a checkpoint: its tensors, the pieces that they are saved in, and where these are."""

import dataclasses
import enum
import os

import cresset as torch

from .._wire import register_type

__all__ = ["BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta", "TensorProperties", "TensorStorageMetadata"]

STATE_DICT_TYPE = dict


@dataclasses.dataclass
class ChunkStorageMetadata:
    """Box within a tensor: the first index and the size along each dimension.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> made.state_dict_metadata['w'].chunks
    [ChunkStorageMetadata(offsets=torch.Size([0]), sizes=torch.Size([2]))]
    """

    offsets: torch.Size
    sizes: torch.Size


class _MEM_FORMAT_ENCODING(enum.Enum):
    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


_FORMATS = {
    _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT: torch.contiguous_format,
    _MEM_FORMAT_ENCODING.TORCH_CHANNELS_LAST: torch.channels_last,
    _MEM_FORMAT_ENCODING.TORCH_PRESERVE_FORMAT: torch.preserve_format,
}


@dataclasses.dataclass
class TensorProperties:
    """Properties of a tensor beside its values and its shape.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> made.state_dict_metadata['w'].properties.dtype
    torch.float32
    """

    dtype: torch.dtype
    layout: torch.layout = torch.strided
    requires_grad: bool = False
    memory_format: torch.memory_format = torch.contiguous_format
    pin_memory: bool = False

    def __getstate__(self):
        encoding = next((code for code, kept in _FORMATS.items() if kept == self.memory_format), None)
        if encoding is None:
            raise RuntimeError(f"checkpoint: expected a memory format of {[str(f) for f in _FORMATS.values()]}, got {self.memory_format}")
        return self.dtype, self.layout, self.requires_grad, encoding, self.pin_memory

    def __setstate__(self, state):
        self.dtype, self.layout, self.requires_grad, encoding, self.pin_memory = state
        self.memory_format = _FORMATS[encoding]

    @staticmethod
    def create_from_tensor(tensor):
        """The properties of a tensor."""
        return TensorProperties(tensor.dtype, tensor.layout, tensor.requires_grad, torch.contiguous_format, tensor.is_pinned())


@dataclasses.dataclass
class TensorStorageMetadata:
    """A tensor of a checkpoint, and the pieces that it is saved in.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> made.state_dict_metadata['w'].size
    torch.Size([2])
    """

    properties: TensorProperties
    size: torch.Size
    chunks: list[ChunkStorageMetadata]


@dataclasses.dataclass
class BytesStorageMetadata:
    """Something of a checkpoint that is no tensor.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> made.state_dict_metadata['n']
    BytesStorageMetadata()
    """


@dataclasses.dataclass(frozen=True)
class MetadataIndex:
    """Name of an entry, and which piece of it: its first index, and a hint at its place among the pieces, which takes no part in comparisons.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> [index.fqn for index in made.storage_data]
    ['n', 'w']
    """

    fqn: str
    offset: torch.Size | None = None
    index: int | None = dataclasses.field(default=None, hash=False, compare=False)

    def __post_init__(self):
        if self.offset is not None:
            object.__setattr__(self, "offset", torch.Size(self.offset))


@dataclasses.dataclass
class StorageMeta:
    """Where a checkpoint is, and which saves and loads of it these were.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> str(made.storage_meta.checkpoint_id) == folder
    True
    """

    checkpoint_id: str | os.PathLike | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Metadata:
    """All of a checkpoint but the values: entries by name, paths of these in the state that was saved, and where each piece is.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> made.planner_data
    {'w': ('w',), 'n': ('n',)}
    """

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: object = None
    storage_data: object = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


for _cls in (ChunkStorageMetadata, TensorStorageMetadata, BytesStorageMetadata, MetadataIndex, StorageMeta, Metadata):
    register_type(_cls, lambda value: dict(vars(value)))
register_type(
    TensorProperties,
    lambda p: [p.dtype, p.requires_grad, p.pin_memory, list(_FORMATS.values()).index(p.memory_format), p.layout is torch.strided],
    lambda f: TensorProperties(f[0], torch.strided if f[4] else torch.sparse_coo, f[1], list(_FORMATS.values())[f[3]], f[2]),
)
