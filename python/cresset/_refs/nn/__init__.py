"""`torch._refs.nn`: its `functional` has the functions of `torch.nn.functional`."""

import importlib


def __getattr__(name):
    if name == "functional":
        return importlib.import_module(f"{__name__}.functional")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
