"""Loading a state, by one process or by all of a group, however many saved it."""

from .default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader
from .stateful import Stateful
from .utils import _Ranks

__all__ = ["load", "load_state_dict"]


def _reader(storage_reader, checkpoint_id):
    if storage_reader is None:
        if checkpoint_id is None:
            raise RuntimeError("checkpoint: expected checkpoint_id, a path, or storage_reader; got neither")
        storage_reader = FileSystemReader(checkpoint_id)
    storage_reader.reset(checkpoint_id)
    return storage_reader


def _load(state_dict, reader, planner, ranks):
    planner = planner or DefaultLoadPlanner()

    def local_plan():
        metadata = reader.read_metadata()
        planner.set_up_planner(state_dict, metadata, ranks.is_coordinator)
        reader.set_up_storage_reader(metadata, ranks.is_coordinator, rank=ranks.rank)
        return reader.prepare_local_plan(planner.create_local_plan())

    plans = ranks.gathered("planning", local_plan)
    made = ranks.decided("planning", lambda: reader.prepare_global_plan(planner.create_global_plan(plans)))
    own = made[ranks.rank]

    def read():
        reader.read_data(planner.finish_plan(own), planner).wait()

    ranks.gathered("reading", read)


def load(state_dict, *, checkpoint_id=None, storage_reader=None, planner=None, process_group=None, no_dist=False):
    """Loads a state in place, of all ranks of a group together.

    Args:
        state_dict: as for `save`, with tensors of the shapes that were saved, which are filled where they are; what is no tensor is replaced. An object with
            `load_state_dict()`, a module say, is given its state.
        checkpoint_id: path of a folder.
        storage_reader: reads the pieces; `FileSystemReader(checkpoint_id)` by default.
        planner: decides what is read; `DefaultLoadPlanner()` by default.
        process_group: the ranks that load; all by default. Without `init_process_group`, or with `no_dist`, this process alone.

    Errors: CheckpointException, on all ranks, where one fails: a key that the checkpoint lacks, another shape, no checkpoint there.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> state = {'w': torch.zeros(2)}
    >>> dcp.load(state, checkpoint_id=folder, no_dist=True)
    >>> state
    {'w': tensor([1., 1.])}
    """
    reader = _reader(storage_reader, checkpoint_id)
    ranks = _Ranks(process_group, no_dist)
    states = {key: value.state_dict() if isinstance(value, Stateful) else value for key, value in state_dict.items()}
    _load(states, reader, planner, ranks)
    for key, value in list(state_dict.items()):
        if isinstance(value, Stateful):
            value.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


def load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """As `load`; the deprecated spelling, for which nothing gives or takes a state of its own.

    >>> import tempfile, cresset.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> made = dcp.save({'w': torch.ones(2), 'n': 3}, checkpoint_id=folder, no_dist=True)
    >>> state = {'n': 0}
    >>> dcp.load_state_dict(state, dcp.FileSystemReader(folder), no_dist=True)
    >>> state
    {'n': 3}
    """
    import warnings

    warnings.warn("load_state_dict is deprecated; load does the same", FutureWarning, stacklevel=2)
    storage_reader.reset()
    _load(state_dict, storage_reader, planner, _Ranks(process_group, no_dist, coordinator_rank))


def _load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    _load(state_dict, storage_reader, planner, _Ranks(process_group, no_dist, coordinator_rank))


def _load_state_dict_from_keys(keys=None, *, checkpoint_id=None, storage_reader=None, process_group=None):
    """Everything of a checkpoint, or what is below these names."""
    reader, state = _reader(storage_reader, checkpoint_id), {}
    wanted = {keys} if isinstance(keys, str) else keys
    _load(state, reader, _EmptyStateDictLoadPlanner(wanted), _Ranks(process_group))
    return state
