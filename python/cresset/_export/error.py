"""Errors of capture that libraries raise and catch by name."""

from enum import Enum


class ExportErrorType(Enum):
    """The kinds of mistakes in a capture."""

    INVALID_INPUT_TYPE = 1
    INVALID_OUTPUT_TYPE = 2
    VIOLATION_OF_SPEC = 3
    NOT_SUPPORTED = 4
    MISSING_PROPERTY = 5
    UNINITIALIZED = 6


class InternalError(Exception):
    """A graph that is not as its makers promise.

    Args:
        message: in what way.
    """

    def __init__(self, message):
        super().__init__(message)


class ExportError(Exception):
    """A capture that cannot be.

    Args:
        error_code: an `ExportErrorType`.
        message: why.

    >>> error = torch._export.error
    >>> print(error.ExportError(error.ExportErrorType.NOT_SUPPORTED, "no sets"))
    [ExportErrorType.NOT_SUPPORTED]: no sets
    """

    def __init__(self, error_code, message):
        super().__init__(f"[{error_code}]: {message}")
