"""A class of tests that starts and ends without anything compiled.

>>> class Adds(torch._dynamo.test_case.TestCase):
...     def test_adds(self):
...         self.assertEqual(torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2)), torch.full((2,), 2.0))
>>> import unittest
>>> unittest.defaultTestLoader.loadTestsFromTestCase(Adds).run(unittest.TestResult()).wasSuccessful()
True
"""

import unittest

import cresset as torch

from .. import testing
from .eval_frame import reset
from .utils import counters

__all__ = ["TestCase", "run_tests"]


class TestCase(unittest.TestCase):
    """Resets the compiler and its counters before and after each test; `assertEqual` compares tensors by their values."""

    def setUp(self):
        reset()
        counters.clear()
        super().setUp()

    def tearDown(self):
        reset()
        counters.clear()
        super().tearDown()

    def assertEqual(self, first, second, msg=None, *, atol=None, rtol=None):  # noqa: N802
        """Equality; of tensors, and what holds them, by `torch.testing.assert_close`."""
        if any(isinstance(leaf, torch.Tensor) for leaf in torch.utils._pytree.tree_leaves((first, second))):
            testing.assert_close(first, second, atol=atol, rtol=rtol, equal_nan=True, msg=msg)
        else:
            super().assertEqual(first, second, msg)


def run_tests(needs=()):
    """Runs the tests of the main module, unless a package that it needs is not there."""
    import importlib.util

    missing = [name for name in ((needs,) if isinstance(needs, str) else needs) if importlib.util.find_spec(name) is None]
    if not missing:
        unittest.main()
