"""The names of `safetensors.torch`, for programs that run with `torch` and `safetensors` bound to Cresset.

>>> from cresset.io.safetensors.torch import load, save
>>> load(save({"a": torch.zeros(2)}))["a"].tolist()
[0.0, 0.0]
"""

from . import load, load_file, load_model, save, save_file, save_model

__all__ = ["load", "load_file", "load_model", "save", "save_file", "save_model"]
