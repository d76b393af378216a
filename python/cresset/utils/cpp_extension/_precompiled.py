"""LibTorch's headers precompiled by GCC: reading them is most of what a small extension costs. They are kept by compiler and flags, for as long as no file
changes that they were made of."""

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

from . import _compiler, _facts, _paths

#: Those that a source may begin with.
HEADERS = ("torch/extension.h", "torch/library.h", "torch/all.h", "torch/torch.h", "ATen/ATen.h")
_SETS = 3  # of flags that are kept
_BEFORE = re.compile(r'(?:\s|//[^\n]*|/\*.*?\*/|#pragma once)*#\s*include\s*[<"]([^>"]+)[>"]', re.DOTALL)


def _root():
    return os.path.join(os.path.dirname(_paths.build_folder("precompiled")), "precompiled")


def remove_all():
    """Removes all that is kept."""
    shutil.rmtree(_root(), ignore_errors=True)


def first_header(source):
    """The header of `HEADERS` that a source begins with; None where something else comes first, since GCC takes no precompiled header then."""
    try:
        with open(source, errors="replace") as file:
            found = _BEFORE.match(file.read(1 << 16))
    except OSError:
        return None
    return found[1] if found and found[1] in HEADERS else None


def add_to(extension, at_once=False):
    """Gives an extension the flags by which the compiler takes precompiled headers for its sources. Those that are not there are made in the background, for
    the builds that follow: at the first build by the usual flags, at the second by others. Or they are made `at_once`; where that fails the build goes on
    without them."""
    headers = {header for header in map(first_header, extension.sources) if header}
    found = _made(extension.compiler, extension.flags.compile, sorted(headers), at_once, not extension.given[0])
    extension.flags.precompiled = [f"-I{folder}" for folder in {made.folder for made in found}] + ["-fpch-deps"] * bool(found)
    extension.flags.bodies = [word for made in found for word in made.bodies()]


def _made(compiler, words, headers, at_once, is_usual):
    if os.environ.get("CRESSET_PRECOMPILED") == "0" or not _compiler.check_compiler_is_gcc(compiler):
        return []
    words = [word for word in words if not word.startswith(("-DTORCH_EXTENSION_NAME", "-I"))]  # the rest says what the header becomes
    key = hashlib.sha256("\0".join([_compiler.about(compiler), *words]).encode()).hexdigest()[:16]
    found = [_Header(os.path.join(_root(), key), header, [*shlex.split(compiler), *words, "-w"]) for header in headers]
    with contextlib.suppress(OSError):
        found = [header for header in found if header.is_ready(at_once, is_usual)]
        for header in found:
            os.utime(header.folder)
        return found
    return []


class _Header:
    """One header, for one set of flags.

    <torch/extension.h> brings pybind11, whose functions are large and compiled again by each unit that uses them. Here they are compiled once, to an object
    that is linked to every extension, and the header is precompiled under `#pragma interface`, by which their bodies are known and not compiled.
    """

    def __init__(self, folder, name, compiler):
        self.folder, self.name, self.compiler = folder, name, compiler
        self.target = os.path.join(folder, f"{name}.gch")
        self.object = os.path.join(folder, f"{name}.o")

    def bodies(self):
        """Options that give the linker the functions that are not in the units."""
        return [self.object, "-Wl,--gc-sections"] if os.path.exists(self.object) else []

    def is_ready(self, at_once, is_usual):
        if _facts.is_current(self.target):
            return True
        asked = os.path.join(self.folder, f"{self.name}.asked")
        os.makedirs(os.path.dirname(self.target), exist_ok=True)
        _forget_oldest(os.path.basename(self.folder))
        if not (at_once or is_usual or os.path.exists(asked)):
            with open(asked, "w"):
                return False
        if at_once:
            return _facts.make(self.target, self.commands())
        if sys.executable:
            subprocess.run([sys.executable, "-IS", _facts.__file__, self.target, json.dumps(self.commands())], stdin=subprocess.DEVNULL, check=False)
        return False

    def commands(self):
        """{file: command that makes it}, the header itself last."""
        path = next(path for place in _paths.include_paths() if os.path.exists(path := os.path.join(place, self.name)))
        parts, made = _pybind11() if self.name == HEADERS[0] else [], {}
        if parts:
            apart, source = os.path.join(self.folder, "apart.h"), os.path.join(self.folder, "bodies.cpp")
            with open(apart, "w") as file:
                file.writelines(f'#line 1 "{part}"\n#pragma interface\n' for part in parts)
            with open(source, "w") as file:
                file.write("#include <pybind11/pybind11.h>\n#include <pybind11/stl.h>\n")
            made[self.object] = [*self.compiler, "-fkeep-inline-functions", "-ffunction-sections", "-fdata-sections", "-c", source]
        return {**made, self.target: [*self.compiler, *(["-include", apart] if parts else []), "-x", "c++-header", path]}


def _pybind11():
    """The files of pybind11, as the compiler calls them: those that others include from a folder beside them too."""
    for place in (*_paths.python_includes()[1:], "/usr/local/include", "/usr/include"):
        root = os.path.join(place, "pybind11")
        if os.path.exists(os.path.join(root, "pybind11.h")):
            inner = [entry.name for entry in os.scandir(root) if entry.is_dir()]
            files = [os.path.join(folder, file) for folder in ("", *inner) for file in sorted(os.listdir(os.path.join(root, folder))) if file.endswith(".h")]
            return [os.path.join(root, way, file) for file in files for way in ("", *(os.path.join(folder, "..") for folder in inner))]
    return []


def _forget_oldest(kept):
    """Leaves the sets of flags that were used last."""
    folders = [entry for entry in os.scandir(_root()) if entry.is_dir() and entry.name != kept]
    folders.sort(key=lambda entry: entry.stat().st_mtime, reverse=True)
    for entry in folders[_SETS - 1 :]:
        shutil.rmtree(entry.path, ignore_errors=True)


def prepare():
    """Makes the headers that extensions begin with, for the flags of those that ask for none of their own; the names of those that are there then."""
    compiler = _compiler.get_cxx_compiler()
    _compiler.check_abi(compiler)
    words = _compiler.Flags("extension", [], [], []).compile
    return [header.name for header in _made(compiler, words, HEADERS[:2], at_once=True, is_usual=True)]
