"""Functions chosen by the types of all their arguments."""

from .core import dispatch
from .dispatcher import AmbiguityWarning, Dispatcher, MDNotImplementedError

__all__ = ["AmbiguityWarning", "Dispatcher", "MDNotImplementedError", "dispatch"]
