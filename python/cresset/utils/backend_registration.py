"""The device that programs define, "privateuseone": another name for it, and methods of tensors and modules under that name.

>>> torch.utils.backend_registration._privateuse1_backend_name
'privateuseone'
"""

import _cresset

import cresset as torch

__all__ = ["generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"]


def __getattr__(name):
    if name == "_privateuse1_backend_name":
        return _cresset._private_backend_name()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def rename_privateuse1_backend(backend_name):
    """Gives the device "privateuseone" another name, once: "mine" makes `torch.device("mine:0")` valid.

    Errors: RuntimeError for a second name, and for one that another kind of device has.

    >>> torch.utils.rename_privateuse1_backend("cpu")
    Traceback (most recent call last):
    RuntimeError: register_privateuse1_backend: "cpu" is the name of another device type
    """
    _cresset._rename_private_backend(backend_name)


def _add(owner, name, value):
    if hasattr(owner, name):
        raise RuntimeError(f"generate_methods_for_privateuse1_backend: {owner.__name__} has a {name} already")
    setattr(owner, name, value)


def _device_of(name, device):
    """The device that a call means: by number, by name, or the present one of the registered module."""
    if device is None:
        module = getattr(torch, name, None)
        return torch.device(name, module.current_device() if module is not None and hasattr(module, "current_device") else 0)
    found = torch.device(name, device) if isinstance(device, int) else torch.device(device)
    if found.type != name:
        raise RuntimeError(f"Invalid device, must be {name} device, got {found}")
    return found


def _tensor_methods(name, owner):
    def move(self, device=None, non_blocking=False, **kwargs):
        return self.to(device=_device_of(name, device), non_blocking=non_blocking, **kwargs)

    move.__name__, move.__doc__ = name, f"The tensor on the device {name}; see `Tensor.to`."
    _add(owner, f"is_{name}", property(lambda self: self.device.type == name))
    _add(owner, name, move)


def _module_methods(name):
    def move(self, device=None):
        return self._apply(lambda t: getattr(t, name)(device))

    move.__name__, move.__doc__ = name, f"Moves all parameters and buffers to the device {name}."
    _add(torch.nn.Module, name, move)


def _sequence_methods(name):
    from ..nn.utils.rnn import PackedSequence

    def move(self, *args, **kwargs):
        return self.to(*args, **{"device": _device_of(name, None), **kwargs})

    move.__name__, move.__doc__ = name, f"The sequence on the device {name}."
    _add(PackedSequence, f"is_{name}", property(lambda self: self.data.device.type == name))
    _add(PackedSequence, name, move)


def _storage_methods(name, unsupported):
    def move(self, device=None, non_blocking=False):
        bytes_here = torch.empty(0, dtype=torch.uint8, device=self.device).set_(self)
        return bytes_here.to(device=_device_of(name, device), non_blocking=non_blocking).untyped_storage()

    move.__name__, move.__doc__ = name, f"A copy of the storage on the device {name}."
    _add(torch.UntypedStorage, f"is_{name}", property(lambda self: self.device.type == name))
    _add(torch.UntypedStorage, name, move)

    def typed(self, device=None, non_blocking=False):
        if self.dtype in unsupported:
            raise RuntimeError(f"Cannot store {self.dtype} on the device {name}")
        return torch.TypedStorage(wrap_storage=getattr(self.untyped(), name)(device, non_blocking), dtype=self.dtype, _internal=True)

    _add(torch.TypedStorage, f"is_{name}", property(lambda self: self.device.type == name))
    _add(torch.TypedStorage, name, typed)


def generate_methods_for_privateuse1_backend(for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=False, unsupported_dtype=None):
    """Gives tensors, modules, packed sequences and storages the methods of the device's name: `tensor.mine()`, `tensor.is_mine`.

    Args:
        unsupported_dtype: dtypes that the device does not store.

    Errors: RuntimeError where there is such a method already.

    >>> import inspect
    >>> list(inspect.signature(torch.utils.generate_methods_for_privateuse1_backend).parameters)[:2]
    ['for_tensor', 'for_module']
    """
    name = _cresset._private_backend_name()
    if for_tensor:
        _tensor_methods(name, torch.Tensor)
    if for_module:
        _module_methods(name)
    if for_packed_sequence:
        _sequence_methods(name)
    if for_storage:
        _storage_methods(name, unsupported_dtype or [])
