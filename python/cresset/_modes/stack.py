"""The modes of a thread, innermost last, at the two places where the dispatcher lets calls be heard (docs/records/0019-dispatch-modes.md).

At each place the innermost mode gets a call, with itself taken off the stack; what it calls goes to those around it.
"""

import contextlib
import threading

import _cresset

ABOVE_LAYERS, BELOW_AUTOGRAD = 0, 1

_TENSOR, _listen = _cresset.Tensor, _cresset._listen


class _Modes(threading.local):
    def __init__(self):
        self.above, self.below = [], []


_modes = _Modes()


def _types_of(args, kwargs):
    found = []
    for value in (*args, *kwargs.values()):
        for item in value if isinstance(value, (list, tuple)) else (value,):
            kind = type(item)
            if isinstance(item, _TENSOR) and kind is not _TENSOR and kind not in found and _cresset._takes_calls_over(kind):
                found.append(kind)
    return tuple(found)


def _called(modes, place, listener, func, args, kwargs):
    """The call, by the innermost of `modes`. The place is empty now, and is left so; the modes are afterwards what they were, whatever the function did."""
    before = modes[:]
    mode = modes.pop()
    if modes:
        _listen(place, listener)
    try:
        types, own = _types_of(args, kwargs), getattr(func, "_torch_dispatch", None)
        if own and type(mode) in own:
            result = own[type(mode)](mode, func, types, args, kwargs)
        else:
            result = mode.__torch_dispatch__(func, types, args, kwargs)
        return _left_to_classes(modes, before, place, listener, func, types, args, kwargs) if result is NotImplemented else result
    finally:
        modes[:] = before  # first, and without a call: the stack of Python may be full
        _listen(place, None)


def _left_to_classes(modes, before, place, listener, func, types, args, kwargs):
    """A call that a mode does not know: the classes of its tensors take it, and the mode hears what they call."""
    if not types:
        raise TypeError(f"{func}: {type(before[-1]).__name__}.__torch_dispatch__ returned NotImplemented, and no class of the arguments takes the call over")
    from .subclasses import hear

    modes[:] = before
    _listen(place, listener)
    return hear(func, args, kwargs)


def _hear_below(func, args, kwargs):
    return _called(_modes.below, BELOW_AUTOGRAD, _hear_below, func, args, kwargs)


def _hear_above(func, args, kwargs):
    return _called(_modes.above, ABOVE_LAYERS, _hear_above, func, args, kwargs)


def present(func, *args, **kwargs):
    """Calls an operator that has no row: the innermost mode gets it, or it is computed."""
    before = _listen(BELOW_AUTOGRAD, None)
    if before is None:
        if _types_of(args, kwargs) and _cresset._hears_subclasses():
            from .subclasses import hear

            return hear(func, args, kwargs)
        return func(*args, **kwargs)
    try:
        return before(func, args, kwargs)
    finally:
        _listen(BELOW_AUTOGRAD, before)


_PLACES = {BELOW_AUTOGRAD: ("below", _hear_below), ABOVE_LAYERS: ("above", _hear_above)}


def _at(place):
    name, listener = _PLACES[place]
    return getattr(_modes, name), listener


def push(mode, place=BELOW_AUTOGRAD):
    """Makes a mode the innermost one; modes with `_inside_of_tracing` stay inside of those that trace."""
    _loaded()
    modes, listener = _at(place)
    at = len(modes)
    if getattr(mode, "_traces", False):
        while at and getattr(modes[at - 1], "_inside_of_tracing", False):
            at -= 1
    modes.insert(at, mode)
    _listen(place, listener)


def pop(place=BELOW_AUTOGRAD, expected=None):
    """Takes the innermost mode away and returns it. RuntimeError where there is none, or another than is expected."""
    modes, listener = _at(place)
    if (
        getattr(expected, "_traces", False)
        and expected in modes
        and all(getattr(mode, "_inside_of_tracing", False) for mode in modes[modes.index(expected) + 1 :])
    ):
        modes.remove(expected)
        _listen(place, listener if modes else None)
        return expected
    if expected is not None and not (modes and modes[-1] is expected):
        name = type(expected).__name__
        raise RuntimeError(f"{name}: cannot be left here, where it is not the innermost mode; modes are left in the order of `with`, and not while they run")
    if not modes:
        raise RuntimeError("no dispatch mode is active")
    mode = modes.pop()
    _listen(place, listener if modes else None)
    return mode


def active(place=BELOW_AUTOGRAD):
    """The modes, innermost last."""
    return list(_at(place)[0])


@contextlib.contextmanager
def without(leaves_out):
    """In its scope the modes are off for which `leaves_out(mode)` is true."""
    before = _listen(ABOVE_LAYERS, None), _listen(BELOW_AUTOGRAD, None)
    saved = _modes.above, _modes.below
    _modes.above, _modes.below = ([mode for mode in modes if not leaves_out(mode)] for modes in saved)
    if before[0] is not None and _modes.above:
        _listen(ABOVE_LAYERS, before[0])
    if before[1] is not None and _modes.below:
        _listen(BELOW_AUTOGRAD, before[1])
    try:
        yield
    finally:
        _modes.above, _modes.below = saved
        _listen(ABOVE_LAYERS, before[0])
        _listen(BELOW_AUTOGRAD, before[1])


@contextlib.contextmanager
def none_active():
    """In its scope there are no modes; yields those that there were, above all layers and below autograd."""
    saved = _modes.above, _modes.below
    with without(lambda mode: True):
        yield saved


@contextlib.contextmanager
def listening_at(place, function):
    """`function(operator, args, kwargs)` gets every call that comes by in the scope, and its result is the call's. Calls that it makes are not heard."""
    _loaded()
    before = _listen(place, function)
    try:
        yield
    finally:
        _listen(place, before)


_is_loaded = False


def _loaded():
    global _is_loaded
    if not _is_loaded:
        _is_loaded = True
        from . import translations

        translations.install()
