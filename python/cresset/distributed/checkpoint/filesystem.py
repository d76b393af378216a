"""Checkpoints in a folder: a file or more of each rank, and `.metadata`, which is written last. PyTorch reads them, and they read PyTorch's."""

import collections
import concurrent.futures
import contextlib
import enum
import io
import os
import pathlib
import uuid

import cresset as torch
from cresset.futures import Future

from . import _metadata_file
from ._metadata_file import _StorageInfo
from .metadata import Metadata, StorageMeta
from .planner import LoadItemType, WriteItemType
from .storage import StorageReader, StorageWriter, WriteResult

__all__ = ["FileSystemReader", "FileSystemWriter", "SerializationFormat"]

_METADATA = ".metadata"
CURRENT_DCP_VERSION = "1.0.0"


class SerializationFormat(enum.Enum):
    """Formats of the pieces in files.

    >>> torch.distributed.checkpoint.filesystem.SerializationFormat.TORCH_SAVE.value
    'torch_save'
    """

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


def _done(value):
    future = Future()
    future.set_result(value)
    return future


def _buckets(items, count):
    """The items in `count` lists of about the same number of bytes, what is no tensor first."""
    small = [item for item in items if item.type is WriteItemType.BYTE_IO]
    large = [item for item in items if item.type is not WriteItemType.BYTE_IO]
    if count > 1:
        large.sort(key=lambda item: item.tensor_storage_size(), reverse=True)
    lists, sizes = [small[i::count] for i in range(count)], [0] * count
    for item in large:
        least = sizes.index(min(sizes))
        lists[least].append(item)
        sizes[least] += item.tensor_storage_size()
    return [held for held in lists if held]


class FileSystemWriter(StorageWriter):
    """Writes a checkpoint to a folder.

    Args:
        path: the folder, which is made where it is not there.
        single_file_per_rank: a file of each rank (and thread); False: one of each item.
        sync_files: have the system write each file to its device before the save ends.
        thread_count: threads that write, each a file of its own.
        per_thread_copy_ahead: bytes that are copied ahead from a device; what is in the CPU's memory is not copied.
        cache_staged_state_dict: `stage` copies into the same memory each time, for saves in the background.
        overwrite: replace a checkpoint that is there already; False: RuntimeError.
        serialization_format: TORCH_SAVE; the other is `HuggingFaceStorageWriter`'s.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> writer = dcp.FileSystemWriter(folder + '/two', thread_count=2, sync_files=False)
    >>> made = dcp.save({'a': torch.ones(2), 'b': torch.ones(3)}, storage_writer=writer, no_dist=True)
    >>> sorted(info.relative_path for info in made.storage_data.values())
    ['__0_0.distcp', '__0_1.distcp']
    """

    def __init__(self, path, single_file_per_rank=True, sync_files=True, thread_count=1, per_thread_copy_ahead=10_000_000, cache_staged_state_dict=False,
                 overwrite=True, _extensions=None, serialization_format=SerializationFormat.TORCH_SAVE):  # fmt: skip
        if _extensions:
            raise NotImplementedError(f"FileSystemWriter: streams are not transformed here, got {_extensions}")
        if serialization_format is not SerializationFormat.TORCH_SAVE:
            raise NotImplementedError(f"FileSystemWriter: expected SerializationFormat.TORCH_SAVE, got {serialization_format}")
        self.path = pathlib.Path(path)
        self.single_file_per_rank, self.sync_files, self.thread_count = single_file_per_rank, sync_files, thread_count
        self.per_thread_copy_ahead, self.overwrite = per_thread_copy_ahead, overwrite
        self._staged = {} if cache_staged_state_dict else None
        self.save_id = str(uuid.uuid4())
        self.rank = self.is_coordinator = None

    @property
    def checkpoint_id(self):
        """The folder."""
        return self.path

    def reset(self, checkpoint_id=None):
        if checkpoint_id is not None:
            self.path = pathlib.Path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator, *args, **kwargs):
        self.is_coordinator, self.rank = is_coordinator, kwargs.get("rank", self.rank)

    def prepare_local_plan(self, plan):
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / _METADATA).exists():
            if not self.overwrite:
                raise RuntimeError(f"checkpoint: there is a checkpoint in {self.path} already, and overwrite=False")
            import warnings

            warnings.warn(f"checkpoint: the checkpoint in {self.path} is overwritten", stacklevel=2)
        return plan

    def prepare_global_plan(self, plans):
        import dataclasses

        return [dataclasses.replace(plan, storage_data=f"__{rank}_") for rank, plan in enumerate(plans)]

    def _write(self, name, items, planner):
        results = []
        with open(self.path / name, "wb") as file:
            for item in items:
                data, begin = planner.resolve_data(item), file.tell()
                if item.type is WriteItemType.BYTE_IO:
                    file.write(data.getbuffer())
                else:
                    piece = io.BytesIO()
                    torch.save(data.detach().cpu().clone(memory_format=torch.contiguous_format), piece)
                    file.write(piece.getbuffer())
                size = file.tell() - begin
                results.append(WriteResult(item.index, size, _StorageInfo(name, begin, size)))
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        return results

    def write_data(self, plan, planner):
        held = _buckets(plan.items, self.thread_count) if self.single_file_per_rank else [[item] for item in plan.items]
        jobs = [(f"{plan.storage_data}{i}.distcp", items, planner) for i, items in enumerate(held)]
        if self.thread_count > 1 and len(jobs) > 1:
            with concurrent.futures.ThreadPoolExecutor(self.thread_count) as pool:
                written = list(pool.map(lambda job: self._write(*job), jobs))
        else:
            written = [self._write(*job) for job in jobs]
        return _done([result for results in written for result in results])

    def finish(self, metadata, results):
        metadata.version = CURRENT_DCP_VERSION
        metadata.storage_data = {result.index: result.storage_data for written in results for result in written}
        metadata.storage_meta = self.storage_meta()
        unfinished = self.path / f"{_METADATA}.tmp"
        with open(unfinished, "wb") as file:
            _metadata_file.write(metadata, file)
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        os.replace(unfinished, self.path / _METADATA)

    def storage_meta(self):
        return StorageMeta(self.path, self.save_id)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        """Whether `checkpoint_id` is a path of this machine."""
        return _is_path(checkpoint_id)

    def stage(self, state_dict):
        """A copy of a state, which the program may change while it is saved."""
        return _copied(state_dict, self._staged, ())


def _is_path(checkpoint_id):
    if isinstance(checkpoint_id, os.PathLike):
        return True
    return isinstance(checkpoint_id, str) and "://" not in checkpoint_id


def _copied(value, kept, path):
    if isinstance(value, torch.Tensor):
        held = None if kept is None else kept.get(path)
        if held is not None and held.shape == value.shape and held.dtype is value.dtype:
            return held.copy_(value.detach())
        made = value.detach().clone()
        if kept is not None:
            kept[path] = made
        return made
    if isinstance(value, dict):
        return {key: _copied(item, kept, (*path, key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_copied(item, kept, (*path, i)) for i, item in enumerate(value))
    with contextlib.suppress(Exception):
        import copy

        return copy.deepcopy(value)
    return value


class FileSystemReader(StorageReader):
    """Reads a checkpoint from a folder. The metadata is read as data; nothing that it names is called.

    Args:
        path: the folder.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> list(dcp.FileSystemReader(folder).read_metadata().state_dict_metadata)
    ['w', 'n']
    """

    def __init__(self, path, _extension_registry=None):
        if _extension_registry is not None:
            raise NotImplementedError("FileSystemReader: streams are not transformed here, got _extension_registry")
        self.path = pathlib.Path(path)
        self.storage_data, self.load_id = {}, str(uuid.uuid4())

    @property
    def checkpoint_id(self):
        """The folder."""
        return self.path

    def reset(self, checkpoint_id=None):
        self.storage_data, self.load_id = {}, str(uuid.uuid4())
        if checkpoint_id is not None:
            self.path = pathlib.Path(checkpoint_id)

    def read_metadata(self, *args, **kwargs):
        with open(self.path / _METADATA, "rb") as file:
            metadata = _metadata_file.read(file)
        if metadata.storage_meta is None:
            metadata.storage_meta = StorageMeta()
        metadata.storage_meta.load_id = self.load_id
        return metadata

    def set_up_storage_reader(self, metadata, is_coordinator, *args, **kwargs):
        if not isinstance(metadata, Metadata) or metadata.storage_data is None:
            raise ValueError("FileSystemReader: the metadata does not say where the pieces are")
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan):
        return plan

    def prepare_global_plan(self, plans):
        return plans

    def _place(self, item):
        info = self.storage_data.get(item.storage_index)
        if info is None:
            raise ValueError(f"FileSystemReader: the checkpoint does not say where {item.storage_index} is")
        path = self.path / info.relative_path
        if self.path.resolve() not in path.resolve().parents:
            raise ValueError(f"FileSystemReader: expected a file within {self.path}, got {info.relative_path!r}")
        if info.transform_descriptors:
            raise NotImplementedError(f"FileSystemReader: streams are not transformed here, got {info.transform_descriptors}")
        return path, info

    def read_data(self, plan, planner):
        by_file = collections.defaultdict(list)
        for item in plan.items:
            path, info = self._place(item)
            by_file[path].append((item, info))
        for path, wanted in by_file.items():
            with open(path, "rb") as file:
                for item, info in sorted(wanted, key=lambda pair: pair[1].offset):
                    file.seek(info.offset)
                    self._read(item, io.BytesIO(file.read(info.length)), planner)
        return _done(None)

    def _read(self, item, data, planner):
        if item.type is LoadItemType.BYTE_IO:
            planner.load_bytes(item, data)
            return
        piece = torch.load(data, map_location="cpu", weights_only=True)
        for dim, (offset, length) in enumerate(zip(item.storage_offsets, item.lengths)):
            piece = piece.narrow(dim, offset, length)
        target = planner.resolve_tensor(item).detach()
        if target.size() != piece.size():
            raise ValueError(f"FileSystemReader: {item.storage_index.fqn!r} has {tuple(piece.size())} values here, got {tuple(target.size())} to fill")
        target.copy_(piece)
        planner.commit_tensor(item, target)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        """Whether `checkpoint_id` is a path of this machine."""
        return _is_path(checkpoint_id)
