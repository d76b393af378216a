"""Where the sample models are, and the same networks with PyTorch."""

import importlib.util
import os
import types
import unittest
import wave
from pathlib import Path

import cresset as torch

DATA = Path(os.environ.get("CRESSET_SHARED", Path(__file__).resolve().parents[4] / "shared")) / "data"
MODELS = DATA / "models"
HAS_TORCH = importlib.util.find_spec("torch") is not None

needs_models = unittest.skipUnless(MODELS.is_dir(), "the folder of sample models is not there")
needs_torch = unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")


def peer_nets():
    """`nets` over PyTorch."""
    text = Path(__file__).with_name("nets.py").read_text()
    module = types.ModuleType("peer_nets")
    exec(text.replace("import cresset as torch", "import torch").replace("from cresset", "from torch"), module.__dict__)
    return module


def to_peer(value):
    """Our tensor as PyTorch's, over the same memory."""
    import torch as peer

    return peer.from_dlpack(value.contiguous())


def read_wav(path):
    """Samples in [-1, 1) of a recording of 16 bits."""
    with wave.open(str(path)) as file:
        data = bytearray(file.readframes(file.getnframes()))
    return torch.frombuffer(data, dtype=torch.int16).float() / 32768
