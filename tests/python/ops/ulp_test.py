"""Elementary and special functions in float32 are within 2 units in the last place of mpmath, or of PyTorch's own error where that is more."""

import os
import sys
import unittest

import cresset as torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools"))
import ulp

POINTS = 60


class Accuracy(unittest.TestCase):
    def test_the_measure(self):
        self.assertEqual(ulp.error(1.0, 1.0), 0)
        self.assertEqual(ulp.error(1 + 2.0**-22, 1.0), 2)  # 1 begins a binade, whose unit is 2^-23
        self.assertEqual(ulp.error(1 + 2.0**-23, 1.0 - 2.0**-30), 2 + 2.0**-6)
        self.assertEqual(ulp.error(0.0, 2.0**-149), 1)
        self.assertEqual(ulp.error(float("nan"), 1.0), ulp.INF)
        self.assertEqual(ulp.error(float("nan"), float("nan")), 0)
        self.assertEqual([ulp.error(x, 1e39) for x in (ulp.INF, -ulp.INF, ulp.MAX, 1.0)], [0, ulp.INF, ulp.INF, ulp.INF])
        argument = ((-10, 10), (-1e30, 1e30), (3.0,))
        columns = ulp.points("atan2", [argument, argument], 50)
        self.assertEqual(columns, ulp.points("atan2", [argument, argument], 50))
        self.assertTrue(all(abs(x) <= 1e30 and ulp.single(x) == x for column in columns for x in column))
        self.assertTrue(any(abs(x - 3) < 1e-3 for x in columns[0]) and any(abs(x) > 100 for x in columns[0]))

    def test_hard_points(self):
        functions, golden = ulp.functions(), ulp.read_golden()
        self.assertEqual(list(functions), list(golden))
        for name, (bound, rows) in golden.items():
            with self.subTest(name):
                self.assertGreater(len(rows), 10)
                columns = [list(c) for c in zip(*(arguments for arguments, _, _ in rows), strict=True)]
                for got, (arguments, expected, _) in zip(functions[name].on(torch, name, columns), rows, strict=True):
                    self.assertLessEqual(ulp.error(got, expected), bound, f"at {arguments}: {got}, expected {expected}")

    def test_new_points(self):
        if ulp.mpmath is None:
            self.skipTest("mpmath is not installed")
        peer, golden = ulp.peer(), ulp.read_golden()
        for name, function in ulp.functions().items():
            with self.subTest(name):
                columns = ulp.points(name + " anew", function.arguments, POINTS)
                exact = ulp.exact_values(function, columns)
                mine = ulp.errors(torch, name, function, columns, exact)
                theirs = max(ulp.errors(peer, name, function, columns, exact)) if peer else golden[name][0]
                if theirs == ulp.INF:
                    continue
                at = max(range(len(mine)), key=mine.__getitem__)
                self.assertLessEqual(mine[at], max(ulp.allowed(name, theirs), golden[name][0]), f"at {[c[at] for c in columns]}")


if __name__ == "__main__":
    unittest.main()
