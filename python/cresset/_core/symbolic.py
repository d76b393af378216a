"""Functions that stand for Python's operators where a number may be a symbol. Numbers here are always known: these compute with them."""

import math as _math


def _number(value):
    if not isinstance(value, (int, float)):
        raise AssertionError(f"expected a number, got {type(value)}")
    return value


def sym_int(a):
    """The number rounded towards zero, as an int.

    >>> torch.sym_int(-2.7)
    -2
    """
    return int(a)


def sym_float(a):
    """The number as a float.

    >>> torch.sym_float(2)
    2.0
    """
    return float(a)


def sym_not(a):
    """Whether the value is false.

    >>> torch.sym_not(True)
    False
    """
    return not a


def sym_max(a, b):
    """The larger of two numbers; a float if one of them is. AssertionError for what is no number.

    >>> torch.sym_max(2, 3.0)
    3.0
    """
    largest = max(_number(a), _number(b))
    return float(largest) if isinstance(a, float) or isinstance(b, float) else largest


def sym_min(a, b):
    """The smaller of two numbers; a float if one of them is. AssertionError for what is no number.

    >>> torch.sym_min(2, 3.0)
    2.0
    """
    smallest = min(_number(a), _number(b))
    return float(smallest) if isinstance(a, float) or isinstance(b, float) else smallest


def sym_ite(b, t, f):
    """`t` where `b` is true, `f` elsewhere. AssertionError for a condition that is no bool, and for values of different types.

    >>> torch.sym_ite(True, 1, 2)
    1
    """
    if not isinstance(b, bool):
        raise AssertionError(f"sym_ite: expected a bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"sym_ite: expected values of one type, got {type(t)} and {type(f)}")
    return t if b else f


def sym_sqrt(a):
    """The square root of a number.

    >>> torch.sym_sqrt(4)
    2.0
    """
    return _math.sqrt(a)


def sym_sum(args):
    """The sum of a list of numbers.

    >>> torch.sym_sum([1, 2, 3])
    6
    """
    return sum(args)


def sym_fresh_size(expr):
    """The size itself.

    >>> torch.sym_fresh_size(3)
    3
    """
    return expr


def sym_constrain_range(size, *, min=None, max=None):  # noqa: A002
    """RuntimeError for a number outside min..max.

    >>> torch.sym_constrain_range(3, min=1, max=4)
    """
    low, high = -(2**63) if min is None else min, 2**63 - 1 if max is None else max
    if not low <= int(size) <= high:
        raise RuntimeError(f"Invalid value range for {int(size)} between [{low}, {high}].")


def sym_constrain_range_for_size(size, *, min=None, max=None):  # noqa: A002
    """RuntimeError for a size outside min..max, or below zero.

    >>> torch.sym_constrain_range_for_size(3, max=4)
    """
    sym_constrain_range(size, min=0 if min is None else min, max=max)
