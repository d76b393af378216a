"""The types of values, as tracing infers them from examples."""

import cresset as torch

from ._views import Type

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
            raise NoType("List trace inputs must have elements")
        return f"List[{_common(value, 'List inputs to traced functions must have consistent element type')}]"
    if isinstance(value, dict):
        if not value:
            raise NoType("Dictionary inputs must have entries")
        keys, values = (_common(part, "Dictionary inputs to traced functions must have consistent type") for part in (value, value.values()))
        if keys not in _KEYS:
            raise NoType(f"Cannot create dict for key type '{keys}', only int, float, complex, Tensor, device and string keys are supported")
        return f"Dict[{keys}, {values}]"
    if isinstance(value, torch.nn.Module):
        raise NoType("Cannot infer concrete type of torch.nn.Module")
    raise NoType(
        "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as inputs or outputs of traced functions, but instead got "
        f"value of type {type(value).__name__}."
    )


def _common(values, complaint):
    """The type of all values; beside None it is an optional one."""
    texts = list(dict.fromkeys(map(type_text, values)))
    some = [text for text in texts if text != "NoneType"]
    if len(some) > 1:
        raise NoType(f"{complaint}. Found {some[0]} and {some[1]}")
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
