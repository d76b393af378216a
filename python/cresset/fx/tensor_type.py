"""Types of tensors by their shapes, in which sizes may be open."""

from ._compatibility import compatibility

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class _DynType:
    """An open size, or an open type."""

    def __init__(self):
        self.__name__ = "_DynType"

    def __eq__(self, other):
        return isinstance(other, _DynType)

    def __hash__(self):
        return hash(_DynType)

    def __repr__(self):
        return "Dyn"


Dyn = _DynType()


@compatibility(is_backward_compatible=False)
class TensorType:
    """The type of tensors of a shape, whose sizes are numbers or `Dyn`.

    >>> torch.fx.tensor_type.TensorType((1, torch.fx.tensor_type.Dyn))
    TensorType[(1, Dyn)]
    """

    def __init__(self, dim):
        self.__origin__, self.__args__ = TensorType, dim

    def __repr__(self):
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other):
        return isinstance(other, TensorType) and list(self.__args__) == list(other.__args__)

    def __hash__(self):
        return hash(tuple(self.__args__))

    def __class_getitem__(cls, *args):
        return cls(args[0] if len(args) == 1 and isinstance(args[0], tuple) else args)


def _is_variable(size):
    """Whether this stands for a size that is to be found, which may be any."""
    from .experimental.unification import Var

    return isinstance(size, Var)


@compatibility(is_backward_compatible=False)
def is_consistent(t1, t2):
    """Whether one value can have both types.

    >>> TensorType, Dyn = torch.fx.tensor_type.TensorType, torch.fx.tensor_type.Dyn
    >>> torch.fx.tensor_type.is_consistent(TensorType((1, Dyn)), TensorType((1, 2)))
    True
    """
    if t1 == t2 or t1 == Dyn or t2 == Dyn or _is_variable(t1) or _is_variable(t2):
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(is_consistent(a, b) for a, b in zip(t1.__args__, t2.__args__, strict=True))
    return False


@compatibility(is_backward_compatible=False)
def is_more_precise(t1, t2):
    """Whether the first type says all that the second says.

    >>> TensorType, Dyn = torch.fx.tensor_type.TensorType, torch.fx.tensor_type.Dyn
    >>> torch.fx.tensor_type.is_more_precise(TensorType((1, 2)), TensorType((1, Dyn)))
    True
    """
    if t1 == t2 or t2 == Dyn:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(is_more_precise(a, b) for a, b in zip(t1.__args__, t2.__args__, strict=True))
    return False
