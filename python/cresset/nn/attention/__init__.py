"""torch.nn.attention: which kernels may serve attention, causal masks, and attention whose scores a function of yours changes.

>>> from cresset.nn.attention import SDPBackend, sdpa_kernel
>>> q = torch.ones(1, 1, 2, 4)
>>> with sdpa_kernel(SDPBackend.MATH):
...     F.scaled_dot_product_attention(q, q, q).shape
torch.Size([1, 1, 2, 4])
"""

import contextlib as _contextlib
import enum as _enum
import importlib as _importlib
import warnings as _warnings

from cresset import _operators
from cresset.backends import cuda as _cuda
from cresset.overrides import TorchFunctionMode as _Mode
from cresset.overrides import redispatch_function as _redispatch

_SUBMODULES = ("bias", "flex_attention")
__all__ = ["SDPBackend", "sdpa_kernel", "WARN_FOR_UNFUSED_KERNELS", "register_flash_attention_impl", "activate_flash_attention_impl",
           "list_flash_attention_impls", "current_flash_attention_impl", "restore_flash_attention_impl"]  # fmt: skip

#: Whether to warn where no fused kernel may serve a call.
WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(_enum.Enum):
    """The kernels that may serve `scaled_dot_product_attention`; on the CPU there are MATH and FLASH_ATTENTION.

    >>> torch.nn.attention.SDPBackend.MATH, torch.nn.attention.SDPBackend.FLASH_ATTENTION.value
    (<SDPBackend.MATH: 0>, 1)
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self):
        return self.value


_SWITCHES = {SDPBackend.FLASH_ATTENTION: "flash", SDPBackend.EFFICIENT_ATTENTION: "mem_efficient", SDPBackend.MATH: "math", SDPBackend.CUDNN_ATTENTION: "cudnn"}


def _attends(function, args):
    """Whether a call comes to the kernels: several heads do unless they give their weights."""
    if function is _operators["_multi_head_attention"]:
        return not args[20]
    return function is _operators["scaled_dot_product_attention"]


class _NoKernel(_Mode):
    """While it is active, attention has no kernel that may serve it."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if _attends(function, args):
            if WARN_FOR_UNFUSED_KERNELS:
                _warnings.warn("attention: only kernels of other devices are allowed here; the CPU has MATH and FLASH_ATTENTION", stacklevel=3)
            raise RuntimeError("scaled_dot_product_attention: expected at least one of its kernels to be allowed, got none")
        with self:  # for what the function calls in turn
            return _redispatch(function, types, args, kwargs)


@_contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """A context in which only the given kernels may serve `scaled_dot_product_attention`.

    Args:
        backends: an `SDPBackend`, or a list of them. On the CPU one kernel serves both MATH and FLASH_ATTENTION; with neither allowed,
            a call of attention raises RuntimeError.
        set_priority: whether their order is that of preference; with one kernel for all there is no choice to make.

    Errors: AssertionError for other kinds of values.

    >>> from cresset.nn.attention import SDPBackend, sdpa_kernel
    >>> with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
    ...     F.scaled_dot_product_attention(*[torch.ones(1, 1, 2, 4)] * 3)[0, 0, 0]
    tensor([1., 1., 1., 1.])
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(f"sdpa_kernel: expected an SDPBackend or a list of them, got {type(backends).__name__}")
    chosen = [backends] if isinstance(backends, SDPBackend) else list(dict.fromkeys(backends))
    before = dict(_cuda._attention)
    _cuda._attention.update({name: backend in chosen for backend, name in _SWITCHES.items()})
    served = SDPBackend.MATH in chosen or SDPBackend.FLASH_ATTENTION in chosen
    try:
        with _contextlib.nullcontext() if served else _NoKernel():
            yield {}
    finally:
        _cuda._attention.update(before)


def _needs(package):
    def register():
        try:
            _importlib.import_module(package)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"this implementation of attention needs the package {package}, and a CUDA device", name=error.name) from None
        raise RuntimeError(f"{package} serves CUDA devices, and this build of Cresset runs on the CPU")

    return register


_implementations = {"FA3": _needs("flash_attn_interface"), "FA4": _needs("flash_attn.cute.interface")}
_active = []


def register_flash_attention_impl(impl, *, register_fn):
    """Names an implementation of flash attention: `register_fn()` puts it in place when it is activated.

    It may return an object whose `remove()` takes it out of use again.

    >>> torch.nn.attention.register_flash_attention_impl("mine", register_fn=lambda: None)
    >>> "mine" in torch.nn.attention.list_flash_attention_impls()
    True
    """
    _implementations[impl] = register_fn


def activate_flash_attention_impl(impl):
    """Puts a registered implementation of flash attention in place of the one before. ValueError for a name that is not registered.

    >>> torch.nn.attention.register_flash_attention_impl("mine", register_fn=lambda: None)
    >>> torch.nn.attention.activate_flash_attention_impl("mine")
    >>> torch.nn.attention.current_flash_attention_impl()
    'mine'
    >>> torch.nn.attention.restore_flash_attention_impl()
    """
    if impl not in _implementations:
        raise ValueError(f"Unknown flash attention impl {impl!r}. Available implementations: {list(_implementations)}")
    if _active and _active[0] == impl:
        return
    handle = _implementations[impl]()
    restore_flash_attention_impl(_raise_warn=False)
    _active[:] = [impl, handle]


def list_flash_attention_impls():
    """Names of the registered implementations of flash attention.

    >>> torch.nn.attention.list_flash_attention_impls()[:2]
    ['FA3', 'FA4']
    """
    return list(_implementations)


def current_flash_attention_impl():
    """The name of the implementation that was activated, or None for the one that is built in.

    >>> torch.nn.attention.current_flash_attention_impl()
    """
    return _active[0] if _active else None


def restore_flash_attention_impl(_raise_warn=True):
    """Puts the built-in implementation of flash attention back; warns where no other was activated.

    >>> torch.nn.attention.restore_flash_attention_impl(_raise_warn=False)
    """
    if not _active:
        if _raise_warn:
            _warnings.warn("restore_flash_attention_impl: no other implementation was activated", stacklevel=2)
        return
    handle = _active[1]
    _active.clear()
    if hasattr(handle, "remove"):
        handle.remove()
