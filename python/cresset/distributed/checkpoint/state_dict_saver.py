"""Saving a state, by one process or by all of a group."""

import concurrent.futures
import enum
import inspect

import cresset.distributed as dist
from cresset.futures import Future

from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter
from .stateful import Stateful
from .utils import _Ranks

__all__ = ["AsyncCheckpointerType", "async_save", "save", "save_state_dict"]


class AsyncCheckpointerType(enum.Enum):
    """How saves in the background run.

    >>> torch.distributed.checkpoint.state_dict_saver.AsyncCheckpointerType.THREAD.value
    'thread'
    """

    THREAD = "thread"
    PROCESS = "process"


def _writer(storage_writer, checkpoint_id):
    if storage_writer is None:
        if checkpoint_id is None:
            raise RuntimeError("checkpoint: expected checkpoint_id, a path, or storage_writer; got neither")
        storage_writer = FileSystemWriter(checkpoint_id)
    storage_writer.reset(checkpoint_id)
    return storage_writer


def _plain_state(state_dict):
    """The state, in which what has a state of its own is that."""
    return {key: value.state_dict() if isinstance(value, Stateful) else value for key, value in state_dict.items()}


def _save(state_dict, writer, planner, ranks):
    planner = planner or DefaultSavePlanner()

    def local_plan():
        parameters = inspect.signature(planner.set_up_planner).parameters.values()
        takes_meta = any(p.name == "storage_meta" or p.kind is p.VAR_POSITIONAL or p.kind is p.VAR_KEYWORD for p in parameters)
        given = {"storage_meta": writer.storage_meta()} if takes_meta else {}
        planner.set_up_planner(state_dict=state_dict, is_coordinator=ranks.is_coordinator, **given)
        writer.set_up_storage_writer(ranks.is_coordinator, rank=ranks.rank)
        return writer.prepare_local_plan(planner.create_local_plan())

    plans = ranks.gathered("planning", local_plan)

    def global_plan():
        made, metadata = planner.create_global_plan(plans)
        return writer.prepare_global_plan(made), metadata

    made, metadata = ranks.decided("planning", global_plan)
    own = made[ranks.rank]
    results = ranks.gathered("writing", lambda: writer.write_data(planner.finish_plan(own), planner).wait())

    def finish():
        writer.finish(metadata=metadata, results=results)
        return metadata

    return ranks.decided("finishing", finish)


def save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None, no_dist=False, use_collectives=True):
    """Saves a state, of all ranks of a group together: a tensor that several have is written once, what is no tensor by the first.

    Args:
        state_dict: mappings and lists of tensors and other things; what has `state_dict()`, a module say, stands for its state.
        checkpoint_id: path of a folder.
        storage_writer: writes the pieces; `FileSystemWriter(checkpoint_id)` by default.
        planner: decides what is written; `DefaultSavePlanner()` by default.
        process_group: the ranks that save; all by default. Without `init_process_group`, or with `no_dist`, this process alone.
        use_collectives: True; ranks always agree on what each writes.

    Returns: the checkpoint's `Metadata`. Errors: CheckpointException, on all ranks, where one fails.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder, state = tempfile.mkdtemp(), {"w": torch.ones(2), "step": 3}
    >>> sorted(dcp.save(state, checkpoint_id=folder, no_dist=True).state_dict_metadata)
    ['step', 'w']
    >>> state = {"w": torch.zeros(2), "step": 0}
    >>> dcp.load(state, checkpoint_id=folder, no_dist=True)
    >>> state
    {'w': tensor([1., 1.]), 'step': 3}
    """
    if not use_collectives:
        raise NotImplementedError("checkpoint: ranks agree on what each writes by collectives, got use_collectives=False")
    writer = _writer(storage_writer, checkpoint_id)
    return _save(_plain_state(state_dict), writer, planner, _Ranks(process_group, no_dist))


_background = {}  # the group of all ranks -> the group whose collectives saves in the background use


def _background_group(process_group):
    if process_group is not None or not dist.is_initialized():
        return process_group
    world = dist.group.WORLD
    if world not in _background:
        _background.clear()
        _background[world] = dist.new_group(list(range(dist.get_world_size())))
    return _background[world]


def async_save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None, async_checkpointer_type=AsyncCheckpointerType.THREAD,
               async_stager=None, no_dist=False, use_collectives=True):  # fmt: skip
    """As `save`, in the background: what is there at the call is saved, the state may be changed at once.

    Args:
        async_checkpointer_type: THREAD; the other is not here.
        async_stager: its `stage(state)` copies the state, or the writer's.

    Returns: `concurrent.futures.Future` of the `Metadata`, whose `result()` waits and raises what went wrong.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> w = torch.ones(2)
    >>> future = dcp.async_save({'w': w}, checkpoint_id=folder + '/two', no_dist=True)
    >>> list(future.result().state_dict_metadata)
    ['w']
    """
    if async_checkpointer_type is not AsyncCheckpointerType.THREAD:
        raise NotImplementedError(f"checkpoint: saves in the background run in a thread, got {async_checkpointer_type}")
    if not use_collectives:
        raise NotImplementedError("checkpoint: ranks agree on what each writes by collectives, got use_collectives=False")
    writer = _writer(storage_writer, checkpoint_id)
    stager = async_stager or (writer if hasattr(writer, "stage") else FileSystemWriter("."))
    staged = stager.stage(_plain_state(state_dict))
    if isinstance(staged, Future):
        staged = staged.wait()
    ranks = _Ranks(None if no_dist else _background_group(process_group), no_dist)
    pool = concurrent.futures.ThreadPoolExecutor(1, "checkpoint")
    future = pool.submit(_save, staged, writer, planner, ranks)
    pool.shutdown(wait=False)
    return future


def save_state_dict(state_dict, storage_writer, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """As `save`; the deprecated spelling.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> made = dcp.save_state_dict({'n': 4}, dcp.FileSystemWriter(folder + '/two'), no_dist=True)
    >>> list(made.state_dict_metadata)
    ['n']
    """
    import warnings

    warnings.warn("save_state_dict is deprecated; save does the same", FutureWarning, stacklevel=2)
    storage_writer.reset()
    return _save(_plain_state(state_dict), storage_writer, planner, _Ranks(process_group, no_dist, coordinator_rank))
