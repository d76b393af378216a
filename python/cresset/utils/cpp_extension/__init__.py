"""torch.utils.cpp_extension: C++ that is compiled against Cresset and loaded into the program, at run time or by setuptools.

Builds are kept by their content: sources, headers, flags and compiler. A second `load` of the same opens the library that is there.

>>> torch.utils.cpp_extension.get_cxx_compiler()
'c++'
"""

import os as _os

from . import _compiler, _jit, _paths
from ._compiler import (
    check_compiler_is_gcc,
    check_compiler_ok_for_platform,
    get_compiler_abi_compatibility_and_version,
    get_cxx_compiler,
    is_ninja_available,
    verify_ninja_availability,
)
from ._jit import load, load_inline, remove_extension_h_precompiler_headers
from ._paths import get_default_build_root, include_paths, library_paths

__all__ = ["BuildExtension", "CUDAExtension", "CppExtension", "SyclExtension", "check_compiler_is_gcc", "check_compiler_ok_for_platform",
           "get_compiler_abi_compatibility_and_version", "get_cxx_compiler", "get_default_build_root", "include_paths", "is_ninja_available",
           "library_paths", "load", "load_inline", "remove_extension_h_precompiler_headers", "verify_ninja_availability"]  # fmt: skip

CUDA_HOME = _os.environ.get("CUDA_HOME") or _os.environ.get("CUDA_PATH")
ROCM_HOME = SYCL_HOME = CUDNN_HOME = None
IS_WINDOWS = IS_MACOS = IS_HIP_EXTENSION = False
IS_LINUX = True
TORCH_LIB_PATH = library_paths()[0]
COMMON_NVCC_FLAGS = []
_TORCH_PATH = _os.path.dirname(_os.path.dirname(_os.path.dirname(_os.path.abspath(__file__))))
_SETUPTOOLS = ("BuildExtension", "CUDAExtension", "CppExtension", "SyclExtension")


def __getattr__(name):
    if name in _SETUPTOOLS:  # setuptools is loaded by programs that build with it, and by no others
        from . import _setuptools

        return getattr(_setuptools, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_SETUPTOOLS})
