"""Assertions about tensors, and tensors to test with."""

from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]


def __getattr__(name):
    if name == "FileCheck":  # with the library of graphs, which other tests have no use for
        from ._file_check import FileCheck

        return FileCheck
    from .._core import missing

    return missing.found(__name__, name)
