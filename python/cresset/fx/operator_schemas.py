"""Arguments of calls in the form that the signature of the function gives them."""

import collections.abc
import contextlib
import functools
import inspect
import numbers
import types
import typing

import cresset as torch

from ._compatibility import compatibility
from .node import _changes_arguments, _is_operator_of_torch

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "get_signature_for_torch_op",
    "create_type_hint",
    "type_matches",
    "normalize_function",
    "normalize_module",
]


@compatibility(is_backward_compatible=False)
class ArgsKwargsPair(typing.NamedTuple):
    """Arguments by position, and by name.

    >>> torch.fx.operator_schemas.ArgsKwargsPair((1,), {}).args
    (1,)
    """

    args: tuple
    kwargs: dict


# ---- signatures of operators ------------------------------------------------------------------------------------------------


_TYPES = {
    "Tensor": torch.Tensor, "Device": torch.device, "Generator": torch.Generator, "Layout": torch.layout, "number": numbers.Number, "NoneType": type(None),
    "int": int, "float": float, "bool": bool, "str": str, "complex": complex, "t": typing.TypeVar("t"), "Any": typing.Any, "List": typing.List,
    "Dict": typing.Dict, "Tuple": typing.Tuple, "Optional": typing.Optional, "Union": typing.Union, "Storage": torch.UntypedStorage,
}  # fmt: skip


def _torchscript_type_to_python_type(ts_type):
    """The type of Python that a type of schemas and TorchScript stands for: `List[int]`, `Optional[torch.Tensor]`, `numbers.Number`."""
    try:
        return eval(ts_type.annotation_str, dict(_TYPES))
    except (NameError, SyntaxError) as error:
        raise NotImplementedError(f"the type {ts_type.annotation_str} of TorchScript has no type of Python") from error


def _parameter(argument):
    name = {"self": "input", "from": "from_"}.get(argument.name, argument.name)
    default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
    kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=default, annotation=_torchscript_type_to_python_type(argument.type))


def _torchscript_schema_to_signature(ts_schema):
    """The signature of a schema, with `input` for `self`; several results are a tuple of their types."""
    results = [_torchscript_type_to_python_type(r.type) for r in ts_schema.returns]
    return inspect.Signature([_parameter(a) for a in ts_schema.arguments], return_annotation=results[0] if len(results) == 1 else tuple(results) or None)


def _schemas(op):
    """The schemas of an operator."""
    name = getattr(op, "__name__", "")
    if type(op) is type(torch.add) or (isinstance(op, types.FunctionType) and getattr(torch, name, None) is op):
        op = next((packet for known in (name, name.removeprefix("_")) if (packet := getattr(torch.ops.aten, known, None)) is not None), None)
    if not _is_operator_of_torch(op):
        return []
    overloads = [getattr(op, name) for name in op.overloads()] if hasattr(op, "overloads") else [op]
    return [schema for overload in overloads if (schema := getattr(overload, "_schema", None)) is not None]


@functools.lru_cache(None)
def _signatures(op):
    """Pairs of a signature and its schema; overloads of types that Python does not have are left out."""
    found = []
    for schema in _schemas(op):
        with contextlib.suppress(NotImplementedError, ValueError):
            found.append((_torchscript_schema_to_signature(schema), schema))
    return tuple(found)


@compatibility(is_backward_compatible=False)
def get_signature_for_torch_op(op, return_schemas=False):
    """The signatures of an operator, one for each overload; None for what is no operator.

    Args:
        op: the function, as torch.add or torch.ops.aten.add.
        return_schemas: return their schemas too.

    >>> list(torch.fx.operator_schemas.get_signature_for_torch_op(torch.add)[0].parameters)
    ['input', 'other', 'alpha']
    """
    found = _signatures(op) or None
    signatures = found and [signature for signature, _ in found]
    return (signatures, found and [schema for _, schema in found]) if return_schemas else signatures


@compatibility(is_backward_compatible=False)
def check_for_mutable_operation(target, args, kwargs):
    """RuntimeError for a call of a function that changes its arguments.

    >>> torch.fx.operator_schemas.check_for_mutable_operation(torch.add, (torch.ones(1), 1), {})
    """
    name = getattr(target, "__name__", "")
    in_place = type(target) is type(torch.add) and name.endswith("_") and not name.endswith("__")
    if _changes_arguments(target) or in_place or kwargs.get("out") is not None:
        raise RuntimeError(
            f"Tried to trace mutable operation {target}: the tracer was asked to take functional code alone, without out= and operators that write into arguments"
        )


# ---- types ------------------------------------------------------------------------------------------------------------------


@compatibility(is_backward_compatible=False)
def create_type_hint(x):
    """The type of a list or tuple of types, as `list[int]` for [int, int].

    >>> torch.fx.operator_schemas.create_type_hint([int, int])
    list[int]
    """
    if not isinstance(x, (list, tuple)):
        return x
    kind = list if isinstance(x, list) else lambda t: tuple[t, ...]
    if len(x) == 0:
        return list[typing.Any] if isinstance(x, list) else tuple[typing.Any, ...]
    base = x[0]
    for item in x:
        if not (isinstance(item, type) and isinstance(base, type)):
            if item != base:
                return list[typing.Any] if isinstance(x, list) else tuple[typing.Any, ...]
        elif issubclass(base, item):
            base = item
        elif not issubclass(item, base):
            return list[typing.Any] if isinstance(x, list) else tuple[typing.Any, ...]
    return list[base] if kind is list else tuple[base, ...]


@compatibility(is_backward_compatible=False)
def type_matches(signature_type, argument_type):
    """Whether an argument of a type can be given where a signature has a type.

    >>> matches = torch.fx.operator_schemas.type_matches
    >>> matches(list[int], int), matches(int, float)
    (True, False)
    """
    if signature_type is argument_type or signature_type in (typing.Any, inspect.Parameter.empty):
        return True
    origin, inner = typing.get_origin(signature_type), typing.get_args(signature_type)
    if origin in (typing.Union, types.UnionType):
        return any(type_matches(option, argument_type) for option in inner)
    if origin in (list, collections.abc.Sequence):
        element = inner[0] if inner else typing.Any
        found = typing.get_origin(argument_type)
        if found in (list, tuple):
            return all(type_matches(element, a) for a in typing.get_args(argument_type) if a is not ...)
        return argument_type is element or argument_type in (list, tuple)
    if signature_type is numbers.Number and argument_type in (int, float, complex, bool):
        return True
    if signature_type is int and argument_type is torch.dtype:  # which schemas have as a number
        return True
    return inspect.isclass(argument_type) and inspect.isclass(signature_type) and issubclass(argument_type, signature_type)


# ---- normal form --------------------------------------------------------------------------------------------------------------


@compatibility(is_backward_compatible=False)
def normalize_function(target, args, kwargs=None, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
    """The arguments of a call with the defaults that the signature gives; None where no signature is known or fits.

    Args:
        target: the function.
        args, kwargs: the arguments.
        arg_types, kwarg_types: their types, which choose where several overloads fit.
        normalize_to_only_use_kwargs: name all arguments.

    Errors: RuntimeError where several overloads fit and no types are given.

    >>> torch.fx.operator_schemas.normalize_function(torch.relu, (1,), normalize_to_only_use_kwargs=True).kwargs
    {'input': 1}
    """
    kwargs = {} if kwargs is None else kwargs
    of_text = isinstance(target, types.FunctionType) and _of_python_function(target, args, kwargs, normalize_to_only_use_kwargs)
    if of_text:
        return of_text
    candidates = get_signature_for_torch_op(target) if callable(target) else None
    if not candidates:
        return None
    fitting = [s for s in candidates if _binds(s, args, kwargs)]
    if len(fitting) > 1 and (arg_types is not None or kwarg_types is not None):
        fitting = [s for s in fitting if _types_fit(s, arg_types or (), kwarg_types or {})][:1]
    if len(fitting) > 1:
        texts = "\n".join(map(str, candidates))
        raise RuntimeError(
            f"normalize_function: the schema match was ambiguous for torch.{getattr(target, '__name__', target)}; arg_types and kwarg_types choose among "
            f"those that fit:\n{texts}"
        )
    return _normal(fitting[0], args, kwargs, normalize_to_only_use_kwargs) if fitting else None


def _of_python_function(target, args, kwargs, only_kwargs):
    try:
        signature = inspect.signature(inspect.unwrap(target))
        return _normal(signature, args, kwargs, only_kwargs)
    except (TypeError, ValueError):
        return None


def _binds(signature, args, kwargs):
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _types_fit(signature, arg_types, kwarg_types):
    try:
        bound = signature.bind(*arg_types, **kwarg_types)
    except TypeError:
        return False
    return all(type_matches(signature.parameters[name].annotation, kind) for name, kind in bound.arguments.items())


def _normal(signature, args, kwargs, only_kwargs):
    """The arguments bound to a signature. Errors: TypeError where they do not fit."""
    supported = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(p.kind not in supported for p in signature.parameters.values()):
        # A function with `self` by position alone is a method of a module.
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    new_args, new_kwargs = [], {}
    for i, name in enumerate(signature.parameters):
        if only_kwargs or i >= len(args):
            new_kwargs[name] = bound.arguments[name]
        else:
            new_args.append(bound.arguments[name])
    return ArgsKwargsPair(tuple(new_args), new_kwargs)


@compatibility(is_backward_compatible=False)
def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """`normalize_function` of a submodule's forward.

    Errors: RuntimeError for a path at which there is no module.

    >>> torch.fx.operator_schemas.normalize_module(nn.Sequential(nn.ReLU()), "0", (1,), normalize_to_only_use_kwargs=True).kwargs
    {'input': 1}
    """
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(f"Tried to normalize arguments for module target {target} but root did not have submodule {target}!") from error
    if not str(type(module).__module__).startswith(("cresset.nn", "torch.nn")):
        return None
    signature = inspect.signature(module.forward)
    try:
        return _normal(signature, args, {} if kwargs is None else kwargs, normalize_to_only_use_kwargs)
    except TypeError:
        return None
