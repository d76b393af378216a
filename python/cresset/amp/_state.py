"""Settings of a thread's regions of mixed precision: torch.is_autocast_enabled and the like."""

import contextlib
import functools
import warnings

import _cresset

# Device types that PyTorch knows and no backend here: nothing is cast for them.
_ABSENT = ("ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy", "vulkan", "mps", "hpu", "mtia", "privateuseone")


def is_absent(device_type):
    kind = device_type.split(":")[0] if isinstance(device_type, str) else ""
    return kind in _ABSENT and (kind == "privateuseone" or kind != _cresset._private_backend_name())


def is_autocast_enabled(device_type=None):
    """Whether a region of mixed precision is open for a device type on this thread; without one, for "cuda".

    >>> with torch.autocast("cpu"):
    ...     torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled()
    (True, False)
    """
    device_type = "cuda" if device_type is None else device_type
    return not is_absent(device_type) and _cresset._autocast_enabled(device_type)


def set_autocast_enabled(device_type, enabled=None):
    """Opens or closes mixed precision for a device type ("cuda" unless told), for the rest of this thread. Prefer `torch.autocast`.

    TypeError for anything but a bool; RuntimeError for a device that there is no backend for.

    >>> torch.set_autocast_enabled("cpu", True)
    >>> (torch.ones(1, 1) @ torch.ones(1, 1)).dtype
    torch.bfloat16
    >>> torch.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if not isinstance(enabled, bool):
        raise TypeError(f"set_autocast_enabled(): argument 'enabled' must be bool, not {type(enabled).__name__}")
    if is_absent(device_type) and not enabled:
        return
    _cresset._set_autocast_enabled(device_type, enabled)


def get_autocast_dtype(device_type):
    """The dtype that a region takes for a device type unless told another one.

    >>> torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype("cuda")
    (torch.bfloat16, torch.float16)
    """
    if is_absent(device_type):
        return _cresset.bfloat16 if device_type in ("xla", "hpu", "maia") else _cresset.float16
    return _cresset._autocast_dtype(device_type)


def set_autocast_dtype(device_type, dtype):
    """The dtype that regions for a device type take from now on, on this thread. TypeError for anything but a dtype.

    >>> torch.set_autocast_dtype("cpu", torch.float16)
    >>> with torch.autocast("cpu"):
    ...     (torch.ones(1, 1) @ torch.ones(1, 1)).dtype
    torch.float16
    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    if not isinstance(dtype, _cresset.dtype):
        raise TypeError(f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {type(dtype).__name__}")
    if not is_absent(device_type):
        _cresset._set_autocast_dtype(device_type, dtype)


def is_autocast_cache_enabled():
    """Whether casts of leaves that require grad are kept until the outermost region ends.

    >>> torch.is_autocast_cache_enabled()
    True
    """
    return _cresset._autocast_cache_enabled()


def set_autocast_cache_enabled(enabled):
    """Whether to keep casts of leaves that require grad, so that a weight used often is cast once. TypeError for anything but a bool.

    >>> torch.set_autocast_cache_enabled(True)
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"set_autocast_cache_enabled(): argument 'enabled' must be bool, not {type(enabled).__name__}")
    _cresset._set_autocast_cache_enabled(enabled)


def clear_autocast_cache():
    """Forgets the casts that are kept; the end of the outermost region does that by itself.

    >>> torch.clear_autocast_cache()
    """
    _cresset._clear_autocast_cache()


def autocast_increment_nesting():
    """One more region is open; returns how many are.

    >>> torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
    (1, 0)
    """
    return _cresset._autocast_increment_nesting()


def autocast_decrement_nesting():
    """One region less is open; returns how many are.

    >>> torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
    (1, 0)
    """
    return _cresset._autocast_decrement_nesting()


def _regions():
    return [(device, _cresset._autocast_enabled(device), _cresset._autocast_dtype(device)) for device in ("cpu", "cuda")], is_autocast_cache_enabled()


def _set_regions(regions):
    for device, enabled, dtype in regions[0]:
        _cresset._set_autocast_enabled(device, enabled)
        _cresset._set_autocast_dtype(device, dtype)
    set_autocast_cache_enabled(regions[1])


def kept_regions():
    """A function that makes contexts of the precision that this thread computes in now, to compute something again as it was computed."""
    regions = _regions()

    @contextlib.contextmanager
    def again():
        before = _regions()
        _set_regions(regions)
        autocast_increment_nesting()
        try:
            yield
        finally:
            if autocast_decrement_nesting() == 0:
                clear_autocast_cache()
            _set_regions(before)

    return again


def without(function):
    """`function`, which computes as it does outside of regions of mixed precision."""

    @functools.wraps(function)
    def plain(*args, **kwargs):
        if not _cresset._autocast_awake():
            return function(*args, **kwargs)
        before = _regions()
        _set_regions(([(device, False, dtype) for device, _, dtype in before[0]], before[1]))
        try:
            return function(*args, **kwargs)
        finally:
            _set_regions(before)

    return plain


def in_float32(function):
    """`function`, which takes floating tensors in float32 inside regions of mixed precision."""
    computed = without(function)

    @functools.wraps(function)
    def cast(*args, **kwargs):
        if not _cresset._autocast_awake():
            return function(*args, **kwargs)
        return computed(*[_single(a) for a in args], **{name: _single(a) for name, a in kwargs.items()})

    return cast


def _single(value):
    if isinstance(value, _cresset.Tensor) and is_autocast_enabled(value.device.type):
        return _cresset._autocast_cast(value, _cresset.float32, value.device.type)
    return value


def _of_device(name, new, device, function):
    @functools.wraps(function)
    def old(*args):
        warnings.warn(f"torch.{name}() is deprecated, use torch.{new.__name__}({device!r}) instead", DeprecationWarning, stacklevel=2)
        return function(*args)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = f"`torch.{new.__name__}` for {device!r}; the other name is the one to use."
    del old.__wrapped__
    return old


old_names = {}
for _label, _device in (("cpu", "cpu"), ("gpu", "cuda"), ("ipu", "ipu"), ("xla", "xla")):
    _names = [
        (f"is_autocast_{_label}_enabled", is_autocast_enabled, lambda d=_device: is_autocast_enabled(d)),
        (f"set_autocast_{_label}_enabled", set_autocast_enabled, lambda on, d=_device: set_autocast_enabled(d, on)),
        (f"get_autocast_{_label}_dtype", get_autocast_dtype, lambda d=_device: get_autocast_dtype(d)),
        (f"set_autocast_{_label}_dtype", set_autocast_dtype, lambda dtype, d=_device: set_autocast_dtype(d, dtype)),
    ]
    for _name, _new, _function in _names:
        if _label != "gpu" or "_dtype" in _name:
            old_names[_name] = _of_device(_name, _new, _device, _function)
globals().update(old_names)
