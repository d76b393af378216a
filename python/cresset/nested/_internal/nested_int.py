"""Nested integers: sizes of dimensions whose length differs from one component to the next.

In the geometry of a nested tensor such a size is a number from 2**32 on that stands for one raggedness; equal numbers are equal raggedness, so that the
library's rules for shapes (broadcasting, views) hold as they are. In Python it is a `SymInt` with a node of this module.
"""

import itertools

import _cresset
import cresset as torch

_cresset._name_symbols(torch.SymInt, torch.SymFloat, torch.SymBool)

FIRST = 1 << 32  # sizes below are sizes
_ids = itertools.count(1)


class NestedIntNode:
    """The node of a `SymInt` that stands for a raggedness: equal to itself, at least 2, and nothing else is known of it."""

    __slots__ = ("coefficient", "id")

    def __init__(self, id, coefficient=1):  # noqa: A002
        self.id, self.coefficient = id, coefficient

    def is_nested_int(self):
        """True."""
        return True

    def nested_int(self):
        """The number of the raggedness."""
        return self.id

    def nested_int_coeff(self):
        """The factor before it."""
        return self.coefficient

    def is_int(self):
        """True."""
        return True

    def is_float(self):
        """False."""
        return False

    is_bool = is_symbolic = is_constant = is_float

    def maybe_as_int(self):
        """None: it is no single number."""

    def clone(self):
        """The node itself, which never changes."""
        return self

    def str(self):
        """Its name, such as j1."""
        return f"j{self.id}" if self.coefficient == 1 else f"{self.coefficient}*j{self.id}"

    __str__ = __repr__ = str

    def int_(self):
        """A nested integer is no number. RuntimeError always."""
        raise RuntimeError(f"{self.str()} stands for sizes that differ between the components of a nested tensor; there is no int for it")

    guard_int = int_

    def combine(self, operation, *others):
        """A comparison, or the product with an int. ValueError for a comparison that has no answer."""
        (other,) = others or (None,)
        known = other.node if isinstance(other, torch.SymInt) else other
        same = isinstance(known, NestedIntNode) and (known.id, known.coefficient) == (self.id, self.coefficient)
        if operation in ("eq", "ne"):
            return same == (operation == "eq")
        if operation == "mul" and isinstance(other, int):
            return torch.SymInt(NestedIntNode(self.id, self.coefficient * other))
        if operation in ("ge", "lt", "le", "gt"):
            if same:
                return operation in ("ge", "le")
            if isinstance(other, int) and other <= 2 and operation in ("ge", "lt"):
                return operation == "ge"
            if isinstance(other, int) and other < 2:
                return operation == "gt"
            raise ValueError(f"{operation}: {self.str()} against {other} has no answer, since the sizes it stands for differ")
        raise NotImplementedError(f"{operation}: {self.str()} stands for sizes that differ; it can be compared, and multiplied by an int")

    def combine_from(self, operation, other):
        """The same with the other one first."""
        turned = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
        return self.combine(turned.get(operation, operation), other)


def fresh():
    """A number that no raggedness has yet."""
    return FIRST + next(_ids)


def lifted(size):
    """The SymInt of a size that stands for a raggedness; any other size as it is."""
    return torch.SymInt(NestedIntNode(size - FIRST)) if size > FIRST else size


def lowered(value):
    """Arguments with plain numbers in the place of nested integers."""
    if isinstance(value, torch.SymInt) and value.node.is_nested_int():
        if value.node.coefficient != 1:
            raise RuntimeError(f"{value} is no size of a nested tensor: a factor before a nested integer is for strides alone")
        return FIRST + value.node.id
    if type(value) in (tuple, list, torch.Size):
        return tuple(map(lowered, value)) if any(isinstance(item, (torch.SymInt, tuple, list)) for item in value) else value
    return value
