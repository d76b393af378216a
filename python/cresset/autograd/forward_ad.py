"""Forward mode: dual tensors carry a tangent, the derivative along a direction, through the operators they are given to."""

import sys
from typing import NamedTuple, Optional

import _cresset
from _cresset import Tensor

from .._core.modes import _Context

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

# The open level's number in the library; PyTorch counts open levels, of which there is one at most, from 0.
_open = []


def __getattr__(name):
    if name == "_current_level":
        return len(_open) - 1
    from .._core import missing

    return missing.found(__name__, name)


def _steps():
    """The functions to call where a program is captured with levels and duals as its steps, or None."""
    steps = sys.modules.get("cresset._functorch.predispatch")
    return steps if steps is not None and steps.recorder() is not None else None


class UnpackedDualTensor(NamedTuple):
    """Result of `unpack_dual`: the values, and the tangent or None, which stands for zeros.

    >>> torch.autograd.forward_ad.UnpackedDualTensor(torch.ones(1), None).primal.tolist()
    [1.0]
    """

    primal: Tensor
    tangent: Optional[Tensor]


def enter_dual_level():
    """Open a level for dual tensors and return its number; `dual_level` does it for a `with` block.

    Errors: RuntimeError if one is open, and while `make_fx(pre_dispatch=True)` traces.

    >>> level = torch.autograd.forward_ad.enter_dual_level(); torch.autograd.forward_ad.exit_dual_level(level=level); level
    0
    """
    if steps := _steps():
        return steps._enter_dual_level()
    if "cresset._functorch.predispatch" in sys.modules:
        sys.modules["cresset._functorch.predispatch"].check_level_is_seen("enter_dual_level")
    if _open:
        raise RuntimeError("enter_dual_level: a dual level is open; levels of forward_ad do not nest, use torch.func.jvp to nest forward mode")
    _open.append(_cresset.enter_dual_level())
    return 0


def exit_dual_level(*, level=None):
    """End a level: its tangents are gone, also from tensors that live on.

    Errors: RuntimeError if the level is not the open one.

    >>> level = torch.autograd.forward_ad.enter_dual_level(); torch.autograd.forward_ad.exit_dual_level()
    """
    if steps := _steps():
        return steps._exit_dual_level(level=0)
    if level is None:
        level = len(_open) - 1
    if level < 0 or level != len(_open) - 1:
        raise RuntimeError(f"exit_dual_level: expected the level that is open, got {level}")
    _cresset.exit_dual_level(_open.pop())


def _number(level, function):
    if level is None:
        level = len(_open) - 1
    if level < 0:
        raise RuntimeError(f"{function}: no dual level is open; call it inside `with dual_level():`")
    if level >= len(_open):
        raise RuntimeError(f"{function}: no dual level {level} is open")
    return _open[level]


def make_dual(tensor, tangent, *, level=None):
    """Return a view of `tensor` that carries `tangent`, a tensor of the same shape, through the operators it is given to.

    Errors: RuntimeError outside a level, for another shape or a tensor that has a tangent; ValueError for a dtype without derivatives.

    >>> forward_ad = torch.autograd.forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor(3.), torch.tensor(1.))
    ...     forward_ad.unpack_dual(x * x).tangent.item()
    6.0
    """
    steps = _steps()
    number = _number(level, "make_dual") if steps is None else 0
    for name, t in (("tensor", tensor), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"make_dual: expected `{name}` to be of floating point or complex dtype, got {t.dtype}")
    return _cresset.make_dual(tensor, tangent, number) if steps is None else steps._make_dual(tensor, tangent, level=0)


def unpack_dual(tensor, *, level=None):
    """Return the values of a tensor, as a view, and its tangent or None.

    >>> torch.autograd.forward_ad.unpack_dual(torch.ones(2)).tangent is None
    True
    """
    if (steps := _steps()) and steps.has_dual_level():
        return UnpackedDualTensor(*steps._unpack_dual(tensor, level=0))
    if level is None and not _open:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*_cresset.unpack_dual(tensor, _number(level, "unpack_dual")))


class dual_level(_Context):
    """A `with` block in which tensors can be made dual; its tangents are gone when it ends.

    >>> forward_ad = torch.autograd.forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor([1., 2.]), torch.tensor([1., 0.]))
    ...     forward_ad.unpack_dual(x.sum()).tangent.item()
    1.0
    """

    def __enter__(self):
        """Open the level."""
        return enter_dual_level()

    def __exit__(self, exc_type, exc_value, traceback):
        """End it."""
        exit_dual_level()


def _is_fwd_grad_enabled():
    return _cresset.is_forward_mode_enabled()


class _set_fwd_grad_enabled(_Context):
    """Whether operators propagate tangents, from now on or for a `with` block."""

    def __init__(self, mode):
        self.previous = _cresset.is_forward_mode_enabled()
        _cresset.set_forward_mode_enabled(mode)
        self.mode = mode

    def __enter__(self):
        _cresset.set_forward_mode_enabled(self.mode)

    def __exit__(self, exc_type, exc_value, traceback):
        _cresset.set_forward_mode_enabled(self.previous)

    def _again(self):
        return type(self)(self.mode)
