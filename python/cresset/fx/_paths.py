"""Attributes of modules by their paths, as `encoder.0.weight`."""

import cresset as torch
from cresset import nn

MISSING = object()


def part_of(module, name, default):
    """An attribute, children first: these are found without the look-up of modules, which is slow."""
    children = getattr(module, "__dict__", {}).get("_modules")
    child = None if children is None else children.get(name)
    return getattr(module, name, default) if child is None else child


def found_at(module, path, default=MISSING):
    """The value at a path of a module; the default where a part of the path is not there."""
    for part in path.split("."):
        module = part_of(module, part, MISSING)
        if module is MISSING:
            return default
    return module


def below(module, part):
    """The child of this name, an empty module where there was none."""
    child = part_of(module, part, None)
    if child is None:
        child = nn.Module()
        setattr(module, part, child)
    return child


def put(holder, name, value, persistent=True):
    """Gives a module a value; tensors become buffers."""
    if isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter):
        holder.register_buffer(name, value, persistent=persistent)
    else:
        setattr(holder, name, value)


def _get_attr(model, attr_name):
    """The attribute of a module at a path. AttributeError where there is none."""
    value = found_at(model, attr_name)
    if value is MISSING:
        raise AttributeError(f"{type(model).__name__} has no attribute at the path {attr_name!r}")
    return value


def _has_attr(model, attr_name):
    """Whether a module has an attribute at a path."""
    return found_at(model, attr_name) is not MISSING


def _del_attr(model, attr_name):
    """Delete the attribute of a module at a path."""
    place, _, name = attr_name.rpartition(".")
    delattr(_get_attr(model, place) if place else model, name)


def _copy_attr(from_module, to_module, target):
    """Give a module the attribute that another has at a path; what it has there already stays, as do attributes that are not there."""
    *way, name = target.split(".")
    for part in way:
        source = part_of(from_module, part, None)
        if source is None or source is part_of(to_module, part, None):
            return
        from_module, to_module = source, below(to_module, part)
    value = part_of(from_module, name, MISSING)
    if value is MISSING:
        raise AttributeError(f"{type(from_module).__name__} has no attribute {name!r}")
    put(to_module, name, value, name not in getattr(from_module, "_non_persistent_buffers_set", ()))


def _assign_attr(from_obj, to_module, target):
    """Give a module an object as its attribute at a path; tensors become buffers."""
    *way, name = target.split(".")
    for part in way:
        to_module = below(to_module, part)
    put(to_module, name, from_obj)
