"""Checkpoints of many files as the one of `torch.save`, and back."""

from pathlib import Path

import cresset as torch
import cresset.distributed as dist

from . import _flat
from .default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .metadata import ChunkStorageMetadata, Metadata, TensorProperties, TensorStorageMetadata
from .planner import LoadItemType
from .state_dict_loader import _load, _load_state_dict
from .state_dict_saver import _save
from .storage import StorageReader
from .utils import _Ranks

__all__ = ["BroadcastingTorchSaveReader", "DynamicMetaLoadPlanner", "dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir, torch_save_path):
    """Writes all of a checkpoint to one file, for `torch.load`. Keys of mappings that were numbers are text in it.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> dcp.format_utils.dcp_to_torch_save(folder, folder + '/one.pt')
    >>> torch.load(folder + '/one.pt')
    {'w': tensor([1., 1.]), 'n': 3}
    """
    state = {}
    _load(state, FileSystemReader(dcp_checkpoint_dir), _EmptyStateDictLoadPlanner(), _Ranks(alone=True))
    torch.save(state, torch_save_path)


def torch_save_to_dcp(torch_save_path, dcp_checkpoint_dir):
    """Writes the state of a file of `torch.save` as a checkpoint.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> torch.save({'a': 5}, folder + '/one.pt')
    >>> dcp.format_utils.torch_save_to_dcp(folder + '/one.pt', folder + '/many')
    >>> list(dcp.FileSystemReader(folder + '/many').read_metadata().state_dict_metadata)
    ['a']
    """
    state = torch.load(torch_save_path, weights_only=False)
    _save(state, FileSystemWriter(dcp_checkpoint_dir), None, _Ranks(alone=True))


class BroadcastingTorchSaveReader(StorageReader):
    """Reads a file of `torch.save` on one rank, which gives the others its tensors. For states of tensors alone, with `DynamicMetaLoadPlanner`.

    Args:
        checkpoint_id: the file.
        coordinator_rank: rank that reads it.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> torch.save({'a': torch.ones(2)}, folder + '/one.pt')
    >>> how = {'storage_reader': dcp.format_utils.BroadcastingTorchSaveReader(), 'planner': dcp.format_utils.DynamicMetaLoadPlanner()}
    >>> dcp.load(state := {'a': torch.zeros(2)}, checkpoint_id=folder + '/one.pt', no_dist=True, **how)
    >>> state
    {'a': tensor([1., 1.])}
    """

    def __init__(self, checkpoint_id=None, coordinator_rank=0):
        self.checkpoint_id, self.coordinator_rank = checkpoint_id, coordinator_rank
        self.is_coordinator = False

    def read_metadata(self, *args, **kwargs):
        """Empty: the planner makes the metadata from the state that is filled."""
        return Metadata({})

    def set_up_storage_reader(self, metadata, is_coordinator, *args, **kwargs):
        self.is_coordinator = bool(is_coordinator)
        if self.is_coordinator and dist.is_initialized() and dist.get_rank() != self.coordinator_rank:
            raise ValueError(f"BroadcastingTorchSaveReader: rank {dist.get_rank()} coordinates, expected {self.coordinator_rank}")
        if self.checkpoint_id is None:
            raise ValueError("BroadcastingTorchSaveReader: expected checkpoint_id, the path of a file, got None")

    def prepare_local_plan(self, plan):
        return plan

    prepare_global_plan = prepare_local_plan  # ranks read what they need, of one file

    def read_data(self, plan, planner):
        from .filesystem import _done

        held = None
        if self.is_coordinator:
            held, _ = _flat.flatten(torch.load(self.checkpoint_id, map_location="cpu", weights_only=False))
        for item in plan.items:
            if item.type is LoadItemType.BYTE_IO:
                raise RuntimeError(f"BroadcastingTorchSaveReader: expected tensors alone, {item.storage_index.fqn!r} is none")
            target = planner.resolve_tensor(item).detach()
            whole = torch.empty(planner.lookup_tensor(item.dest_index).size(), dtype=target.dtype)
            if self.is_coordinator:
                whole.copy_(held[item.storage_index.fqn])
            if dist.is_initialized():
                dist.broadcast(whole, src=self.coordinator_rank)
            for dim, (offset, length) in enumerate(zip(item.storage_offsets, item.lengths)):
                whole = whole.narrow(dim, offset, length)
            target.copy_(whole)
            planner.commit_tensor(item, target)
        return _done(None)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        """Whether there is a file."""
        return Path(checkpoint_id).is_file()

    def reset(self, checkpoint_id=None):
        self.checkpoint_id = self.checkpoint_id if checkpoint_id is None else checkpoint_id


class DynamicMetaLoadPlanner(DefaultLoadPlanner):
    """Takes for granted that a file has what the state has, in its shapes and dtypes, as a file of `torch.save` does not say before it is read.

    >>> planner = torch.distributed.checkpoint.format_utils.DynamicMetaLoadPlanner()
    >>> planner.set_up_planner({'a': torch.zeros(2)})
    >>> planner.metadata.state_dict_metadata['a'].size
    torch.Size([2])
    """

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        super().set_up_planner(state_dict, metadata=metadata, is_coordinator=is_coordinator)
        entries = {}
        for name, value in self.state_dict.items():
            if not isinstance(value, torch.Tensor):
                raise RuntimeError(f"DynamicMetaLoadPlanner: expected tensors alone, {name!r} is {type(value).__name__}")
            chunk = ChunkStorageMetadata(torch.Size([0] * value.dim()), value.size())
            entries[name] = TensorStorageMetadata(TensorProperties(value.dtype), value.size(), [chunk])
        self.metadata = Metadata(entries)
