"""torch.distributed.checkpoint: states saved by all ranks together, and loaded by as many or as few.

A checkpoint is a folder: files of pieces of each rank, and `.metadata`, which says what they are and is written last. PyTorch reads these folders
and the other way round. Reading calls nothing that a file names.

    import torch.distributed.checkpoint as dcp
    dcp.save({"model": model, "step": 3}, checkpoint_id="folder")
    state = {"model": model, "step": 0}
    dcp.load(state, checkpoint_id="folder")
"""

from cresset._core.missing import found as _found

from . import api, metadata, planner, storage
from .api import CheckpointException
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from .state_dict_loader import load, load_state_dict
from .state_dict_saver import async_save, save, save_state_dict
from .storage import StorageReader, StorageWriter

_SUBMODULES = ...


def __getattr__(name):
    return _found(__name__, name)
