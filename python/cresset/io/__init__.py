"""Files of tensors in formats other than PyTorch's: `safetensors`, NumPy's (`npy`) and `gguf`. Checkpoints are `torch.save` and `torch.load`; `load_torchscript`
gives the tensors of archives that hold code.
`python -m cresset.io inspect FILE` lists what any of them holds."""

from . import gguf, inspect, npy, safetensors
from .gguf import load_gguf
from .npy import load_npy, load_npz, save_npy, save_npz
from .torchscript import load_torchscript

__all__ = ["gguf", "inspect", "safetensors", "npy", "load_gguf", "load_npy", "load_npz", "load_torchscript", "save_npy", "save_npz"]
