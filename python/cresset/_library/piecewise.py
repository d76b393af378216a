"""The older way to define operators, which `torch.library.custom_op` took the place of: a name and a schema, then its functions one by one.

>>> from cresset import _custom_ops
>>> @_custom_ops.custom_op("older::sine")
... def sine(x: torch.Tensor) -> torch.Tensor:
...     raise NotImplementedError
>>> @_custom_ops.impl("older::sine")
... def computed(x):
...     return x.sin()
>>> @_custom_ops.impl_save_for_backward("older::sine")
... def kept(inputs, output):
...     return inputs.x
>>> @_custom_ops.impl_backward("older::sine")
... def gradients(ctx, saved, grad):
...     return {"x": grad * saved.cos()}
>>> x = torch.zeros(2, requires_grad=True)
>>> torch.ops.older.sine(x).sum().backward()
>>> x.grad
tensor([1., 1.])
"""

import collections
import functools

import cresset as torch

from .. import library as _library
from ..utils._pytree import tree_flatten, tree_unflatten

__all__ = ["custom_op", "impl", "impl_abstract", "impl_backward", "impl_save_for_backward"]

_DEVICES = ("cpu", "cuda")
_libraries = {}  # "namespace::name" -> the library that defined it
_pieces = {}  # "namespace::name" -> {"save": function, "backward": function, "differentiable": list}


def custom_op(qualname, func_or_schema=None):
    """Defines a functional operator by a schema, as "(Tensor x) -> Tensor", or by the annotations of a function of its name; a decorator where neither is given.

    Errors: ValueError for a name with an overload, a reserved namespace, a function of another name, and a schema that writes or returns views; RuntimeError
    for text that is no schema.
    """
    namespace, name = _library._name(qualname)
    if "." in name:
        raise ValueError(f"custom_op: expected a name without an overload, got {qualname!r}")
    if namespace in (*_library._RESERVED, "aten", "prim", "prims", "at", "torch"):
        raise ValueError(f"custom_op: {namespace} is a reserved namespace, choose another one")

    def define(schema):
        form = _library._schema.parse(f"{namespace}::{name}{schema}", namespace)
        if not form.returns or any(a.mutated for a in form.arguments) or "(a" in schema or any(a.name == "self" for a in form.arguments):
            raise ValueError(f"custom_op: expected an operator that only returns something new, without an argument `self`, got {schema!r}")
        made = _library.Library(namespace, "FRAGMENT")
        made.define(name + schema)
        _libraries[qualname] = made

    def of_function(function):
        if function.__name__ != name:
            raise ValueError(f"custom_op: expected the function to have name {name!r}, got {function.__name__!r}")
        define(_library.infer_schema(function, mutates_args=()))
        return function

    if func_or_schema is None:
        return of_function
    return define(func_or_schema) if isinstance(func_or_schema, str) else of_function(func_or_schema)


def _decorator(function):
    """A registration that is a decorator where `func` is left out."""

    @functools.wraps(function)
    def register(qualname, *args, func=None, **kwargs):
        def put(given):
            function(qualname, given, *args, **kwargs)
            return given

        return put if func is None else put(func)

    return register


@_decorator
def impl(qualname, func, device_types=_DEVICES):
    """The function that computes the operator on devices. ValueError for others than "cpu" and "cuda", RuntimeError where one is there."""
    kinds = (device_types,) if isinstance(device_types, str) else tuple(device_types)
    wrong = [kind for kind in kinds if kind not in _DEVICES]
    if wrong:
        raise ValueError(f"impl: expected devices among {', '.join(_DEVICES)}, got {', '.join(wrong)}")
    there = _library._found(qualname)._kernels.keys() & {"CompositeImplicitAutograd", "CompositeExplicitAutograd", *(kind.upper() for kind in kinds)}
    if there:
        raise RuntimeError(f"impl: {qualname} already has an implementation for {', '.join(sorted(there))}")
    for kind in kinds:
        _library.impl(qualname, kind, func)


@_decorator
def impl_abstract(qualname, func):
    """The function that gives results without values, as `torch.library.register_fake`."""
    _library.register_fake(qualname, func)


@_decorator
def impl_save_for_backward(qualname, func):
    """Registers the function that keeps values for the gradient, of the named arguments and the output."""
    _put(qualname, save=func)


@_decorator
def impl_backward(qualname, func, output_differentiability=None):
    """The gradient: a function of the context, what was kept, and a gradient for each output, that returns those of the tensors by argument name.
    `output_differentiability` says which outputs have one. RuntimeError for another number of flags, and operators that write, return views or nothing."""
    if output_differentiability is not None:
        count = len(_library._found(qualname)._form.returns)
        if not isinstance(output_differentiability, list) or len(output_differentiability) != count:
            raise RuntimeError(f"impl_backward: expected output_differentiability to be a list of {count} bools, got {output_differentiability!r}")
    _put(qualname, backward=func, differentiable=output_differentiability)


def _put(qualname, **piece):
    """Registers the formula, of the pieces that are there."""
    op = _library._found(qualname)
    form, there = op._form, op._kernels.keys() & {"CompositeImplicitAutograd", "Autograd", "AutogradCPU", "AutogradCUDA"}
    if not form.returns or any(a.mutated for a in form.arguments) or op.is_view:
        what = "returns nothing" if not form.returns else "returns views" if op.is_view else "writes to its arguments"
        raise RuntimeError(f"{qualname}: an operator that {what} gets no gradient here")
    if there:
        raise RuntimeError(f"{qualname}: has a function for {', '.join(sorted(there))} already, which says what its gradient is")
    _pieces.setdefault(qualname, {"differentiable": None}).update(piece)
    _library.register_autograd(qualname, functools.partial(_backward, qualname), setup_context=functools.partial(_setup, qualname))


def _piece(qualname, name, registration):
    found = _pieces[qualname].get(name)
    if found is None:
        raise RuntimeError(f"{qualname}: its gradient lacks the function of {registration}; register one")
    return found


def _setup(qualname, ctx, inputs, output, keyword_only_inputs=None):
    save = _piece(qualname, "save", "impl_save_for_backward")
    _piece(qualname, "backward", "impl_backward")
    op = _library._found(qualname)
    plain = [a.name for a in op._form.arguments if not a.keyword]
    named = {**dict(zip(plain, inputs, strict=True)), **(keyword_only_inputs or {})}
    saved = save(collections.namedtuple("Inputs", named)(**named), output)
    leaves, ctx.spec = tree_flatten(saved)
    ctx.places = [isinstance(leaf, torch.Tensor) for leaf in leaves]
    ctx.others = [None if is_tensor else leaf for leaf, is_tensor in zip(leaves, ctx.places, strict=True)]
    ctx.save_for_backward(*(leaf for leaf in leaves if isinstance(leaf, torch.Tensor)))
    ctx.counts = {name: len(value) if isinstance(value, (list, tuple)) else None for name, value in named.items()}
    flags, outputs = _pieces[qualname]["differentiable"], output if isinstance(output, tuple) else (output,)
    for flag, part in zip(flags or (), outputs, strict=bool(flags)):
        tensors = part if isinstance(part, (list, tuple)) else [part]
        if not all(isinstance(t, torch.Tensor) for t in tensors):
            raise RuntimeError(f"{qualname}: output_differentiability speaks of an output that is no tensor")
        if not flag:
            ctx.mark_non_differentiable(*tensors)


def _backward(qualname, ctx, *grads):
    tensors = iter(ctx.saved_tensors)
    saved = tree_unflatten([next(tensors) if is_tensor else other for is_tensor, other in zip(ctx.places, ctx.others, strict=True)], ctx.spec)
    found = _pieces[qualname]["backward"](ctx, saved, *grads)
    arguments = _library._found(qualname)._form.arguments
    names = {a.name for a in arguments if a.base == "Tensor"}
    if not isinstance(found, dict):
        raise RuntimeError(f"{qualname}: its backward has to return a dict of gradients by name, got {type(found).__name__}")
    if found.keys() != names:
        raise RuntimeError(f"{qualname}: expected the dict of the backward function to have keys {names}, those of the tensors, got {set(found)}")
    for name, grad in found.items():
        _check(qualname, name, grad, ctx.counts[name])
    return tuple(found.get(a.name) for a in arguments if not a.keyword)


def _check(qualname, name, grad, count):
    if count is not None and (not isinstance(grad, (list, tuple)) or len(grad) != count):
        got = f"got {len(grad)}" if isinstance(grad, (list, tuple)) else f"got {type(grad).__name__}"
        raise RuntimeError(f"{qualname}: expected a list of gradients for {name!r}, of {count}, {got}")
    if any(not (g is None or isinstance(g, torch.Tensor)) for g in (grad if count is not None else [grad])):
        raise RuntimeError(f"{qualname}: expected gradients for {name!r} to be None or Tensor")


def _destroy(qualname):
    """Undefines an operator."""
    _pieces.pop(qualname, None)
    _libraries.pop(qualname)._destroy()
