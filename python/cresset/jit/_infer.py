"""The types of values, as tracing infers them from examples."""

import cresset as torch

from ._ir import Type

_PLAIN = {bool: "bool", int: "int", float: "float", complex: "complex", str: "str", bytes: "str", type(None): "NoneType"}
_OF_CONSTANTS = {torch.dtype: "int", torch.layout: "int", torch.device: "Device", torch.Generator: "Generator"}
_KEYS = ("int", "float", "complex", "Tensor", "Device", "str", "bool")


class NoType(RuntimeError):
    """A value that has no type of TorchScript, or whose parts are of several."""


def type_text(value):
    """The type of a value, as text. Errors: NoType, which says why there is none."""
    if isinstance(value, torch.Tensor):
        return "Tensor"
    for kinds in (_PLAIN, _OF_CONSTANTS):
        for kind, text in kinds.items():
            if isinstance(value, kind):
                return text
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(type_text, value)) or '()'}]"
    if isinstance(value, list):
        if not value:
            raise NoType("an empty list says no type of its elements")
        return f"List[{_common(value, 'elements of a list')}]"
    if isinstance(value, dict):
        if not value:
            raise NoType("an empty dictionary says no type of its keys and values")
        keys, values = _common(value, "keys of a dictionary"), _common(value.values(), "values of a dictionary")
        if keys not in _KEYS:
            raise NoType(f"keys of a dictionary of type {keys}, expected one of {', '.join(_KEYS)}")
        return f"Dict[{keys}, {values}]"
    if isinstance(value, torch.nn.Module):
        raise NoType("a module has no type that an example could tell")
    raise NoType(f"a value of type '{type(value).__name__}' cannot be traced; inputs are tensors and lists, dicts and tuples of them")


def _common(values, what):
    """The type of all values; beside None it is an optional one."""
    texts = list(dict.fromkeys(map(type_text, values)))
    some = [text for text in texts if text != "NoneType"]
    if len(some) > 1:
        raise NoType(f"{what} of the types {some[0]} and {some[1]}, expected one type")
    return texts[0] if len(texts) == 1 else f"Optional[{some[0]}]"


class InferredType:
    """The type of a value, or the reason why it has none."""

    def __init__(self, text, reason=""):
        self._text, self._reason = text, reason

    def success(self):
        """Whether there is a type."""
        return self._text is not None

    def type(self):
        """The type. Errors: RuntimeError where there is none."""
        if self._text is None:
            raise RuntimeError(f"InferredType: the value has no type: {self._reason}")
        return Type(self._text)

    def reason(self):
        """Why there is none."""
        return self._reason


def inferred(value):
    """The `InferredType` of a value."""
    try:
        return InferredType(type_text(value))
    except NoType as error:
        return InferredType(None, str(error))
