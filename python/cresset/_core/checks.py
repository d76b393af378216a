"""Checks that programs make of their arguments: an error of a given type where a condition does not hold."""

import cresset as _torch

__all__ = ["_assert", "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all", "_check_tensor_all_with", "_check_type",
           "_check_value", "_check_with"]  # fmt: skip


def _check_with(error_type, cond, message=None):
    """Raises an error of the type unless `cond`, a bool; `message` is a function that gives the text."""
    if not isinstance(cond, (bool, _torch.SymBool)):
        raise TypeError(f"_check: expected a bool, got {type(cond).__name__}")
    if isinstance(cond, _torch.SymBool):
        cond = _holds(cond)
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError(f"_check: expected a function that gives the message, got {type(message).__name__}")
    raise error_type("expected the condition to be true" if message is None else str(message()))


def _holds(cond):
    """Takes a symbolic condition for true from now on; False where it is not in the example."""
    known = cond.node.hint
    return cond.node.expect_true() if known is None or known else False


def _checker(name, error_type):
    def check(cond, message=None):
        _check_with(error_type, cond, message)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raises {error_type.__name__} unless `cond`."
    return check


_check, _check_index, _check_value = _checker("_check", RuntimeError), _checker("_check_index", IndexError), _checker("_check_value", ValueError)
_check_type, _check_not_implemented = _checker("_check_type", TypeError), _checker("_check_not_implemented", NotImplementedError)


def _check_is_size(i, message=None, *, max=None):
    """Raises RuntimeError unless `i` is at least 0, and at most `max`."""
    if isinstance(i, _torch.SymInt):
        _check(i >= 0, message)
        _check(max is None or i <= max, message)
        return
    _check(i >= 0 and (max is None or i <= max), message or (lambda: f"expected a size from 0{'' if max is None else f' to {max}'}, got {i}"))


def _check_tensor_all_with(error_type, cond, message=None):
    """Raises an error of the type unless every element of `cond`, a tensor of bools, is true."""
    if not isinstance(cond, _torch.Tensor) or cond.dtype != _torch.bool:
        raise TypeError(f"_check_tensor_all: expected a tensor of bools, got {getattr(cond, 'dtype', type(cond).__name__)}")
    _check_with(error_type, cond.all().item(), message)


def _check_tensor_all(cond, message=None):
    """Raises RuntimeError unless every element of `cond` is true."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert(condition, message):
    """Python's assert, as a function that a tracer may see."""
    if type(condition) is not _torch.Tensor and _torch.overrides.has_torch_function((condition,)):
        return _torch.overrides.handle_torch_function(_assert, (condition,), condition, message)
    assert condition, message
