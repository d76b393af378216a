"""Schemas of functions with annotations, as text.

>>> def f(x: torch.Tensor, n: int = 2) -> torch.Tensor: ...
>>> torch._library.infer_schema.infer_schema(f, mutates_args=())
'(Tensor x, SymInt n=2) -> Tensor'
"""

import collections.abc
import inspect
import types
import typing

import cresset as torch

_PLAIN = {torch.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", torch.dtype: "ScalarType", torch.device: "Device"}
_NUMBERS = {"SymInt", "float", "bool"}
_LISTED = {"Tensor", "Tensor?", "Scalar"} | _NUMBERS
_OPTIONAL = {*_PLAIN.values(), "Scalar", *(f"{kind}[]" for kind in _NUMBERS)}
_RETURNED = {"Tensor", "Tensor[]", "Scalar"} | _NUMBERS
_UNIONS = (typing.Union, types.UnionType)


def _type_of(hint):
    """The schema's type of a parameter's annotation, or None."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in _UNIONS:
        if set(args) == {int, float, bool}:
            return "Scalar"
        rest = [a for a in args if a is not type(None)]
        inner = _type_of(typing.Union[tuple(rest)]) if len(rest) == len(args) - 1 else None
        return f"{inner}?" if inner in _OPTIONAL else None
    if origin in (list, collections.abc.Sequence) and len(args) == 1:
        inner = _type_of(args[0])
        return f"{inner}[]" if inner in _LISTED else None
    return None


def _returned_of(hint):
    """The schema's results of a return annotation, or None."""
    if hint is None or hint is type(None):
        return "()"
    if typing.get_origin(hint) is tuple:
        parts = [_one_returned(a) for a in typing.get_args(hint)]
        return None if None in parts else f"({', '.join(parts)})"
    return _one_returned(hint)


def _one_returned(hint):
    kind = None if typing.get_origin(hint) is collections.abc.Sequence else _type_of(hint)
    return kind if kind in _RETURNED else None


def _written(value, fail, name):
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, (str, torch.device)):
        return f'"{value}"'
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    raise fail(f"parameter {name} has a default of a type that schemas lack, {type(value)}")


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The schema of a function with annotations, as text; `mutates_args` names the tensors it changes, or is "unknown". Of
    the tags "inplace" and "out" say that the function returns the tensors that it changes.

    Errors: ValueError for arguments that do not go with a tag, for parameters without annotations, and for types that schemas have none for.

    >>> def f(x: torch.Tensor, n: int = 2) -> torch.Tensor: ...
    >>> torch.library.infer_schema(f, mutates_args=())
    '(Tensor x, SymInt n=2) -> Tensor'
    """
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(f"infer_schema: expected mutates_args to be a sequence of names of arguments, or 'unknown', got {mutates_args!r}")
    kinds = {getattr(tag, "name", tag) for tag in (tags if isinstance(tags, (list, tuple, set, frozenset)) else (tags,))}
    signature = inspect.signature(prototype_function)

    def fail(text):
        return ValueError(f"infer_schema: {text}; the function is {getattr(prototype_function, '__name__', 'func')}{signature}")

    parts, changed, by_position = _parameters(signature, _hints(prototype_function, fail), mutates_args, fail)
    unknown = set() if mutates_args == "unknown" else set(mutates_args) - set(signature.parameters)
    if unknown:
        raise fail(f"{unknown} in mutates_args are no arguments of the function; name those that it writes, or pass 'unknown'")
    if "inplace" in kinds and (mutates_args == "unknown" or list(mutates_args) != list(signature.parameters)[:1]):
        raise fail(f"Tag.inplace: expected the first argument alone in mutates_args, got {mutates_args}")
    if "out" in kinds and by_position:
        raise fail("Tag.out: written arguments have to be keyword-only")
    if "out" in kinds and not changed:
        raise fail("Tag.out: expected a written keyword-only tensor argument")
    returned = _results(prototype_function, fail)
    if kinds & {"inplace", "out"}:
        returned = changed[0] if len(changed) == 1 else f"({', '.join(changed)})"
    return f"{op_name or ''}({', '.join(parts)}) -> {returned}"


def _hints(function, fail):
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, SyntaxError) as error:
        raise fail(f"an annotation cannot be read, {error}") from None


def _results(function, fail):
    hints = _hints(function, fail)
    if "return" not in hints:
        raise fail("the function has no return annotation")
    returned = _returned_of(hints["return"])
    if returned is None:
        raise fail(f"expected a result of Tensor, List[Tensor], int, float, bool, Number, or a tuple of them, got {hints['return']}")
    return returned


def _parameters(signature, hints, mutates_args, fail):
    """The arguments as text, the types of those that are written, and whether one of these may be given by its place."""
    parts, changed, keyword, by_position = [], [], False, False
    for place, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise fail("schemas have no positional-only arguments, *args or **kwargs")
        if parameter.kind == parameter.KEYWORD_ONLY and not keyword:
            keyword = True
            parts.append("*")
        if name not in hints:
            raise fail(f"parameter {name} has no annotation")
        text = _type_of(hints[name])
        if text is None and typing.get_origin(hints[name]) is tuple:
            raise fail(f"parameter {name} is {hints[name]}, and schemas have no tuples, use a list, as List[int]")
        if text is None:
            raise fail(f"expected parameter {name} to be one of {', '.join(sorted(_PLAIN.values()))}, lists and Optional of them, got {hints[name]}")
        if name in mutates_args if mutates_args != "unknown" else text.startswith("Tensor"):
            if not text.startswith("Tensor"):
                raise fail(f"parameter {name} is in mutates_args and is no tensor or list of tensors")
            text = f"Tensor(a{place}!){text[6:]}"
            changed.append(text)
            by_position = by_position or not keyword
        parts.append(f"{text} {name}" + ("" if parameter.default is parameter.empty else f"={_written(parameter.default, fail, name)}"))
    return parts, changed, by_position
