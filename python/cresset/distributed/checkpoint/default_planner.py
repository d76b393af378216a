"""The planners that save and load the tensors and objects of a state as they are."""

import dataclasses
import io

import cresset as torch

from . import _flat
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, MetadataIndex, TensorProperties, TensorStorageMetadata
from .planner import LoadItemType, LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, TensorWriteData, WriteItem, WriteItemType

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner", "create_default_global_load_plan", "create_default_global_save_plan", "create_default_local_load_plan",
           "create_default_local_save_plan"]  # fmt: skip


def _whole(tensor):
    return ChunkStorageMetadata(torch.Size([0] * tensor.dim()), tensor.size())


def create_default_local_save_plan(state_dict, is_coordinator):
    """`SavePlan` of a flat state: each rank names its tensors, the coordinator also what is no tensor.

    >>> from cresset.distributed.checkpoint.default_planner import *
    >>> len(create_default_local_save_plan({'w': torch.ones(2), 'n': 3}, is_coordinator=False).items)
    1
    """
    items = []
    for fqn, value in state_dict.items():
        if isinstance(value, torch.Tensor):
            chunk = _whole(value)
            data = TensorWriteData(chunk, TensorProperties.create_from_tensor(value), value.size())
            items.append(WriteItem(MetadataIndex(fqn, chunk.offsets, 0), WriteItemType.TENSOR, tensor_data=data))
        elif is_coordinator:
            items.append(WriteItem(MetadataIndex(fqn), WriteItemType.BYTE_IO))
    return SavePlan(items)


def create_default_global_save_plan(all_plans, rewrite_index_hints=True):
    """(plans, `Metadata`) of the plans of all ranks; pieces of a tensor are numbered in their order.

    >>> from cresset.distributed.checkpoint.default_planner import *
    >>> plan = create_default_local_save_plan({'n': 3}, is_coordinator=True)
    >>> create_default_global_save_plan([plan])[1].state_dict_metadata
    {'n': BytesStorageMetadata()}
    """
    entries, plans = {}, []
    for plan in all_plans:
        items = []
        for item in plan.items:
            fqn = item.index.fqn
            if item.type is WriteItemType.BYTE_IO:
                entries[fqn] = BytesStorageMetadata()
                items.append(item)
                continue
            data = item.tensor_data
            entry = entries.setdefault(fqn, TensorStorageMetadata(data.properties, data.size, []))
            if rewrite_index_hints:
                item = dataclasses.replace(item, index=dataclasses.replace(item.index, index=len(entry.chunks)))
            entry.chunks.append(data.chunk)
            items.append(item)
        plans.append(dataclasses.replace(plan, items=items))
    return plans, Metadata(entries)


def create_default_local_load_plan(state_dict, metadata, strict=True):
    """`LoadPlan` of a flat state: every stored piece that meets a tensor of the state, and what is no tensor whole.

    Errors: RuntimeError for a name that the checkpoint lacks, unless `strict` is False; ValueError for another shape or kind.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> from cresset.distributed.checkpoint.default_planner import *
    >>> len(create_default_local_load_plan({'w': torch.zeros(2)}, made).items)
    1
    """
    items, none = [], torch.Size([0])
    for fqn, value in state_dict.items():
        entry = metadata.state_dict_metadata.get(fqn)
        if entry is None:
            if strict:
                raise RuntimeError(f"checkpoint: missing key, the checkpoint has no {fqn!r}")
            continue
        if isinstance(entry, BytesStorageMetadata):
            items.append(ReadItem(LoadItemType.BYTE_IO, MetadataIndex(fqn), none, MetadataIndex(fqn), none, none))
            continue
        if not isinstance(value, torch.Tensor):
            raise ValueError(f"checkpoint: {fqn!r} is a tensor in the checkpoint, got {type(value).__name__} to load it into")
        if value.size() != entry.size:
            raise ValueError(f"checkpoint: Size mismatch for {fqn!r}: saved with {tuple(entry.size)}, got a tensor of {tuple(value.size())} to load it into")
        own = _whole(value)
        for number, chunk in enumerate(entry.chunks):
            box = _overlap(chunk, own)
            if box is not None:
                offset, place, lengths = box
                items.append(
                    ReadItem(LoadItemType.TENSOR, MetadataIndex(fqn, own.offsets, 0), place, MetadataIndex(fqn, chunk.offsets, number), offset, lengths)
                )
    return LoadPlan(items)


def _overlap(stored, wanted):
    """(first index within the stored piece, within the wanted one, lengths) of what both have; None where that is nothing."""
    begins = [max(a, b) for a, b in zip(stored.offsets, wanted.offsets)]
    ends = [min(a + n, b + m) for a, n, b, m in zip(stored.offsets, stored.sizes, wanted.offsets, wanted.sizes)]
    if any(end <= begin for begin, end in zip(begins, ends)):
        return None
    inside = [torch.Size(b - o for b, o in zip(begins, box.offsets)) for box in (stored, wanted)]
    return *inside, torch.Size(e - b for b, e in zip(begins, ends))


def create_default_global_load_plan(all_plans):
    """The plans themselves: ranks read without regard to each other.

    >>> from cresset.distributed.checkpoint.default_planner import *
    >>> create_default_global_load_plan([])
    []
    """
    return all_plans


def _deduplicated(plans, to_lowest):
    """The plans, in which each piece is left to one rank: the lowest, or the one that so far writes least."""
    holders = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            holders.setdefault(item.index, []).append((rank, item))
    load, dropped = [0] * len(plans), [set() for _ in plans]
    for index, held in holders.items():
        writer = held[0][0] if to_lowest else min((rank for rank, _ in held), key=lambda rank: load[rank])
        load[writer] += held[0][1].tensor_storage_size() or 1
        for rank, _ in held:
            if rank != writer:
                dropped[rank].add(index)
    return [dataclasses.replace(plan, items=[i for i in plan.items if i.index not in gone]) for plan, gone in zip(plans, dropped)]


class DefaultSavePlanner(SavePlanner):
    """Saves each tensor, and as bytes what is no tensor.

    Args:
        flatten_state_dict: save what is within mappings and lists apart, under names joined by dots.
        flatten_sharded_tensors: of sharded tensors; there are none here.
        dedup_replicated_tensors: None; a tensor that several ranks have is written by one of them in any case.
        dedup_save_to_lowest_rank: by the lowest of these ranks, and not by that which writes least.
        enable_plan_caching: False; plans are made at each save.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> whole = dcp.DefaultSavePlanner(flatten_state_dict=False)
    >>> list(dcp.save({'a': {'b': torch.ones(1)}}, checkpoint_id=folder, planner=whole, no_dist=True).state_dict_metadata)
    ['a']
    """

    def __init__(self, flatten_state_dict=True, flatten_sharded_tensors=True, dedup_replicated_tensors=None, dedup_save_to_lowest_rank=False,
                 enable_plan_caching=False):  # fmt: skip
        if enable_plan_caching:
            raise NotImplementedError("DefaultSavePlanner: plans are made at each save, got enable_plan_caching=True")
        if dedup_replicated_tensors is not None:
            import warnings

            warnings.warn("DefaultSavePlanner: dedup_replicated_tensors is deprecated, and one rank always writes a tensor that several have", stacklevel=2)
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.mappings = {}

    def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
        if self.flatten_state_dict:
            state_dict, self.mappings = _flat.flatten(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self):
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        self.plan = dataclasses.replace(plan, planner_data=self.mappings) if self.flatten_state_dict else plan
        return self.plan

    def create_global_plan(self, all_plans):
        plans, metadata = create_default_global_save_plan(_deduplicated(all_plans, self.dedup_save_to_lowest_rank))
        if self.flatten_state_dict:
            metadata = dataclasses.replace(metadata, planner_data={name: path for plan in plans for name, path in (plan.planner_data or {}).items()})
        self.global_plan, self.metadata = plans, metadata
        return plans, metadata

    def finish_plan(self, new_plan):
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item):
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index):
        """The entry of the state that an index names."""
        return self.state_dict[index.fqn]

    def transform_object(self, write_item, object):
        """The data written for an entry: tensors as they are, other things as bytes."""
        if write_item.type is WriteItemType.BYTE_IO:
            data = io.BytesIO()
            torch.save(object, data)
            return data
        return object


class DefaultLoadPlanner(LoadPlanner):
    """Fills the tensors of a state where they are, and replaces what is no tensor.

    Args:
        flatten_state_dict: look for what is within mappings and lists under names joined by dots, as it was saved.
        flatten_sharded_tensors: of sharded tensors; there are none here.
        allow_partial_load: leave what the checkpoint lacks as it is.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> state = {'n': 0, 'more': 1}
    >>> dcp.load(state, checkpoint_id=folder, planner=dcp.DefaultLoadPlanner(allow_partial_load=True), no_dist=True)
    >>> state
    {'n': 3, 'more': 1}
    """

    def __init__(self, flatten_state_dict=True, flatten_sharded_tensors=True, allow_partial_load=False):
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load
        self.original_state_dict = self.mappings = {}

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = _flat.flatten(state_dict)
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def create_local_plan(self):
        if self.metadata is None:
            raise RuntimeError("DefaultLoadPlanner: set_up_planner was not given the metadata of a checkpoint")
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan):
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, new_plan):
        return new_plan

    def load_bytes(self, read_item, value):
        fqn = read_item.dest_index.fqn
        loaded = torch.load(value, weights_only=False)
        if self.flatten_state_dict:
            _flat.put(self.original_state_dict, self.mappings[fqn], loaded)
        else:
            self.state_dict[fqn] = loaded

    def resolve_tensor(self, read_item):
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item, tensor):
        pass

    def lookup_tensor(self, index):
        """The tensor of the state that an index names."""
        return self.state_dict[index.fqn]

    def transform_tensor(self, read_item, tensor):
        """The part of a tensor that an item fills."""
        for dim, (offset, length) in enumerate(zip(read_item.dest_offsets, read_item.lengths)):
            tensor = tensor.narrow(dim, offset, length)
        return tensor


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Loads everything of a checkpoint, or what is below `keys`, into an empty state."""

    def __init__(self, keys=None, *args, **kwargs):
        self.keys = keys
        super().__init__(*args, **kwargs)

    def _wanted(self, name, path):
        if self.keys is None or name in self.keys:
            return True
        return any(".".join(map(str, path[:i])) in self.keys for i in range(1, len(path) + 1))

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        if state_dict:
            raise ValueError(f"checkpoint: expected an empty state to load everything into, got {list(state_dict)}")
        if metadata is None:
            raise ValueError("checkpoint: expected the metadata of the checkpoint, got None")
        for name, entry in metadata.state_dict_metadata.items():
            path = (metadata.planner_data or {}).get(name, (name,))
            if self._wanted(name, path):
                value = torch.empty(entry.size, dtype=entry.properties.dtype) if isinstance(entry, TensorStorageMetadata) else None
                _flat.put(state_dict, path, value)
        super().set_up_planner(state_dict, metadata, is_coordinator)
