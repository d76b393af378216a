"""torch.utils: hook handles and data loading; submodules load at first use."""

import importlib as _importlib

_SUBMODULES = ("benchmark", "checkpoint", "data", "dlpack", "hooks", "tensorboard")


def __getattr__(name):
    if name in _SUBMODULES:
        try:
            return _importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    from cresset import _missing

    raise _missing.error(__name__, name)
