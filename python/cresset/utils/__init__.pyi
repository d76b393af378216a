"""torch.utils: hook handles, recomputation and data loading."""

from .. import Tensor
from . import checkpoint as checkpoint, data as data, hooks as hooks, tensorboard as tensorboard
from . import model_summary as model_summary
from .model_summary import summary as summary

def swap_tensors(t1: Tensor, t2: Tensor) -> None: ...
def get_cpp_backtrace(frames_to_skip: int = 0, maximum_number_of_frames: int = 64) -> str: ...
