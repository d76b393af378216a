"""The steps of `vmap` and forward mode as functions, so that captured programs can hold them as nodes (docs/records/0021-export.md).

While a program is captured above all layers, its recorder gets each step. Levels are numbered from 1 by their nesting: what a graph says of them does not
depend on what is around it.
"""

import contextlib
import functools
import sys
import threading

import _cresset

from .._C import _functorch as _of_numbers
from .._modes import stack as _stack

__all__ = []
STEPS = {}  # the steps by their names in files


class _Levels(threading.local):
    def __init__(self):
        self.open = []  # (kind, number in the library) of each level, innermost last
        self.runs = []  # how many were open when each run of a graph began


_levels = _Levels()


def recorder():
    """The recorder of a program that writes down the steps of transforms on this thread, or None."""
    heard = _cresset._listen(_stack.ABOVE_LAYERS, None)
    _cresset._listen(_stack.ABOVE_LAYERS, heard)
    return heard if hasattr(heard, "step") else None


def is_heard():
    """Whether a mode or a recorder hears of operators on this thread: transforms then call PyTorch's, in PyTorch's order."""
    return bool(_stack.active()) or recorder() is not None


def check_level_is_seen(function):
    """RuntimeError where a mode above all layers traces: it hears no tangents, but of a transform as a whole."""
    if any(hasattr(mode, "whole_transform") for mode in _stack.active(_stack.ABOVE_LAYERS)):
        raise RuntimeError(f"{function}: make_fx(pre_dispatch=True) does not see tangents; use torch.func.jvp, or pre_dispatch=False")


def seen(tensors):
    """Arguments of a transform, as the mode that traces knows them."""
    mode = next((mode for mode in reversed(_stack.active()) if hasattr(mode, "seen")), None)
    return tensors if mode is None else [mode.seen(tensor) for tensor in tensors]


def transform(function):
    """A function that runs a transform. A recorder may hear it as a whole, without its steps."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        above = _stack.active(_stack.ABOVE_LAYERS)
        heard = recorder() or (above[-1] if above else None)
        found = heard.whole_transform(function, args, kwargs) if hasattr(heard, "whole_transform") else None
        return function(*args, **kwargs) if found is None else found[0]

    return run


def of_transform(function, *args):
    """Runs a part of a transform. A recorder writes down the operators that it calls, and not that it keeps values without their histories."""
    heard = recorder()
    return transform(function)(*args) if heard is None else heard.of_transform(transform(function), args, True)


def of_program(function, *args, **kwargs):
    """Runs a function that is being transformed: all it calls is the program's."""
    heard = recorder()
    return function(*args, **kwargs) if heard is None else heard.of_transform(functools.partial(function, **kwargs), args, False)


def is_step(function):
    """Whether a function is one of the steps."""
    return STEPS.get(getattr(function, "__name__", None)) is function


@contextlib.contextmanager
def levels_kept():
    """Ends at the end of its scope the levels that were opened in it: a graph that fails does not come to its last steps."""
    begin_run()
    try:
        yield
    finally:
        end_run()


def begin_run():
    """Notes the levels that are open when a graph begins to run."""
    _levels.runs.append(len(_levels.open))


def end_run():
    """Ends the levels that were opened since the innermost `begin_run`."""
    before = _levels.runs.pop()
    while len(_levels.open) > before:
        _close()


def depth():
    """How many levels are open on this thread."""
    return len(_levels.open)


def depth_of(number):
    """The place among the open levels, from 1, of the library's number of one of `vmap`. RuntimeError where it is none of them."""
    for depth, level in enumerate(_levels.open, 1):
        if level == ("vmap", number):
            return depth
    raise RuntimeError(f"vmap: the level {number} was opened by no step of this program")


def _step(function):
    """Makes the function one step: a recorder gets it in place of the operators that it calls."""

    @functools.wraps(function)
    def step(*args, **kwargs):
        heard = recorder()
        return function(*args, **kwargs) if heard is None else heard.step(step, function, args, kwargs)

    STEPS[function.__name__] = step
    return step


def _close():
    kind, number = _levels.open.pop()
    (_cresset.exit_vmap if kind == "vmap" else _cresset.exit_dual_level)(number)


def _ended(kind, function):
    if not _levels.open or _levels.open[-1][0] != kind:
        raise RuntimeError(f"{function}: the innermost level is {_levels.open[-1][0] if _levels.open else 'none'}, expected one of {kind}")
    depth = len(_levels.open)
    _close()
    return depth


def _number(level, function):
    if not 1 <= level <= len(_levels.open) or _levels.open[level - 1][0] != "vmap":
        raise RuntimeError(f"{function}: expected a level of vmap that is open, got {level} of {len(_levels.open)}")
    return _levels.open[level - 1][1]


def plain_size(size):
    """The int that stands for a size where levels of the library are told it: symbols stay open."""
    if isinstance(size, int):
        return int(size)
    return sys.modules["cresset.fx.experimental._shape_env"].number(size)


# ---- vmap -----------------------------------------------------------------------------------------------------------------


@_step
def lazy_load_decompositions():
    """Does nothing: all rules of `vmap` are there from the start."""


@_step
def _vmap_increment_nesting(batch_size, randomness):
    """Opens a level of `vmap` for batches of a size; its number. RuntimeError for another mode than error, different, same."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"vmap: expected randomness to be 'error', 'different' or 'same', got {randomness}")
    _levels.open.append(("vmap", _cresset.enter_vmap(plain_size(batch_size), randomness)))
    return len(_levels.open)


@_step
def _vmap_decrement_nesting():
    """Ends the innermost level, which is one of `vmap`; its number. RuntimeError where it is not."""
    return _ended("vmap", "_vmap_decrement_nesting")


@_step
def _add_batch_dim(self, batch_dim, level):
    """One element of the batch along a dimension, at an open level. RuntimeError for another level."""
    return _cresset.wrap_batched(self, batch_dim, _number(level, "_add_batch_dim"))


@_step
def _remove_batch_dim(self, level, batch_size, out_dim):
    """The batch along a dimension, repeated where the tensor is the same for all elements. RuntimeError for a level that is not open."""
    return _of_numbers._remove_batch_dim(self, _number(level, "_remove_batch_dim"), batch_size, out_dim)


# ---- forward mode ---------------------------------------------------------------------------------------------------------


@_step
def _jvp_increment_nesting():
    """Opens a level of `jvp`; its number."""
    _levels.open.append(("jvp", _cresset.enter_dual_level()))
    return len(_levels.open)


@_step
def _jvp_decrement_nesting():
    """Ends the innermost level, which is one of `jvp`; its number. RuntimeError where it is not."""
    return _ended("jvp", "_jvp_decrement_nesting")


def has_dual_level():
    """Whether a level of forward mode is open."""
    return any(kind != "vmap" for kind, _ in _levels.open)


def _dual_number(function):
    found = next((number for kind, number in reversed(_levels.open) if kind != "vmap"), None)
    if found is None:
        raise RuntimeError(f"{function}: no level of forward mode is open")
    return found


def _is_of_jvp():
    return bool(_levels.open) and _levels.open[-1][0] == "jvp"


@_step
def _enter_dual_level():
    """Opens a level of forward mode, unless `jvp` just did; its number, which is 0."""
    if not _is_of_jvp():
        _levels.open.append(("dual", _cresset.enter_dual_level()))
    return 0


@_step
def _exit_dual_level(*, level):
    """Ends the level that `_enter_dual_level` opened. RuntimeError where that is not the innermost one."""
    if not _is_of_jvp():
        _ended("dual", "_exit_dual_level")


@_step
def _make_dual(tensor, tangent, *, level=0):
    """A view of the tensor with a tangent, at the innermost level of forward mode. RuntimeError where none is open."""
    return _cresset.make_dual(tensor, tangent, _dual_number("_make_dual"))


@_step
def _unpack_dual(tensor, *, level=0):
    """The values of a tensor and its tangent, or None, at the innermost level of forward mode. RuntimeError where none is open."""
    return _cresset.unpack_dual(tensor, _dual_number("_unpack_dual"))


@_step
def _unwrap_for_grad(tensor, level):
    """The tensor: what a transform makes of its arguments is no wrapper here."""
    return tensor
