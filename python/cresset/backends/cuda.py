"""Settings of CUDA devices. The flags keep their values; without a CUDA device nothing reads them.

>>> torch.backends.cuda.matmul.allow_tf32
False
"""

import contextlib as _contextlib
import sys as _sys
import types as _types

from . import _flags

matmul = _types.ModuleType(f"{__name__}.matmul", "Matrix products on CUDA devices.")
_sys.modules[matmul.__name__] = matmul
_flags.install(
    matmul.__name__,
    freezes=False,
    allow_tf32=(False, bool),
    allow_fp16_reduced_precision_reduction=(True, bool),
    allow_bf16_reduced_precision_reduction=(True, bool),
    allow_fp16_accumulation=(False, bool),
)

_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built():
    """Whether the library was built with CUDA.

    >>> torch.backends.cuda.is_built()
    False
    """
    return False


class _Library:
    """The choice of a library for CUDA devices: it has a name, and nothing reads it."""

    def __init__(self, kind, chosen, names):
        self.kind, self.chosen, self.names = kind, chosen, names

    def __call__(self, backend=None):
        if backend is not None:
            name = backend if isinstance(backend, str) else getattr(backend, "name", backend)
            if not isinstance(name, str) or name.lower() not in self.names:
                raise RuntimeError(f"preferred_{self.kind}_library: expected one of {', '.join(self.names)}, got {backend!r}")
            self.chosen = name.lower()
        return self.chosen


_linalg, _blas = (
    _Library("linalg", "default", ("default", "cusolver", "magma")),
    _Library("blas", "default", ("default", "cublas", "cublaslt", "hipblaslt", "ck")),
)


def preferred_linalg_library(backend=None):
    """The library of linear algebra on CUDA devices, set where a name is given. RuntimeError for another name.

    >>> torch.backends.cuda.preferred_linalg_library("magma")
    'magma'
    >>> torch.backends.cuda.preferred_linalg_library("default")
    'default'
    """
    return _linalg(backend)


def preferred_blas_library(backend=None):
    """The library of matrix products on CUDA devices, set where a name is given. RuntimeError for another name.

    >>> torch.backends.cuda.preferred_blas_library()
    'default'
    """
    return _blas(backend)


def _switch(kind, read, write):
    def enabled():
        return _attention[kind]

    def enable(enabled):
        if not isinstance(enabled, bool):
            raise TypeError(f"{write}: expected bool, got {type(enabled).__name__}")
        _attention[kind] = enabled

    enabled.__name__ = enabled.__qualname__ = read
    enabled.__doc__ = f"Whether the {kind} kernel of attention on CUDA devices is allowed.\n\n    >>> torch.backends.cuda.{read}()\n    True\n    "
    enable.__name__ = enable.__qualname__ = write
    enable.__doc__ = f"Allows or forbids the {kind} kernel of attention on CUDA devices.\n\n    >>> torch.backends.cuda.{write}(True)\n    "
    globals().update({read: enabled, write: enable})


_switch("flash", "flash_sdp_enabled", "enable_flash_sdp")
_switch("mem_efficient", "mem_efficient_sdp_enabled", "enable_mem_efficient_sdp")
_switch("math", "math_sdp_enabled", "enable_math_sdp")
_switch("cudnn", "cudnn_sdp_enabled", "enable_cudnn_sdp")


@_contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """A context in which the kernels of attention on CUDA devices are allowed or not.

    >>> with torch.backends.cuda.sdp_kernel(enable_flash=False):
    ...     torch.backends.cuda.flash_sdp_enabled()
    False
    """
    before = dict(_attention)
    _attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _attention.update(before)


class SDPAParams:
    """The arguments of a call of attention, of which `can_use_flash_attention` and its like are asked.

    >>> q = torch.ones(1, 1, 2, 4)
    >>> torch.backends.cuda.can_use_flash_attention(torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, False, False))
    False
    """

    __slots__ = ("query", "key", "value", "attn_mask", "dropout", "is_causal", "enable_gqa")

    def __init__(self, query, key, value, attn_mask, dropout, is_causal, enable_gqa=False):
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


def _unusable(kind):
    def can_use(params, debug=False):
        if not isinstance(params, SDPAParams):
            raise TypeError(f"can_use_{kind}_attention: expected SDPAParams, got {type(params).__name__}")
        if debug:
            import warnings

            warnings.warn(f"can_use_{kind}_attention: there is no CUDA device for this kernel", stacklevel=2)
        return False

    can_use.__name__ = can_use.__qualname__ = f"can_use_{kind}_attention"
    can_use.__doc__ = f"""Whether the {kind} kernel of CUDA devices takes these `SDPAParams`: never without a device; with `debug` a warning says so.

    >>> callable(torch.backends.cuda.can_use_{kind}_attention)
    True
    """
    return can_use


can_use_flash_attention, can_use_efficient_attention, can_use_cudnn_attention = map(_unusable, ("flash", "efficient", "cudnn"))


def is_flash_attention_available():
    """Whether the library was built with the flash kernel for CUDA devices.

    >>> torch.backends.cuda.is_flash_attention_available()
    False
    """
    return False


def is_ck_sdpa_available():
    """Whether the library was built with the kernels of ROCm's Composable Kernel.

    >>> torch.backends.cuda.is_ck_sdpa_available()
    False
    """
    return False


class cuFFTPlanCache:
    """The plans of Fourier transforms that a CUDA device keeps. RuntimeError while there is none.

    >>> torch.backends.cuda.cufft_plan_cache.max_size
    Traceback (most recent call last):
    RuntimeError: cufft_plan_cache: there is no CUDA device; ask torch.cuda.is_available() first
    """

    def __init__(self, device_index):
        self.device_index = device_index

    def _refused(self, *args):
        raise RuntimeError("cufft_plan_cache: there is no CUDA device; ask torch.cuda.is_available() first")

    size, max_size = property(_refused), property(_refused, _refused)
    clear = _refused


class cuFFTPlanCacheManager(cuFFTPlanCache):
    """The plans of the current CUDA device; an index gives those of another.

    >>> torch.backends.cuda.cufft_plan_cache[0]
    Traceback (most recent call last):
    RuntimeError: cufft_plan_cache: there is no CUDA device; ask torch.cuda.is_available() first
    """

    def __init__(self):
        super().__init__(None)

    __getitem__ = cuFFTPlanCache._refused


cufft_plan_cache = cuFFTPlanCacheManager()
