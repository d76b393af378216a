"""Test cases for libraries: what is equal, what is not, and the seed that every test starts from."""

import unittest

import numpy as np
import pytest
from cresset.testing._internal.common_utils import TestCase, make_tensor

import cresset as torch

EQUAL = [
    (torch.tensor([1.0]), torch.tensor([1 + 1e-7])),
    (torch.tensor([1.0, 2.0]), [1.0, 2.0]),
    ([1, 2], torch.tensor([1, 2])),
    (torch.tensor([1]), 1),
    (1.0, torch.tensor(1.0)),
    (1, 1.0),
    (1.0, 1 + 1e-6),
    (float("nan"), float("nan")),
    ({"a": torch.ones(1), "b": (2, "c")}, {"a": torch.ones(1), "b": [2, "c"]}),
    (torch.Size([2, 3]), (2, 3)),
    (torch.ones(2, dtype=torch.float64), np.ones(2)),
    (torch.ones(2, 3).t(), torch.ones(3, 2)),
    (np.array(["a", "b"]), np.array(["a", "b"])),
    (torch.float32, torch.float32),
    (None, None),
]
DIFFERENT = [
    (torch.tensor([1.0]), torch.tensor([1.1])),
    (torch.tensor([1.0]), torch.tensor([1])),
    (torch.tensor([1.0]), torch.tensor([[1.0]])),
    (torch.ones(2), np.ones(2)),
    ({"a": torch.ones(1)}, {"a": torch.zeros(1)}),
    ([torch.ones(1)], [torch.ones(1)] * 2),
    (None, torch.ones(1)),
    (torch.float32, torch.float64),
    ("a", "b"),
    (np.array(["a", "b"]), np.array(["a", "c"])),
]


@pytest.mark.parametrize(("x", "y"), EQUAL)
def test_equal(x, y):
    TestCase().assertEqual(x, y)
    with pytest.raises(AssertionError):
        TestCase().assertNotEqual(x, y)


@pytest.mark.parametrize(("x", "y"), DIFFERENT)
def test_different(x, y):
    TestCase().assertNotEqual(x, y)
    with pytest.raises(AssertionError):
        TestCase().assertEqual(x, y)


def test_tolerances_and_dtypes_may_be_given():
    TestCase().assertEqual(torch.tensor([1.0]), torch.tensor([1.1]), atol=0.2, rtol=0)
    TestCase().assertEqual(torch.tensor([1.0]), torch.tensor([1]), exact_dtype=False)
    with pytest.raises(ValueError, match="rtol"):
        TestCase().assertEqual(torch.ones(1), torch.ones(1), atol=0.2)
    with pytest.raises(AssertionError, match="of mine"):
        TestCase().assertEqual(torch.ones(1), torch.zeros(1), "of mine")


def test_every_test_starts_from_the_same_seed():
    class Draws(TestCase):
        drawn = []

        def test_first(self):
            self.drawn.append(torch.rand(1).item())

        def test_second(self):
            self.drawn.append(torch.rand(1).item())

    result = unittest.defaultTestLoader.loadTestsFromTestCase(Draws).run(unittest.TestResult())
    assert result.wasSuccessful() and Draws.drawn[0] == Draws.drawn[1]
    assert make_tensor is torch.testing.make_tensor
