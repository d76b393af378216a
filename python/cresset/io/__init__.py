"""Files of tensors in formats other than PyTorch's: `safetensors` and NumPy's (`npy`). Checkpoints are `torch.save` and `torch.load`."""

from . import npy, safetensors
from .npy import load_npy, load_npz, save_npy, save_npz

__all__ = ["safetensors", "npy", "load_npy", "load_npz", "save_npy", "save_npz"]
