"""The infinities of integers, which ends of ranges are."""

import math


class _Infinite(type):
    def __instancecheck__(cls, value):
        return type(value) in (int, float) and value == cls.value


class IntInfinity(metaclass=_Infinite):
    """The end of a range of integers without an upper limit: `isinstance(r.upper, IntInfinity)` asks for it.

    >>> numbers = torch.utils._sympy.numbers
    >>> isinstance(numbers.int_oo, numbers.IntInfinity), isinstance(8, numbers.IntInfinity)
    (True, False)
    """

    value = math.inf

    def __new__(cls):
        return cls.value


class NegativeIntInfinity(metaclass=_Infinite):
    """The same without a lower limit.

    >>> isinstance(-float("inf"), torch.utils._sympy.numbers.NegativeIntInfinity)
    True
    """

    value = -math.inf

    def __new__(cls):
        return cls.value


int_oo = IntInfinity()
