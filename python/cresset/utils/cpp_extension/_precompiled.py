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

from . import _compiler, _paths

#: Those that a source may begin with.
HEADERS = ("torch/extension.h", "torch/library.h", "torch/all.h", "torch/torch.h", "ATen/ATen.h")
_SETS = 3  # of flags that are kept
_ROOM = 2 << 30  # bytes that are left free on the disk
_BEFORE = re.compile(r'(?:\s|//[^\n]*|/\*.*?\*/|#pragma once)*#\s*include\s*[<"]([^>"]+)[>"]', re.DOTALL)


def digest(path):
    """Of a file's content."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def words_of(text):
    """The files that a list of the compiler names."""
    return text.replace("\\\n", " ").split()


def own(paths):
    """Those that are there and are neither the system's nor precompiled ones."""
    return (p for p in paths if not p.startswith(("/usr/include/", "/usr/lib/")) and not p.endswith(".gch") and os.path.exists(p))


def facts_of(paths):
    """{path: (time of its change, size, digest)}"""
    facts = {}
    for path in paths:
        about = os.stat(path)
        facts[path] = (about.st_mtime_ns, about.st_size, digest(path))
    return facts


def are_current(facts):
    """Whether the files of `facts_of` have the same content as then."""
    for path, (stamp, size, known) in facts.items():
        try:
            about = os.stat(path)
        except OSError:
            return False
        if (about.st_mtime_ns, about.st_size) != (stamp, size) and digest(path) != known:
            return False
    return True


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


def flags_for(extension, at_once=False):
    """The flags by which the compiler takes precompiled headers for the sources of an extension. They are made when they are asked for a second time, or
    `at_once`; where that fails the build goes on without them."""
    if os.environ.get("CRESSET_PRECOMPILED") == "0" or not _compiler.check_compiler_is_gcc(extension.compiler):
        return []
    flags = [flag for flag in extension.flags.compile if not flag.startswith("-DTORCH_EXTENSION_NAME")]
    key = hashlib.sha256("\0".join([extension.about, *flags]).encode()).hexdigest()[:16]
    folder = os.path.join(_root(), key)
    headers = {header for header in map(first_header, extension.sources) if header}
    with contextlib.suppress(OSError):
        if [header for header in sorted(headers) if _is_ready(extension, folder, header, flags, at_once)]:
            os.utime(folder)
            return [f"-I{folder}", "-fpch-deps"]
    return []


def _is_ready(extension, folder, header, flags, at_once):
    target = os.path.join(folder, f"{header}.gch")
    record = f"{target}.json"
    if os.path.exists(target):
        with open(record) as file:
            if are_current(json.load(file)):
                return True
        os.remove(target)
    asked = f"{target}.asked"
    if not (at_once or os.path.exists(asked)):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(asked, "w"):
            return False
    return _make(extension, target, header, flags, record)


def _make(extension, target, header, flags, record):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    _forget_oldest(os.path.basename(os.path.dirname(os.path.dirname(target))))
    if shutil.disk_usage(os.path.dirname(target)).free < _ROOM:
        return False
    path = next(path for folder in _paths.include_paths() if os.path.exists(path := os.path.join(folder, header)))
    fresh, listed = f"{target}.{os.getpid()}", f"{target}.{os.getpid()}.d"
    command = [*shlex.split(extension.compiler), "-MD", "-MF", listed, *flags, "-w", "-x", "c++-header", path, "-o", fresh]
    try:
        if subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False).returncode:
            return False
        with open(listed) as file:
            facts = facts_of(sorted({*own(word for word in words_of(file.read()) if not word.endswith(":"))}))
        with open(record, "w") as file:
            json.dump(facts, file)
        os.replace(fresh, target)
        return True
    finally:
        for path in (fresh, listed):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)


def _forget_oldest(kept):
    """Leaves the sets of flags that were used last."""
    folders = [entry for entry in os.scandir(_root()) if entry.is_dir() and entry.name != kept]
    folders.sort(key=lambda entry: entry.stat().st_mtime, reverse=True)
    for entry in folders[_SETS - 1 :]:
        shutil.rmtree(entry.path, ignore_errors=True)
