"""The unit into which functions, classes and modules of Python are compiled."""

from . import _resolve
from ._api import CompilationUnit

_python_cu = CompilationUnit()
_python_cu._unit = _resolve.unit
