"""Paths and objects with `read` or `write`, as the readers and writers in the extension take them."""

import os
from contextlib import contextmanager


def target(f):
    """Target of the extension's writing: a path, or a function of bytes."""
    if isinstance(f, (str, os.PathLike)):
        return os.fspath(f)
    if not hasattr(f, "write"):
        raise AttributeError(f"save: expected a path or an object with a 'write' attribute, got {type(f).__name__}")
    return f.write


@contextmanager
def source(f):
    """Source of the extension's reading, with a name for messages: an open file's descriptor, or bytes."""
    if isinstance(f, (bytes, bytearray, memoryview)):
        yield f, "<bytes>"
    elif isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            yield file.fileno(), str(os.fsdecode(f))
    else:
        if not hasattr(f, "read"):
            raise AttributeError(f"load: expected a path, bytes or an object with a 'read' attribute, got {type(f).__name__}")
        yield f.read(), str(getattr(f, "name", "<bytes>"))
