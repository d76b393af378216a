"""Elementary and special functions in float32 are within 2 units in the last place of mpmath, or of PyTorch's own error where that is more."""

import os
import sys
import unittest

import cresset as torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import ulp

POINTS = 60


class Accuracy(unittest.TestCase):
    def test_the_measure(self):
        if ulp.mpmath is None:
            self.skipTest("mpmath is not installed")
        one = ulp.mpmath.mpf(1)
        self.assertEqual(ulp.error(1.0, one), 0)
        self.assertEqual(ulp.error(1 + 2.0**-22, one), 2)  # 1 begins a binade, whose unit is 2^-23
        self.assertEqual(ulp.error(1 + 2.0**-23, one - one / 2**30), 2 + 2.0**-6)
        self.assertEqual(ulp.error(float("nan"), one), float("inf"))
        columns = ulp.points("atan2", [(-10, 10), (1e-3, 1)], 50)
        self.assertEqual(columns, ulp.points("atan2", [(-10, 10), (1e-3, 1)], 50))
        self.assertTrue(all(-10 <= y <= 10 and 1e-3 * 0.999999 <= x <= 1 for y, x in zip(*columns, strict=True)))

    def test_functions(self):
        if ulp.mpmath is None:
            self.skipTest("mpmath is not installed")
        for name in ulp.functions():
            with self.subTest(name):
                columns, exact = ulp.references(name, POINTS)
                mine, at = ulp.worst(torch, name, columns, exact)
                peer = ulp.peer()
                theirs = ulp.worst(peer, name, columns, exact)[0] if peer else None
                self.assertLessEqual(mine, ulp.allowed(name, theirs), f"at {at}")


if __name__ == "__main__":
    unittest.main()
