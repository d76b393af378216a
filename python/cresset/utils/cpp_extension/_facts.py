"""Facts of builds: results and the files that they were compiled from, by their digests; and the making of a precompiled header. It is a program too, that makes one in the background, and
needs nothing beyond the standard library then."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys

_ROOM = 2 << 30  # bytes that are left free on the disk


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


def is_current(target):
    """Whether a precompiled header is there, and is removed where a file has changed that it was made of."""
    try:
        with open(f"{target}.json") as file:
            if os.path.exists(target) and are_current(json.load(file)):
                return True
    except (OSError, ValueError):
        return False
    with contextlib.suppress(FileNotFoundError):
        os.remove(target)
    return False


def make(target, commands, wait=True):
    """Compiles a header to `target`, after what `commands` has before it: {file that is made: command}. Whether it is there then. One process makes it at a
    time; others wait for that one, or leave it at that."""
    with open(f"{target}.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        if is_current(target):
            return True
        if shutil.disk_usage(os.path.dirname(target)).free < _ROOM:
            return False
        return all(_compile(made, command) for made, command in commands.items())


def _compile(target, command):
    fresh, listed = f"{target}.new", f"{target}.d"
    try:
        if subprocess.run([*command, "-MD", "-MF", listed, "-o", fresh], capture_output=True, stdin=subprocess.DEVNULL, check=False).returncode:
            return False
        with open(listed) as file:
            facts = facts_of(sorted({*own(word for word in words_of(file.read()) if not word.endswith(":"))}))
        with open(f"{target}.json", "w") as file:
            json.dump(facts, file)
        os.replace(fresh, target)
        return True
    finally:
        for path in (fresh, listed):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)


def main(target, commands):
    """Goes to the background, behind everything else, and makes the header, unless another process does."""
    if os.fork():
        os._exit(0)
    os.setsid()
    os.nice(10)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    with contextlib.suppress(OSError):
        make(target, json.loads(commands), wait=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
