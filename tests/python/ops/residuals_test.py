"""Backward errors of linear algebra: below LAPACK's own threshold, and in double within 4 times those of NumPy's LAPACK."""

import os
import sys
import unittest

import numpy as np

import cresset as torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools"))
import residuals

UNREMARKABLE = 4.0  # a few roundings


class Broken(residuals.Tensors):
    """The library with a result changed by a multiple of what rounding does."""

    def __init__(self, routine):
        super().__init__(torch)
        self.routine = routine

    def __call__(self, name, *arrays, **options):
        result = super().__call__(name, *arrays, **options)
        if name == self.routine:
            first = result[0] if isinstance(result, list) else result
            first *= 1 + 3e4 * np.finfo(first.dtype).eps
        return result


class Residuals(unittest.TestCase):
    def test_the_measure(self):
        rng = np.random.default_rng(0)
        for dtype in residuals.DTYPES:
            m = residuals.Matrices(dtype, 9, 9)
            np.testing.assert_array_equal(m.every(), residuals.Matrices(dtype, 9, 9).every())
            self.assertTrue(np.isfinite(m.every()).all() and m.every().dtype == dtype)
            for hermitian in (True, False):
                low = np.tril(rng.standard_normal((9, 9)), -1) + np.eye(9)
                d = np.diag(rng.standard_normal(9)) * (1 if hermitian else 1j)
                packed = np.tril(low, -1) + d
                np.testing.assert_allclose(residuals.composed(packed, np.arange(1, 10), hermitian), low @ d @ low.T, atol=1e-12)
        for routine in ("cholesky", "solve", "svd", "qr", "matrix_exp"):
            worst = max(value for value, _ in residuals.measure(Broken(f"linalg.{routine}"), routine, "float64").values())
            self.assertGreater(worst, residuals.THRESHOLD, routine)

    def test_every_routine(self):
        ours, numpy = residuals.Tensors(torch), residuals.Arrays()
        for routine in residuals.ROUTINES:
            for dtype in residuals.DTYPES:
                # NumPy computes in double what is given in single precision.
                double = dtype in ("float64", "complex128") and residuals.knows(numpy, routine)
                found, known = residuals.measure(ours, routine, dtype), residuals.measure(numpy, routine, dtype) if double else {}
                for ratio, (value, shape) in found.items():
                    with self.subTest(routine=routine, dtype=dtype, ratio=ratio, shape=shape):
                        self.assertLessEqual(value, residuals.THRESHOLD)
                        if ratio in known:
                            self.assertLessEqual(value, max(4 * known[ratio][0], UNREMARKABLE))


if __name__ == "__main__":
    unittest.main()
