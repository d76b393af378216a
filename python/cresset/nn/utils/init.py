"""Modules without the cost of their first values."""

import inspect

from ..modules.module import Module


def skip_init(module_cls, *args, **kwargs):
    """A module whose parameters have memory and no values: nothing is drawn. RuntimeError for what takes no `device`.

    >>> nn.utils.skip_init(nn.Linear, 2, 3).weight.shape
    torch.Size([3, 2])
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"expected a Module; got {module_cls}")
    signature = inspect.signature(module_cls).parameters
    if "device" not in signature and not any(p.kind is p.VAR_KEYWORD for p in signature.values()):
        raise RuntimeError("module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    kwargs["device"] = "meta"
    return module_cls(*args, **kwargs).to_empty(device=device)
