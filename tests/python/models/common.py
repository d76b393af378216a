"""Where the sample models are, and the same networks with PyTorch."""

import importlib.util
import os
import types
import unittest
import wave
import zipfile
from pathlib import Path

import cresset as torch
from cresset.io.inspect import inspect

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


def script_tensors(path):
    """The tensors of a TorchScript archive by name. The code in it is not looked at."""
    result = {}
    with zipfile.ZipFile(path) as archive:
        folder = archive.namelist()[0].split("/")[0]
        for item in inspect(path)["tensors"]:
            data = bytearray(archive.read(f"{folder}/data/{item['storage']}")) if item["storage"] is not None else bytearray()
            storage = torch.frombuffer(data, dtype=getattr(torch, item["dtype"])) if data else torch.empty(0)
            result[item["name"]] = storage.as_strided(item["shape"], item["stride"], item.get("offset", 0))
    return result
