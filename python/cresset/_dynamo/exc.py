"""Exceptions of capturing: what cannot be captured, and whose fault it is.

>>> issubclass(torch._dynamo.exc.UserError, RuntimeError)
True
"""

import enum

__all__ = [
    "BackendCompilerFailed",
    "FailOnRecompileLimitHit",
    "InternalTorchDynamoError",
    "InvalidBackend",
    "RecompileError",
    "ResetRequired",
    "TorchDynamoException",
    "TorchRuntimeError",
    "UncapturedHigherOrderOpError",
    "Unsupported",
    "UserError",
    "UserErrorType",
]


class TorchDynamoException(RuntimeError):
    """Failed capture."""


class InternalTorchDynamoError(TorchDynamoException):
    """Failure that is not the program's."""


class TorchRuntimeError(TorchDynamoException):
    """An operator refused tensors without data as it would refuse these."""


class Unsupported(TorchDynamoException):
    """Something that a graph cannot hold. `msg` says what."""

    def __init__(self, msg, *, case_name=None):
        super().__init__(msg)
        self.msg, self.case_name = msg, case_name


class UncapturedHigherOrderOpError(TorchDynamoException):
    """A branch or body of an operator of control flow that does not fit."""


class UserErrorType(enum.Enum):
    """Kinds of `UserError`."""

    DYNAMIC_CONTROL_FLOW = 1
    ANTI_PATTERN = 2
    STANDARD_LIBRARY = 3
    CONSTRAINT_VIOLATION = 4
    DYNAMIC_DIM = 5
    INVALID_INPUT = 6
    INVALID_OUTPUT = 7
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = 8


class UserError(TorchDynamoException):
    """Mistake of the program's: what is asked for cannot be captured. `error_type` says of which kind it is, `message` what to change."""

    def __init__(self, error_type, msg, case_name=None):
        if not isinstance(error_type, UserErrorType):
            raise TypeError(f"UserError: expected a UserErrorType, got {type(error_type).__name__}")
        super().__init__(msg)
        self.error_type, self.message, self.msg, self.case_name = error_type, msg, msg, case_name


class InvalidBackend(TorchDynamoException):
    """A backend that is not there, or that is none."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend has raised an error, `inner_exception`."""

    def __init__(self, backend_fn, inner_exception, first_useful_frame=None):
        self.backend_name = getattr(backend_fn, "__name__", "?")
        self.inner_exception = inner_exception
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}")


class FailOnRecompileLimitHit(TorchDynamoException):
    """A function is compiled too often."""


class RecompileError(TorchDynamoException):
    """A function would be compiled once more where that is not wanted."""


class ResetRequired(TorchDynamoException):
    """The compiler must be reset first."""
