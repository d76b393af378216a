"""Tensors and submodules of a module by their paths: looked up, put in place of others, and given back. Parameters and buffers stay what they are by
name, whatever tensor stands there; the checks and hooks of `nn.Module.__setattr__` are not run."""

import itertools

import cresset as torch

_MISSING = object()  # what `swap_tensor` returns where there was nothing, and takes for nothing


def _checked_name(module, name, what):
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"expected an instance of torch.nn.Module, got {type(module).__name__}")
    if not name or "." in name:
        raise KeyError(f"{what} names are one step long: expected a name without a point, got {name!r}")


def _table_of(module, name, tensor):
    """The table that holds a name, or would hold a tensor under it."""
    known = next((table for table in (module._parameters, module._buffers) if name in table), None)
    if known is not None:
        return known
    return module._parameters if isinstance(tensor, torch.nn.Parameter) and name not in module.__dict__ else module.__dict__


def swap_tensor(module, name, tensor, allow_missing=False):
    """Puts a tensor, None or nothing in place of the one of that name; returns what was there.

    Errors: KeyError for a path, AttributeError where there is nothing and `allow_missing` is off, TypeError for what is no tensor on either side; the
    module is as before then.

    >>> layer = nn.Linear(2, 1)
    >>> from cresset.nn.utils._named_member_accessor import swap_tensor
    >>> swap_tensor(layer, "bias", torch.zeros(1)) is layer.bias
    False
    """
    _checked_name(module, name, "tensor")
    table = _table_of(module, name, tensor)
    before = table.get(name, _MISSING)
    for thing in (before, tensor):
        if thing is not _MISSING and thing is not None and not isinstance(thing, torch.Tensor):
            raise TypeError(f"{type(module).__name__}.{name}: expected an instance of torch.Tensor, got {type(thing).__name__}")
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    if tensor is _MISSING:
        table.pop(name, None)
    else:
        table[name] = tensor
    return before


def set_tensor(module, name, tensor):
    """Puts a tensor under a name, in the table that holds the name or as an attribute. Errors as of `swap_tensor`."""
    swap_tensor(module, name, tensor, allow_missing=True)


def swap_submodule(module, name, submodule):
    """Puts a module in place of the one of that name; returns that one. Errors as of `swap_tensor`."""
    _checked_name(module, name, "submodule")
    if not isinstance(submodule, torch.nn.Module):
        raise TypeError(f"{name}: expected an instance of torch.nn.Module, got {type(submodule).__name__}")
    if name not in module._modules:
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    before, module._modules[name] = module._modules[name], submodule
    return before


class NamedMemberAccessor:
    """Access to a module's tensors and submodules by paths, `block.0.weight`. Errors as of `swap_tensor`, for each step of the path."""

    def __init__(self, module):
        self.module = module

    def _owner(self, path):
        before, _, name = path.rpartition(".")
        return self.get_submodule(before), name

    def get_submodule(self, name):
        """The submodule at a path; the module itself at the empty one. AttributeError where there is none, TypeError for what is no module."""
        found = self.module
        for step in name.split(".") if name else ():
            owner, found = found, getattr(found, step, _MISSING)
            if found is _MISSING:
                raise AttributeError(f"{type(owner).__name__} has no attribute `{step}`")
            if not isinstance(found, torch.nn.Module):
                raise TypeError(f"{step}: expected an instance of torch.nn.Module, found {type(found).__name__}")
        return found

    def swap_submodule(self, path, value):
        """Puts a module at a path; returns the one that was there."""
        owner, name = self._owner(path)
        return swap_submodule(owner, name, value)

    def get_tensor(self, name):
        """The tensor at a path."""
        owner, leaf = self._owner(name)
        found = getattr(owner, leaf, _MISSING)
        if found is _MISSING:
            raise AttributeError(f"{type(owner).__name__} has no attribute `{leaf}`")
        if found is not None and not isinstance(found, torch.Tensor):
            raise TypeError(f"{name}: expected an instance of torch.Tensor, found {type(found).__name__}")
        return found

    def set_tensor(self, name, value):
        """Puts a tensor at a path."""
        set_tensor(*self._owner(name), value)

    def del_tensor(self, name):
        """Takes away the tensor at a path, and its name."""
        swap_tensor(*self._owner(name), _MISSING)

    def swap_tensor(self, name, value, allow_missing=False):
        """Puts a tensor at a path; returns what was there."""
        return swap_tensor(*self._owner(name), value, allow_missing)

    def get_tensors(self, names):
        """The tensors at several paths."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names, values):
        """Puts tensors at several paths. ValueError where there is no value for each."""
        self.swap_tensors(names, values, allow_missing=True)

    def set_tensors_dict(self, named_tensors):
        """Puts tensors at the paths that are their keys."""
        self.set_tensors(named_tensors.keys(), named_tensors.values())

    def del_tensors(self, names):
        """Takes away the tensors at several paths."""
        for path in names:
            self.del_tensor(path)

    def swap_tensors(self, names, values, allow_missing=False):
        """Puts tensors at several paths; returns those that were there. ValueError where there is no value for each, and nothing is changed then."""
        paths, tensors = list(names), list(values)
        if len(paths) != len(tensors):
            raise ValueError(f"expected a tensor for each name, got {len(paths)} names and {len(tensors)} tensors")
        return [self.swap_tensor(*pair, allow_missing) for pair in zip(paths, tensors, strict=True)]

    def swap_tensors_dict(self, named_tensors, allow_missing=False):
        """Puts tensors at the paths that are their keys; returns those that were there, by path, and the paths where nothing was. RuntimeError for such
        paths where `allow_missing` is off, and nothing is changed then."""
        before, missing = {}, []
        for name, tensor in named_tensors.items():
            try:
                before[name] = self.swap_tensor(name, tensor, allow_missing=True)
            except (AttributeError, KeyError):
                missing.append(name)
                continue
            if before[name] is _MISSING:
                missing.append(name)
        if missing and not allow_missing:
            for name, tensor in before.items():
                self.swap_tensor(name, tensor, allow_missing=True)
            raise RuntimeError(f"expected tensors at all paths, found none at: {', '.join(map(repr, missing))}")
        return before, missing

    def check_keys(self, keys):
        """The paths of tensors that are not among the keys, and the keys that are paths of none."""
        keys, paths = set(keys), {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(paths - keys), sorted(keys - paths)

    def named_parameters(self, remove_duplicate=True):
        """Paths and parameters."""
        return self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate=True):
        """Paths and buffers."""
        return self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate=True):
        """Paths and tensors: parameters, then buffers."""
        return itertools.chain(self.named_parameters(remove_duplicate), self.named_buffers(remove_duplicate))

    def named_modules(self, remove_duplicate=True):
        """Paths and modules."""
        return self.module.named_modules(remove_duplicate=remove_duplicate)
