"""Where headers and libraries are, in an installation and in a build tree, and where extensions are built."""

import os
import sys
import sysconfig

import _cresset

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
_BUILD = os.path.dirname(os.path.dirname(os.path.realpath(_cresset.__file__)))


def _installed():
    return os.path.isdir(os.path.join(_PACKAGE, "include"))


def _cresset_includes():
    if _installed():
        return [os.path.join(_PACKAGE, "include", "cresset-compat"), os.path.join(_PACKAGE, "include")]
    root = os.path.dirname(os.path.dirname(_PACKAGE))
    return [os.path.join(root, "compat", "include"), os.path.join(_BUILD, "compat"), root, os.path.join(_BUILD, "generated")]


def include_paths(device_type="cpu", torch_include_dirs=True):
    """Folders that an extension's sources find headers in, those of LibTorch's names first.

    >>> import os
    >>> any(os.path.exists(os.path.join(folder, "torch", "extension.h")) for folder in torch.utils.cpp_extension.include_paths())
    True
    """
    return _cresset_includes() if torch_include_dirs else []


def library_paths(device_type="cpu", torch_include_dirs=True, cross_target_platform=None):
    """Folders with the libraries that an extension is linked to.

    >>> import os
    >>> all(os.path.isdir(folder) for folder in torch.utils.cpp_extension.library_paths())
    True
    """
    return [os.path.join(_PACKAGE, "lib") if os.path.isdir(os.path.join(_PACKAGE, "lib")) else _BUILD] if torch_include_dirs else []


def python_includes():
    """Folders of the interpreter's headers and of pybind11's, where the package of that name has them."""
    found = [sysconfig.get_path("include")]
    try:
        import pybind11
    except ImportError:
        return found
    return [*found, pybind11.get_include()]


def get_default_build_root():
    """The folder below which extensions are built, each in one of its own.

    >>> torch.utils.cpp_extension.get_default_build_root().endswith("cresset_extensions")
    True
    """
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "cresset_extensions")


def build_folder(name):
    """The folder of an extension, which is made. TORCH_EXTENSIONS_DIR takes the place of the default root."""
    root = os.environ.get("TORCH_EXTENSIONS_DIR") or get_default_build_root()
    folder = os.path.join(root, f"py{sys.version_info[0]}{sys.version_info[1]}_cresset{_cresset.__version__}", name)
    os.makedirs(folder, exist_ok=True)
    return folder
