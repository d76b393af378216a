"""Regions of mixed precision, and custom functions that know of them."""

import collections.abc
import functools
import sys
import warnings

import _cresset
from _cresset import Tensor, bfloat16, float16

from . import _state

__all__ = ["autocast_decorator", "autocast", "is_autocast_available", "custom_fwd", "custom_bwd"]

_LOWER = (bfloat16, float16)


def is_autocast_available(device_type):
    """Whether regions of mixed precision exist for a device type. RuntimeError for one that is not known.

    >>> torch.amp.is_autocast_available("cpu"), torch.amp.is_autocast_available("meta")
    (True, False)
    """
    if _state.is_absent(device_type):
        return device_type in ("mps", "xpu", "hpu", "xla", "mtia", "maia", "ipu", "privateuseone")
    return _cresset._autocast_available(device_type)


def autocast_decorator(autocast_instance, func):
    """`func`, run in the region each time it is called.

    >>> mm = torch.amp.autocast_mode.autocast_decorator(torch.autocast("cpu"), torch.mm)
    >>> mm(torch.ones(1, 1), torch.ones(1, 1)).dtype
    torch.bfloat16
    """

    @functools.wraps(func)
    def decorated(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)

    return decorated


def _check_type(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"autocast: expected device_type to be a str, got `{type(device_type)}`")


class autocast:
    """A region of mixed precision on a device type; a context and a decorator. Regions nest, and one with enabled=False is in full precision.

    In it, matrix products, convolutions, attention and linear layers take their floating inputs in `dtype` (bfloat16 or float16; on the CPU
    bfloat16 unless told), losses and operators that need the range take them in float32, those that join tensors in the widest dtype of
    their inputs; other operators follow their inputs. float64 and what is not floating stays. Casts of parameters are kept until the
    outermost region ends (`cache_enabled`). Run `backward` after the region: gradients have the dtypes of what they are gradients of.

    A dtype that the device type does not compute in, or a device that is not there, leaves the region in full precision, with a warning.
    Errors: ValueError for a device type that is not text, RuntimeError for one that is not known.

    >>> x, w = torch.ones(2, 3), torch.ones(3, 1, requires_grad=True)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     y = x @ w
    ...     with torch.autocast("cpu", enabled=False):
    ...         z = x @ w
    >>> y.dtype, z.dtype
    (torch.bfloat16, torch.float32)
    >>> y.sum().backward(); w.grad.dtype
    torch.float32
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        _check_type(device_type)
        if dtype is not None and not isinstance(dtype, _cresset.dtype):
            raise TypeError(f"autocast: expected a torch.dtype, got {type(dtype).__name__}")
        self.fast_dtype = _state.get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(f"autocast: no such device_type, {device_type!r}")
        self.device = device_type
        self._cache_enabled = _state.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        kind = device_type.split(":")[0]
        if enabled and (_state.is_absent(device_type) or kind == "cuda" and not _cuda_is_there()):
            warnings.warn(f"{kind.upper()} is not available. Disabling autocast.", stacklevel=2)
            enabled = False
        elif enabled and self.fast_dtype not in (taken := _dtypes_of(kind)):
            warnings.warn(
                f"In {kind.upper()} autocast, but the target dtype {self.fast_dtype} is no dtype of autocast here, which stays off.\n"
                f"{kind.upper()} Autocast only supports dtypes of {', '.join(map(str, taken))} currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._before = []

    def __enter__(self):
        self._before.append(_cresset._autocast_enter(*self._region()))
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        _cresset._autocast_exit(self._region()[0], self._before.pop())
        return False

    def _region(self):
        # A device that is not there has no state: the region changes the cache's alone.
        if _state.is_absent(self.device):
            return "cpu", _cresset._autocast_enabled("cpu"), _cresset._autocast_dtype("cpu"), self._cache_enabled
        return self.device, self._enabled, self.fast_dtype, self._cache_enabled

    def __call__(self, func):
        return autocast_decorator(self, func)


def _dtypes_of(kind):
    """The dtypes that regions on a kind of device may have; the module of a device that a library brings names its own."""
    if kind != _cresset._private_backend_name() or kind == "privateuseone":
        return _LOWER
    own = sys.modules[__name__.split(".")[0]].__dict__.get(kind)
    if not hasattr(own, "get_amp_supported_dtype"):
        raise RuntimeError(f"autocast: torch.{kind} names no dtypes; its module needs get_amp_supported_dtype(), a list of them")
    return [dtype for dtype in own.get_amp_supported_dtype() if dtype in _LOWER]


def _cuda_is_there():
    from .. import cuda

    return cuda.is_available()


def _enter_autocast(*vals):
    """Opens a region and returns it, for `_exit_autocast` to close."""
    mode = autocast(*vals)
    mode.__enter__()
    return mode


def _exit_autocast(mode):
    mode.__exit__(None, None, None)


def _cast(value, device_type, dtype):
    """Floating tensors of the device but float64 in another dtype, wherever they stand in `value`."""
    if isinstance(value, Tensor):
        casts = value.is_floating_point() and value.device.type == device_type and value.dtype is not _cresset.float64
        return value.to(dtype) if casts else value
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, collections.abc.Mapping):
        return {_cast(part, device_type, dtype): _cast(value[part], device_type, dtype) for part in value}
    if isinstance(value, (list, tuple)):
        items = [_cast(v, device_type, dtype) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """For `forward` of a custom function: with `cast_inputs`, inside a region its floating inputs come in that dtype and it runs without the region.

    Without it, `forward` runs as it is called and `custom_bwd` runs `backward` in the same precision. ValueError for a device type that is
    not text.

    >>> class Product(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, a, b):
    ...         ctx.save_for_backward(a, b)
    ...         return a @ b
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         a, b = ctx.saved_tensors
    ...         return grad @ b.T, a.T @ grad
    >>> a = torch.ones(2, 2, requires_grad=True)
    >>> with torch.autocast("cpu"):
    ...     Product.apply(a, a.bfloat16()).dtype
    torch.float32
    """
    _check_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args, **kwargs):
        ctx = args[0]
        inside = _state.is_autocast_enabled(device_type)
        ctx._dtype = _state.get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = inside and cast_inputs is None
        if not inside or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            args, kwargs = _cast([args, kwargs], device_type, cast_inputs)
            return fwd(*args, **kwargs)

    return decorated


def custom_bwd(bwd=None, *, device_type):
    """For `backward` of a custom function whose `forward` has `custom_fwd`: runs it in the precision that `forward` ran in.

    ValueError for a device type that is not text.

    >>> class Twice(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         print("in a region:", torch.is_autocast_enabled("cpu"))
    ...         return grad * 2
    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.autocast("cpu"):
    ...     y = Twice.apply(x)
    >>> y.sum().backward()
    in a region: True
    """
    _check_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args, **kwargs):
        ctx = args[0]
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return decorated
