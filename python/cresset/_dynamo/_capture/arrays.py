"""NumPy within a capture: arrays that are tensors of the graph, and its functions on them, which are operators there (`_numpy.py`)."""

import sys

from _cresset import Tensor

import cresset as torch

from ...utils._pytree import tree_flatten, tree_map
from .record import is_array, is_numpy_scalar
from .signals import Break


def of_tensor(tensor, *, force=False):
    """`tensor.numpy()`."""
    from ..._numpy import Array

    if not force and (tensor.requires_grad or tensor.is_conj() or tensor.is_neg()):
        raise Break("Tensor.numpy() of a tensor that requires a gradient")  # the call itself tells what is wrong
    return Array(tensor.detach().resolve_conj().resolve_neg() if force else tensor)


def of_tensors(tree):
    """Tensors in nested containers as arrays, with their histories."""
    from ..._numpy import Array

    return tree_map(lambda leaf: Array(leaf) if isinstance(leaf, Tensor) else leaf, tree)


def to_tensors(tree):
    """Arrays in nested containers as tensors."""
    return tree_map(lambda leaf: leaf.tensor if is_array(leaf) else torch.as_tensor(leaf) if _is_known_array(leaf) or is_numpy_scalar(leaf) else leaf, tree)


def are_involved(function, args, kwargs):
    """Whether a function of NumPy's gets arrays of the graph, or makes one of a tensor."""
    leaves = tree_flatten((args, kwargs))[0]
    return any(map(is_array, leaves)) or (
        any(isinstance(leaf, Tensor) for leaf in leaves) and (getattr(function, "__name__", "") in ("array", "asarray") or _is_ufunc(function))
    )


def _is_ufunc(function):
    return type(function).__name__ == "ufunc"


def call(machine, function, args, kwargs):
    """A call of a function of NumPy's on arrays of the graph."""
    from ... import _numpy

    def inside(leaf):
        if isinstance(leaf, Tensor):
            return of_tensor(leaf)
        return lifted(machine, leaf) if _is_known_array(leaf) and leaf.size > 16 else leaf

    leaves = tree_flatten((args, kwargs))[0]
    wraps = _is_ufunc(function) and not any(map(is_array, leaves))  # it makes tensors of tensors
    args, kwargs = tree_map(inside, (args, kwargs))
    made = guarded(_numpy.call, (function, args, kwargs), {})
    return made.tensor if wraps else made


def guarded(function, args, kwargs):
    """A call of what does as NumPy does, which ends the graph where tensors do not."""
    from ..._numpy import Unsupported

    try:
        return function(*args, **kwargs)
    except Unsupported as error:
        raise Break(f"{error}, which tensors do not do") from None


def _is_known_array(value):
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray


def lifted(machine, value):
    """An array that is known, as one of the graph."""
    from ..._numpy import Array

    with machine.world.unwatched():
        tensor = torch.from_numpy(value)
    return Array(constant(machine, tensor))


def constant(machine, tensor):
    """A tensor that is known, as one of the graph, with memory of its own at each call."""
    tracer = machine.world.tracer
    with machine.world.unwatched():
        held = tensor.clone()
    with tracer.silence():
        fake = machine.world.fake_mode.from_tensor(held)
    tracer.nodes[id(fake)] = fake, tracer.attribute(held)
    machine.world.keep.append(fake)
    return fake.clone()


def beside(array, tensor):
    """The tensor that stands for a number of NumPy's in the graph beside another: one of the default dtype where the tensor has none of its kind.

    Errors: a break for an array.
    """
    if not array.scalar:
        raise Break("an operator of a tensor and an array")
    number = array.tensor
    floats = number.is_floating_point() and not (tensor.is_floating_point() or tensor.is_complex())
    if floats or (number.is_complex() and not tensor.is_complex()):
        return number.to(torch.get_default_dtype() if floats else (torch.complex128 if tensor.dtype == torch.float64 else torch.complex64))
    return number


def made_tensor(machine, function, data, *args, **kwargs):
    """`torch.tensor(data)` and the like, of what may be an array of the graph, or one that is known."""
    if is_array(data):
        tensor = data.tensor
        dtype = args[0] if args else kwargs.get("dtype")
        if function is torch.tensor:
            tensor = tensor.detach().clone()
        return tensor if dtype is None else tensor.to(dtype)
    if _is_known_array(data):
        with machine.world.unwatched():
            tensor = function(data, *args, **kwargs)
        return constant(machine, tensor)
    return None
