"""Settings of CUDA devices. The flags keep their values; without a CUDA device nothing reads them.

>>> torch.backends.cuda.matmul.allow_tf32
False
"""

import contextlib as _contextlib
import enum as _enum
import sys as _sys
import types as _types

from . import _flags, _precision

matmul = _types.ModuleType(f"{__name__}.matmul", "Matrix products on CUDA devices.")
_sys.modules[matmul.__name__] = matmul
_flags.install(
    matmul.__name__,
    freezes=False,
    allow_fp16_reduced_precision_reduction=(True, bool),
    allow_bf16_reduced_precision_reduction=(True, bool),
    allow_fp16_accumulation=(False, bool),
)

cuBLASModule = type(matmul)
cuBLASModule.__name__ = cuBLASModule.__qualname__ = "cuBLASModule"
cuBLASModule.__doc__ = """The class of `torch.backends.cuda.matmul`, whose flags are properties.

    >>> torch.backends.cuda.matmul.fp32_precision in ("none", "ieee", "tf32")
    True
    """
cuBLASModule.fp32_precision = _precision.setting("cuda", "matmul")


def _allow_tf32(self, value):
    if not isinstance(value, bool):
        raise TypeError(f"{__name__}.matmul.allow_tf32: expected bool, got {type(value).__name__}")
    _precision.write("cuda", "matmul", "tf32" if value else "ieee")


cuBLASModule.allow_tf32 = property(lambda self: _precision.read("cuda", "matmul") == "tf32", _allow_tf32)

_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "low_precision_sums": False}


def is_built():
    """Whether the library was built with CUDA.

    >>> torch.backends.cuda.is_built()
    False
    """
    return False


class _Library:
    """The choice of a library for CUDA devices: it has a name, and nothing reads it."""

    def __init__(self, kind, chosen, kinds):
        self.kind, self.chosen, self.kinds = kind, chosen, kinds

    def __call__(self, backend=None):
        if backend is not None:
            found = backend if isinstance(backend, self.kinds) else {k.name.lower(): k for k in self.kinds}.get(str(backend).lower())
            if found is None:
                names = ", ".join(k.name.lower() for k in self.kinds)
                raise RuntimeError(f"preferred_{self.kind}_library: expected one of {names}, got {backend!r}")
            self.chosen = found
        return self.chosen


_LinalgBackend = _enum.Enum("_LinalgBackend", ["Default", "Cusolver", "Magma"], start=0)
_BlasBackend = _enum.Enum("_BlasBackend", ["Default", "Cublas", "Cublaslt", "Ck", "Hipblaslt", "Hipblas"], start=0)
_ROCmFABackend = _enum.Enum("_ROCmFABackend", ["Default", "AOTriton", "Ck"], start=0)
_linalg, _blas, _rocm_fa = (
    _Library("linalg", _LinalgBackend.Default, _LinalgBackend), _Library("blas", _BlasBackend.Cublas, _BlasBackend),
    _Library("rocm_fa", _ROCmFABackend.Default, _ROCmFABackend),
)  # fmt: skip


def preferred_linalg_library(backend=None):
    """The library of linear algebra on CUDA devices, set where a name is given. RuntimeError for another name.

    >>> print(torch.backends.cuda.preferred_linalg_library("magma"))
    _LinalgBackend.Magma
    >>> print(torch.backends.cuda.preferred_linalg_library("default"))
    _LinalgBackend.Default
    """
    return _linalg(backend)


def preferred_blas_library(backend=None):
    """The library of matrix products on CUDA devices, set where a name is given. RuntimeError for another name.

    >>> print(torch.backends.cuda.preferred_blas_library())
    _BlasBackend.Cublas
    """
    return _blas(backend)


def preferred_rocm_fa_library(backend=None):
    """The library of flash attention on ROCm devices, set where a name is given. RuntimeError for another name.

    >>> print(torch.backends.cuda.preferred_rocm_fa_library())
    _ROCmFABackend.Default
    """
    return _rocm_fa(backend)


def _workspace(name):
    def size(size=None):
        raise RuntimeError(f"{name}: there is no CUDA device, whose memory this would be; ask torch.cuda.is_available() first")

    size.__name__ = size.__qualname__ = name
    size.__doc__ = f"""The bytes that products of matrices may use on a CUDA device, set where a size is given. RuntimeError while there is none.

    >>> torch.backends.cuda.{name}()
    Traceback (most recent call last):
    RuntimeError: {name}: there is no CUDA device, whose memory this would be; ask torch.cuda.is_available() first
    """
    return size


cublas_workspace_size, cublaslt_workspace_size = _workspace("cublas_workspace_size"), _workspace("cublaslt_workspace_size")


def blas_workspace_size(size=None, backend=None):
    """That of the library `backend`, or of the preferred one; see `cublas_workspace_size`.

    >>> torch.backends.cuda.blas_workspace_size()
    Traceback (most recent call last):
    RuntimeError: cublas_workspace_size: there is no CUDA device, whose memory this would be; ask torch.cuda.is_available() first
    """
    return cublas_workspace_size(size)


def allow_fp16_bf16_reduction_math_sdp(enabled):
    """Allows or forbids the plain kernel of attention on CUDA devices to add in float16 and bfloat16.

    >>> torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(False)
    """
    _attention["low_precision_sums"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed():
    """Whether the plain kernel of attention on CUDA devices may add in float16 and bfloat16.

    >>> torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
    False
    """
    return _attention["low_precision_sums"]


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
