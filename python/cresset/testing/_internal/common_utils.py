"""Test cases that compare tensors, as the tests of extensions are written with."""

import collections.abc
import numbers
import random
import sys
import unittest

import cresset as torch

from .. import assert_close, make_tensor

__all__ = ["TestCase", "make_tensor", "run_tests"]

SEED = 1234
_OF_NUMBERS = {"atol": 1e-5, "rtol": 1.3e-6}  # numbers come from tensors of float32 more often than not


def set_rng_seed(seed=SEED):
    """Seeds the generators of tensors, of Python and, where it is loaded, of NumPy."""
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)


def _is_array(value):
    return isinstance(value, torch.Tensor) or _is_of_numpy(value)


def _is_of_numpy(value):
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic))


def _plain(value):
    """An array of texts or objects as a list, for there are no such tensors; other values as they are."""
    return value.tolist() if _is_of_numpy(value) and value.dtype.kind not in "biufc" else value


def _is_sequence(value):
    return isinstance(value, collections.abc.Sequence) and not isinstance(value, (str, bytes))


def _tensor_like(value, other):
    """A value as a tensor to compare with another value: numbers and lists in the dtype of a tensor, a number in its shape of one element."""
    if _is_array(value):
        return torch.as_tensor(value)
    made = torch.as_tensor(value, dtype=other.dtype, device=other.device)
    return made.reshape(other.shape) if made.dim() == 0 and other.numel() == 1 else made


class TestCase(unittest.TestCase):
    """A test case whose `assertEqual` compares tensors within tolerances, and whose tests start from the same seed.

    >>> from cresset.testing._internal.common_utils import TestCase
    >>> TestCase().assertEqual({"a": [torch.ones(1)]}, {"a": [torch.tensor([1.0 + 1e-7])]})
    """

    def setUp(self):
        set_rng_seed()

    def assertEqual(
        self, x, y, msg=None, *, atol=None, rtol=None, equal_nan=True, exact_dtype=True, exact_device=False, exact_layout=False, exact_stride=False
    ):
        """Fails unless x and y are equal: tensors, arrays and numbers as `testing.assert_close` has it, containers element by element, others by ==.

        A tensor may be compared with a number or a list, in its dtype. Errors: ValueError where one of atol and rtol is given alone.
        """
        options = {"atol": atol, "rtol": rtol, "equal_nan": equal_nan, "check_device": exact_device, "check_layout": exact_layout, "check_stride": exact_stride}
        self._compare(x, y, msg, exact_dtype, options)

    def _compare(self, x, y, msg, exact_dtype, options):
        x, y = _plain(x), _plain(y)
        comparable = all(_is_array(v) or isinstance(v, numbers.Number) or _is_sequence(v) for v in (x, y))
        if comparable and (_is_array(x) or _is_array(y)):
            first = _tensor_like(x, None if _is_array(x) else torch.as_tensor(y))
            return assert_close(first, _tensor_like(y, first), check_dtype=exact_dtype, msg=msg, **options)
        if isinstance(x, numbers.Number) and isinstance(y, numbers.Number):
            if options["atol"] is None and options["rtol"] is None and not (isinstance(x, numbers.Integral) and isinstance(y, numbers.Integral)):
                options = {**options, **_OF_NUMBERS}
            return assert_close(x, y, check_dtype=False, msg=msg, **options)
        if isinstance(x, collections.abc.Mapping) and isinstance(y, collections.abc.Mapping):
            super().assertEqual(set(x), set(y), msg)
            return [self._compare(x[key], y[key], msg, exact_dtype, options) for key in x]
        if _is_sequence(x) and _is_sequence(y):
            super().assertEqual(len(x), len(y), msg)
            return [self._compare(a, b, msg, exact_dtype, options) for a, b in zip(x, y, strict=True)]
        if isinstance(x, torch.Tensor) or isinstance(y, torch.Tensor):
            raise self.failureException(msg or f"expected two values to compare, got a {type(x).__name__} and a {type(y).__name__}")
        return super().assertEqual(x, y, msg)

    def assertNotEqual(self, x, y, msg=None, *, atol=None, rtol=None, **kwargs):
        """Fails where `assertEqual` of the same arguments does not."""
        try:
            self.assertEqual(x, y, atol=atol, rtol=rtol, **kwargs)
        except AssertionError:
            return
        raise self.failureException(msg or f"{x!r} and {y!r} are equal")


def run_tests(argv=None):
    """Runs the tests of the program, as `unittest.main` does."""
    unittest.main(argv=argv)
