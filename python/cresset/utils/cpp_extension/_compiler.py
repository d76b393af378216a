"""The compiler, its version and flags, and the text of `build.ninja`."""

import functools
import os
import re
import shlex
import shutil
import subprocess

import _cresset

from . import _paths

#: LibTorch's libraries, which projects name, and ours in their place.
LIBRARIES = {"c10": (), "torch": ("cresset", "cresset_distributions", "cresset_dist"), "torch_cpu": (), "torch_python": ()}
# Of headers that programs cannot change and of those that `-isystem` names, warnings are left out.
_COMMON = ["-DTORCH_API_INCLUDE_EXTENSION_H", "-fPIC", "-fvisibility=hidden"]


def get_cxx_compiler():
    """The command of the C++ compiler: CXX where it is set.

    >>> import os
    >>> os.environ["CXX"] = "g++-12"
    >>> torch.utils.cpp_extension.get_cxx_compiler()
    'g++-12'
    >>> del os.environ["CXX"]
    """
    return os.environ.get("CXX", "c++")


def _run(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(f"cpp_extension: the compiler {command[0]!r} cannot be run ({error}); install g++, or name another one by CXX") from None


@functools.cache
def about(compiler):
    """The answer of the compiler to `--version`."""
    return _run(*shlex.split(compiler), "--version")


def check_compiler_is_gcc(compiler):
    """Whether a command runs GCC.

    >>> torch.utils.cpp_extension.check_compiler_is_gcc("/nowhere/compiler")
    False
    """
    try:
        return "Free Software Foundation" in about(compiler) and "clang" not in about(compiler)
    except RuntimeError:
        return False


def check_compiler_ok_for_platform(compiler):
    """Whether a command runs a compiler of the ABI that Cresset is built with: GCC or clang.

    >>> torch.utils.cpp_extension.check_compiler_ok_for_platform("/nowhere/compiler")
    False
    """
    try:
        return check_compiler_is_gcc(compiler) or "clang" in about(compiler)
    except RuntimeError:
        return False


def get_compiler_abi_compatibility_and_version(compiler):
    """(whether what the compiler makes can be linked to Cresset, its version). GCC from 11 and clang from 14 on read the headers.

    >>> torch.utils.cpp_extension.get_compiler_abi_compatibility_and_version("/nowhere/compiler")[0]
    False
    """
    from ...torch_version import TorchVersion

    if not check_compiler_ok_for_platform(compiler):
        return False, TorchVersion("0.0.0")
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", about(compiler))
    version = TorchVersion(found[0] if found else "0.0.0")
    return int(version.split(".")[0]) >= (11 if check_compiler_is_gcc(compiler) else 14), version


def check_abi(compiler):
    """Errors: RuntimeError for a compiler whose code does not fit."""
    fits, version = get_compiler_abi_compatibility_and_version(compiler)
    if not fits:
        built = _cresset.build_info()["compiler"]
        raise RuntimeError(f"cpp_extension: {compiler!r} is version {version}, expected GCC from 11 or clang from 14 on (Cresset is built by {built})")


def is_ninja_available():
    """Whether the program `ninja` is there, which compiles several sources at once.

    >>> torch.utils.cpp_extension.is_ninja_available() in (True, False)
    True
    """
    return shutil.which("ninja") is not None


def verify_ninja_availability():
    """Errors: RuntimeError where `ninja` is not there.

    >>> if torch.utils.cpp_extension.is_ninja_available():
    ...     torch.utils.cpp_extension.verify_ninja_availability()
    """
    if not is_ninja_available():
        raise RuntimeError("cpp_extension: the program ninja is not there; pip install ninja, or apt install ninja-build")


class Flags:
    """Flags of one extension: for the compiler and the linker."""

    def __init__(self, name, cflags, ldflags, includes, is_standalone=False):
        system = [*_paths.include_paths(), *_paths.python_includes()]
        optimized = [] if any(re.match(r"-O\w*$", flag) for flag in cflags) else ["-O2"]
        standard = [] if any(flag.startswith("-std=") for flag in cflags) else ["-std=c++20"]
        self.compile = [f"-DTORCH_EXTENSION_NAME={name}", *_COMMON, *(f"-I{os.path.abspath(folder)}" for folder in includes),
                        *(part for folder in system for part in ("-isystem", folder)), *standard, *optimized, *cflags]  # fmt: skip
        self.precompiled, self.bodies = [], []  # in front of the others, no part of what an extension is made of
        folder = _paths.library_paths()[0]
        mode = [] if is_standalone else ["-shared"]
        self.link = [*mode, *ldflags, f"-L{folder}", "-lcresset", "-Wl,--as-needed", "-lcresset_distributions", "-lcresset_dist", f"-Wl,-rpath,{folder}"]


def _escaped(text):
    return text.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


def ninja_text(compiler, flags, sources, target):
    """The build file; objects and the target lie beside it."""
    objects = [f"{os.path.splitext(os.path.basename(source))[0]}.{place}.o" for place, source in enumerate(sources)]
    lines = [
        "ninja_required_version = 1.3",
        f"cxx = {compiler}",
        f"cflags = {shlex.join([*flags.precompiled, *flags.compile]).replace('$', '$$')}",
        f"ldflags = {shlex.join([*flags.bodies, *flags.link]).replace('$', '$$')}",
        "rule compile",
        "  command = $cxx -MD -MF $out.d $cflags -c $in -o $out",
        "  depfile = $out.d",
        "rule link",
        "  command = $cxx -o $out $in $ldflags",
        *(f"build {_escaped(made)}: compile {_escaped(os.path.abspath(source))}" for made, source in zip(objects, sources)),
        f"build {_escaped(target)}: link {' '.join(map(_escaped, objects))}",
        f"default {_escaped(target)}",
    ]
    return "\n".join(lines) + "\n", objects


def commands(compiler, flags, sources, objects, target):
    """The same as lists of arguments, for a machine without ninja."""
    start = shlex.split(compiler)
    for source, made in zip(sources, objects):
        yield [*start, "-MD", "-MF", f"{made}.d", *flags.precompiled, *flags.compile, "-c", os.path.abspath(source), "-o", made]
    yield [*start, *objects, *flags.bodies, *flags.link, "-o", target]
