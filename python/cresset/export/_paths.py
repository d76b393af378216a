"""Attributes of modules by path: "inner.weight"."""

import cresset as torch

from .. import nn


def get(module, path):
    """The attribute at a path; the module itself where the path is empty."""
    for part in path.split(".") if path else ():
        module = getattr(module, part)
    return module


def has(module, path):
    """Whether there is one."""
    for part in path.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


def holder(module, parts):
    """The module at a path, made with those on the way where they are not there."""
    for part in parts:
        if getattr(module, part, None) is None:
            module.add_module(part, nn.Module())
        module = getattr(module, part)
    return module


def put(value, module, path, persistent=True):
    """Sets the attribute at a path; tensors become buffers, or stay parameters."""
    *parts, name = path.split(".")
    owner = holder(module, parts)
    if isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter):
        owner.register_buffer(name, value, persistent=persistent)
    else:
        setattr(owner, name, value)
