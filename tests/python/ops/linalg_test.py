"""torch.linalg beyond its rows: factors with a free phase, drivers, singular, empty and broken matrices, and what is said of them."""

import os
import subprocess
import sys
import unittest

import numpy as np

import cresset as torch
from cresset.autograd import gradcheck, gradgradcheck

L = torch.linalg
DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(3, 3), (1, 1), (5, 5), (2, 4, 4), (2, 1, 3, 3)]
WIDE = [*SHAPES, (5, 3), (3, 5), (2, 4, 2), (2, 2, 4)]
EMPTY = [(0, 0), (0, 3, 3), (2, 0, 0)]
EMPTY_WIDE = [*EMPTY, (0, 3), (3, 0), (2, 3, 0)]

# Signs of the first row of eigenvectors, of the last one for an upper triangle, in PyTorch 2.13, whose LAPACK is MKL's: of `hermitian(n, n)`.
SIGNS = {
    ("float64", 3, "L"): "+++",
    ("float64", 3, "U"): "+--",
    ("float64", 5, "L"): "-+---",
    ("float64", 5, "U"): "+++++",
    ("float64", 12, "L"): "-+-+-+-+--+-",
    ("float64", 12, "U"): "++-+++-+-+--",
    ("float64", 25, "L"): "+-+--++++++++++++-++++---",
    ("float64", 25, "U"): "--++++++----+---+--+-+-++",
    ("float64", 26, "L"): "-++--++--++----+++--++--+-",
    ("float64", 26, "U"): "+--++--++----++----+---+-+",
    ("float64", 40, "L"): "+-++-++---+++--+++---++++---++++-++-+-+-",
    ("float64", 40, "U"): "--+-+++-++--++++--++++---+++----+--+-+-+",
    ("complex128", 3, "L"): "---",
    ("complex128", 3, "U"): "+--",
    ("complex128", 5, "L"): "++-+-",
    ("complex128", 5, "U"): "++-++",
    ("complex128", 12, "L"): "+++-+-+--+++",
    ("complex128", 12, "U"): "+---------++",
    ("complex128", 25, "L"): "--+-++--+--+-+-----+--+-+",
    ("complex128", 25, "U"): "+-+++++-+++--+++++++-++++",
    ("complex128", 26, "L"): "-+--++---+++--+++++--+--+-",
    ("complex128", 26, "U"): "-++--++--++++---+++--++-+-",
}
# The same of the first row of u and the first column of vh, as far as there are singular values: of `array(m, n)`.
SINGULAR_SIGNS = {
    (4, 3): ("---", "+-+"),
    (6, 4): ("----", "-+++"),
    (13, 9): ("--+-+++++", "++--+-++-"),
    (30, 20): ("-+--++++--+-+-+--+-+", "+-+-++-++++----++-++"),
    (3, 5): ("+--", "++-"),
    (2, 4): ("+-", "+-"),
    (3, 9): ("+-+", "+-+"),
    (4, 79): ("+++-", "----"),
    (4, 80): ("-+++", "+++-"),
    (10, 30): ("+++-+-++--", "-+++++++--"),
}


def array(*shape, dtype="float64", seed=0):
    draw = np.random.default_rng([seed, *shape])
    x = draw.normal(size=shape)
    return (x + 1j * draw.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def dtype_scale(dtype):
    return {"float32": 1e30, "float64": 1e250}[dtype]


def hermitian(*shape, dtype="float64", seed=0):
    x = array(*shape, dtype=dtype, seed=seed)
    return (x + np.conj(np.swapaxes(x, -2, -1))) / 2


def definite(*shape, dtype="float64", seed=0):
    x = array(*shape, dtype=dtype, seed=seed)
    return x @ np.conj(np.swapaxes(x, -2, -1)) + np.eye(shape[-1], dtype=dtype)


def numbers(t):
    return t.detach().resolve_conj().numpy()


def signs(x):
    return "".join("+" if y > 0 else "-" for y in np.real(x))


def leaf(x):
    return torch.from_numpy(np.array(x)).requires_grad_()


def adjoint(x):
    return np.conj(np.swapaxes(x, -2, -1))


class Case(unittest.TestCase):
    def near(self, got, expected, dtype="float64", scale=1.0):
        limit = {"float32": 2e-5, "complex64": 2e-5}.get(dtype, 1e-12) * scale
        got, expected = (numbers(t) if isinstance(t, torch.Tensor) else np.asarray(t) for t in (got, expected))
        self.assertEqual(got.shape, expected.shape)
        np.testing.assert_allclose(got, expected, rtol=limit * 10, atol=limit * 10)

    def smooth(self, function, *inputs, second=True):
        self.assertTrue(gradcheck(function, inputs))
        if second:
            self.assertTrue(gradgradcheck(function, inputs))


class Spectra(Case):
    def test_eigh_gives_ascending_values_and_orthonormal_vectors(self):
        for dtype in DTYPES:
            for shape in SHAPES:
                for triangle in "LU":
                    with self.subTest(dtype=dtype, shape=shape, triangle=triangle):
                        a = hermitian(*shape, dtype=dtype)
                        other = np.triu(a) if triangle == "U" else np.tril(a)  # the other triangle is not read
                        values, vectors = L.eigh(torch.from_numpy(other), triangle)
                        self.near(values, np.linalg.eigvalsh(a), dtype)
                        self.near(L.eigvalsh(torch.from_numpy(other), triangle), np.linalg.eigvalsh(a), dtype)
                        v = numbers(vectors)
                        self.near(v * numbers(values)[..., None, :] @ adjoint(v), a, dtype)
                        self.near(adjoint(v) @ v, np.broadcast_to(np.eye(shape[-1]), shape), dtype)

    def test_eigenvectors_have_the_signs_of_pytorchs(self):
        for (dtype, n, triangle), expected in SIGNS.items():
            with self.subTest(dtype=dtype, n=n, triangle=triangle):
                a = torch.from_numpy(hermitian(n, n, dtype=dtype))
                alone, batched = L.eigh(a, triangle), torch.func.vmap(lambda x: L.eigh(x, triangle))(torch.stack([a, a]))
                self.assertEqual(signs(numbers(alone.eigenvectors)[-(triangle == "U")]), expected)
                self.assertEqual(signs(numbers(batched.eigenvectors)[1, -(triangle == "U")]), expected)

    def test_singular_vectors_have_the_signs_of_pytorchs(self):
        for (m, n), expected in SINGULAR_SIGNS.items():
            for full in (False, True):
                with self.subTest(m=m, n=n, full=full):
                    u, _, vh = L.svd(torch.from_numpy(array(m, n)), full)
                    k = min(m, n)
                    self.assertEqual((signs(numbers(u)[0, :k]), signs(numbers(vh)[:k, 0])), expected)

    def test_singular_vectors_of_numbers_whose_squares_are_beyond_the_range(self):
        for dtype in ("float32", "float64"):
            for m, n in ((4, 3), (3, 5), (13, 9), (9, 30)):
                for factor in (dtype_scale(dtype), 1 / dtype_scale(dtype), 0):
                    with self.subTest(dtype=dtype, m=m, n=n, factor=factor):
                        x = np.stack([array(m, n, dtype=dtype), array(m, n, dtype=dtype) * np.dtype(dtype).type(factor)])
                        u, s, vh = (numbers(t) for t in L.svd(torch.from_numpy(x), False))
                        norms = np.linalg.norm(x.astype("float64"), axis=(-2, -1), keepdims=True) + np.finfo("float64").tiny
                        self.near(u * (s / norms[..., 0]).astype(dtype)[..., None, :] @ vh, (x / norms).astype(dtype), dtype)

    def test_orders_around_the_one_from_which_lapack_is_called(self):
        for dtype in ("float32", "float64"):
            eps = np.finfo(dtype).eps
            for n in (1, 2, 4, 7, 9, 16, 25, 64, 65):
                x = hermitian(6, n, n, dtype=dtype)
                x[1], x[2], x[3] = 0, x[2] * dtype_scale(dtype), x[3] / dtype_scale(dtype)
                x[4], x[5] = 1, np.diag(np.logspace(0, -30, n))
                exact = x.astype("float64")
                norm = np.abs(exact).sum(-1).max(-1) + np.finfo("float64").tiny
                for triangle, half in (("L", np.tril(x)), ("U", np.triu(x))):
                    values, vectors = (numbers(t).astype("float64") for t in L.eigh(torch.from_numpy(half), triangle))
                    error = np.abs(exact @ vectors - vectors * values[:, None]).max((-2, -1)) / norm
                    self.assertLess(error.max(), 4 * n * eps)
                    self.assertLess(np.abs(adjoint(vectors) @ vectors - np.eye(n)).max(), 10 * n * eps)
                    alone = numbers(L.eigvalsh(torch.from_numpy(half), triangle)).astype("float64")
                    for found in (values, alone):
                        self.assertTrue((np.diff(found) >= 0).all())
                        self.assertLess((np.abs(found - np.linalg.eigvalsh(exact)).max(-1) / norm).max(), 4 * n * eps)

    def test_singular_values_around_the_sizes_from_which_lapack_is_called(self):
        for dtype in ("float32", "float64"):
            eps = np.finfo(dtype).eps
            for m, n in ((1, 1), (4, 4), (64, 64), (24, 64), (64, 3), (65, 65), (65, 3), (1, 64)):
                x = array(6, m, n, dtype=dtype)
                x[1], x[2], x[3], x[4] = 0, x[2] * dtype_scale(dtype), x[3] / dtype_scale(dtype), 1
                x[5] *= np.logspace(0, -12, n)
                expected = np.linalg.svd(x.astype("float64"), compute_uv=False)
                got = numbers(L.svdvals(torch.from_numpy(x)))
                self.assertEqual(got.dtype, x.dtype)
                self.assertTrue((np.diff(got) <= 0).all() and (got >= 0).all())
                self.assertLess((np.abs(got - expected).max(-1) / (expected[:, 0] + np.finfo("float64").tiny)).max(), 4 * max(m, n) * eps)

    def test_eig_gives_complex_values_and_vectors_of_norm_one(self):
        for dtype in DTYPES:
            for shape in SHAPES:
                with self.subTest(dtype=dtype, shape=shape):
                    a = array(*shape, dtype=dtype)
                    values, vectors = L.eig(torch.from_numpy(a))
                    w, v = numbers(values), numbers(vectors)
                    self.assertEqual(w.dtype.kind, "c")
                    self.near(a @ v, v * w[..., None, :], dtype)
                    self.near(np.linalg.norm(v, axis=-2), np.ones(w.shape), dtype)
                    self.near(np.sort_complex(numbers(L.eigvals(torch.from_numpy(a)))), np.sort_complex(w), dtype)
                    self.near(w.sum(-1), np.trace(a, axis1=-2, axis2=-1), dtype)

    def test_svd_reduced_full_and_values_alone(self):
        for dtype in DTYPES:
            for shape in WIDE:
                for full in (False, True):
                    with self.subTest(dtype=dtype, shape=shape, full=full):
                        a = array(*shape, dtype=dtype)
                        u, s, vh = (numbers(t) for t in L.svd(torch.from_numpy(a), full))
                        k = min(shape[-2:])
                        self.near(s, np.linalg.svd(a, compute_uv=False), dtype)
                        self.near(L.svdvals(torch.from_numpy(a)), s, dtype)
                        self.near(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a, dtype)
                        self.near(adjoint(u) @ u, np.broadcast_to(np.eye(u.shape[-1]), (*shape[:-2], u.shape[-1], u.shape[-1])), dtype)
                        self.near(vh @ adjoint(vh), np.broadcast_to(np.eye(vh.shape[-2]), (*shape[:-2], vh.shape[-2], vh.shape[-2])), dtype)
                        old = torch.svd(torch.from_numpy(a), some=not full)
                        self.near(old.V.mH, vh, dtype)

    def test_empty_matrices_have_empty_spectra_and_whole_bases(self):
        for shape in EMPTY:
            a = torch.empty(shape, dtype=torch.double)
            for function in (L.eigh, L.eig):
                values, vectors = function(a)
                self.assertEqual((tuple(values.shape), tuple(vectors.shape)), (shape[:-1], shape))
        for shape in EMPTY_WIDE:
            u, s, vh = L.svd(torch.empty(shape, dtype=torch.double))
            m, n = shape[-2:]
            self.assertEqual([tuple(t.shape) for t in (u, s, vh)], [(*shape[:-2], m, m), (*shape[:-2], min(m, n)), (*shape[:-2], n, n)])
            if min(m, n) == 0:
                self.near(u, np.broadcast_to(np.eye(m), u.shape))
                self.near(vh, np.broadcast_to(np.eye(n), vh.shape))

    def test_values_that_are_not_finite_are_an_error_that_names_the_matrix(self):
        for bad in (float("nan"), float("inf")):
            a = torch.eye(3).repeat(2, 1, 1)
            a[1, 0, 0] = bad
            for function in (L.eigh, L.eigvalsh, L.eig, L.eigvals, L.svd, L.svdvals):
                with self.assertRaisesRegex(L.LinAlgError, r"Batch element 1.*not finite"):
                    function(a)
                with self.assertRaisesRegex(L.LinAlgError, "not finite"):
                    function(a[1])

    def test_derivatives_that_no_phase_changes(self):
        for dtype in ("float64", "complex128"):
            for shape in ((3, 3), (2, 2, 2)):
                with self.subTest(dtype=dtype, shape=shape):
                    a, w = leaf(array(*shape, dtype=dtype)), torch.from_numpy(array(*shape, dtype=dtype, seed=1))
                    both = lambda x: (x + x.mH) / 2  # noqa: E731
                    self.smooth(lambda x: L.eigh(both(x)).eigenvalues, a)
                    self.smooth(lambda x: (L.eigh(both(x)).eigenvectors.abs() ** 2), a)
                    self.smooth(lambda x: L.eigvalsh(both(x)), a)
                    self.smooth(lambda x: L.eigvals(x).sum(-1), a)
                    self.smooth(lambda x: torch.view_as_real(L.eig(x).eigenvalues ** 3).sum(-2), a)
                    self.smooth(lambda x: (L.eig(x).eigenvectors.abs() ** 2 * w.abs()).sum(), a)

    def test_derivatives_of_singular_vectors(self):
        for dtype in ("float64", "complex128"):
            for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2)):
                with self.subTest(dtype=dtype, shape=shape):
                    a = leaf(array(*shape, dtype=dtype))

                    def reduced(x):
                        u, s, vh = L.svd(x, full_matrices=False)
                        return s, u[..., :1] @ vh[..., :1, :], u.abs() ** 2, vh.abs() ** 2

                    self.smooth(reduced, a)
                    self.smooth(lambda x: L.svdvals(x), a)
                    self.smooth(lambda x: torch.svd(x).S.log().sum(), a)

    def test_a_loss_that_depends_on_the_phase_has_no_gradient(self):
        a = leaf(hermitian(3, 3, dtype="complex128"))
        with self.assertRaisesRegex(RuntimeError, "phase"):
            torch.view_as_real(L.eigh(a).eigenvectors).select(-1, 0).sum().backward()
        with self.assertRaisesRegex(RuntimeError, "phase"):
            torch.view_as_real(L.svd(leaf(array(3, 3, dtype="complex128"))).U).select(-1, 0).sum().backward()


class Solving(Case):
    def test_inverse_of_every_shape(self):
        for dtype in DTYPES:
            for shape in SHAPES:
                a = definite(*shape, dtype=dtype)
                self.near(L.inv(torch.from_numpy(a)), np.linalg.inv(a), dtype, 10)
                self.near(torch.inverse(torch.from_numpy(a)), np.linalg.inv(a), dtype, 10)
        for shape in EMPTY:
            self.assertEqual(tuple(L.inv(torch.empty(shape)).shape), shape)
            self.assertEqual(tuple(L.det(torch.empty(shape)).shape), shape[:-2])
        self.assertEqual(L.det(torch.empty(2, 0, 0)).tolist(), [1, 1])

    def test_singular_matrices_are_errors_with_batch_element_and_order(self):
        a = torch.eye(3).repeat(2, 1, 1)
        a[1, 2, 2] = 0
        b = torch.ones(2, 3, 1)
        for call in (lambda: L.inv(a), lambda: L.solve(a, b), lambda: torch.inverse(a), lambda: L.lu_factor(a), lambda: L.inv_ex(a, check_errors=True),
                     lambda: L.solve_ex(a, b, check_errors=True), lambda: L.tensorinv(a[1].reshape(3, 3), ind=1)):  # fmt: skip
            with self.assertRaisesRegex(L.LinAlgError, "3"):
                call()
        with self.assertRaisesRegex(L.LinAlgError, "Batch element 1"):
            L.inv(a)
        self.assertEqual(L.inv_ex(a).info.tolist(), [0, 3])
        self.assertEqual(L.det(a).tolist(), [1, 0])
        self.assertEqual(L.slogdet(a).logabsdet.tolist(), [0, float("-inf")])
        self.assertEqual(L.slogdet(a).sign.tolist(), [1, 0])
        self.assertTrue(issubclass(L.LinAlgError, RuntimeError))

    def test_cholesky_of_what_is_not_positive_definite(self):
        a = torch.eye(3).repeat(2, 1, 1)
        a[1, 1, 1] = -1
        for call in (lambda: L.cholesky(a), lambda: torch.cholesky(a), lambda: L.cholesky_ex(a, check_errors=True)):
            with self.assertRaisesRegex(L.LinAlgError, r"Batch element 1.*leading minor of order 2 is not positive-definite"):
                call()
        self.assertEqual(L.cholesky_ex(a).info.tolist(), [0, 2])

    def test_nan_goes_through_solvers(self):
        a = torch.full((2, 2), float("nan"))
        self.assertTrue(L.det(a).isnan())
        self.assertTrue(L.inv_ex(a).inverse.isnan().any())
        self.assertTrue(L.lu_factor_ex(a).LU.isnan().any())

    def test_shapes_that_do_not_fit(self):
        a, c = torch.ones(3, 2), torch.ones(3)
        for function in (L.inv, L.det, L.slogdet, L.eigh, L.eig, L.cholesky, torch.matrix_exp, torch.logdet, lambda x: torch.matrix_power(x, 2),
                         lambda x: L.solve(x, c), lambda x: L.solve_triangular(x, x, upper=True), lambda x: torch.cholesky_inverse(x)):  # fmt: skip
            with self.assertRaises(RuntimeError):
                function(a)
            with self.assertRaises(RuntimeError):
                function(c)
        for function in (L.svd, L.qr, L.pinv, L.lu, L.matrix_rank, L.lu_factor):
            with self.assertRaises(RuntimeError):
                function(c)
        for function in (L.inv, L.svd, L.qr, L.eigh, L.eig, L.det, L.cholesky, L.lu, L.pinv):
            with self.assertRaisesRegex(RuntimeError, "[Ii]nt|Long"):
                function(torch.ones(2, 2, dtype=torch.long))
            with self.assertRaises(RuntimeError):
                function(torch.ones(2, 2, dtype=torch.half))

    def test_orders_around_the_one_from_which_lapack_is_called(self):
        for dtype in DTYPES:
            for n in (2, 3, 4, 7, 8, 16, 17, 32, 33, 40):
                with self.subTest(dtype=dtype, n=n):
                    a, b = array(3, n, n, dtype=dtype), array(3, n, 4, dtype=dtype, seed=1)
                    spd, x, y = definite(3, n, n, dtype=dtype), torch.from_numpy(a), torch.from_numpy(b)
                    p, low, up = L.lu(x)
                    self.near(p @ low @ up, a, dtype, n)
                    self.assertLessEqual(float(low.abs().max()), 1.5 if x.is_complex() else 1.0)
                    tall = L.lu(x[..., : n - 1])
                    self.near(tall.P @ tall.L @ tall.U, a[..., : n - 1], dtype, n)
                    wide = L.lu(x[..., 1:, :])
                    self.near(wide.P @ wide.L @ wide.U, a[..., 1:, :], dtype, n)
                    sound = torch.from_numpy(spd)
                    self.near(numbers(L.solve(sound, y)), np.linalg.solve(spd, b), dtype, 10 * n)
                    for upper in (False, True):
                        factor = numbers(L.cholesky(sound, upper=upper))
                        self.near(adjoint(factor) @ factor if upper else factor @ adjoint(factor), spd, dtype, n)
                        self.assertEqual(np.abs(np.tril(factor, -1) if upper else np.triu(factor, 1)).max(), 0)
                        for unit in (False, True):
                            triangle = (np.triu if upper else np.tril)(a / (4 * n), -1 * unit if not upper else 1 * unit) + np.eye(n, dtype=dtype)
                            given = triangle + 7 * (np.tril(np.ones((n, n), dtype), -1) if upper else np.triu(np.ones((n, n), dtype), 1))  # is not read
                            for matrix in (given, np.swapaxes(np.ascontiguousarray(np.swapaxes(given, -2, -1)), -2, -1)):
                                left = L.solve_triangular(torch.from_numpy(matrix), y, upper=upper, unitriangular=unit)
                                self.near(triangle @ numbers(left), b, dtype, n)
                                right = L.solve_triangular(torch.from_numpy(matrix), y.mT, upper=upper, left=False, unitriangular=unit)
                                self.near(numbers(right) @ triangle, np.swapaxes(b, -2, -1), dtype, n)

    def test_wide_right_sides_of_triangular_systems(self):
        for dtype in DTYPES:
            for columns in (127, 128, 255, 300):
                for by_rows in (True, False):
                    a, b = array(3, 20, 20, dtype=dtype) + 9 * np.eye(20, dtype=dtype), array(3, 20, columns, dtype=dtype)
                    a = a if by_rows else np.swapaxes(np.ascontiguousarray(np.swapaxes(a, -2, -1)), -2, -1)
                    for upper, half in ((True, np.triu(a)), (False, np.tril(a))):
                        with self.subTest(dtype=dtype, columns=columns, by_rows=by_rows, upper=upper):
                            got = L.solve_triangular(torch.from_numpy(a), torch.from_numpy(b), upper=upper)
                            self.near(half @ numbers(got), b, dtype, 10)
                            other = np.ascontiguousarray(np.swapaxes(b, -2, -1))
                            got = L.solve_triangular(torch.from_numpy(a), torch.from_numpy(other), upper=upper, left=False)
                            self.near(numbers(got) @ half, other, dtype, 10)

    def test_ldl_factors_solve_indefinite_systems(self):
        for dtype in DTYPES:
            for hermitian_one in (False, True):
                for shape in ((3, 3), (1, 1), (2, 5, 5), (0, 3, 3), (0, 0)):
                    with self.subTest(dtype=dtype, hermitian=hermitian_one, shape=shape):
                        a = array(*shape, dtype=dtype)
                        a = a + (adjoint(a) if hermitian_one else np.swapaxes(a, -2, -1))
                        b = array(*shape[:-1], 2, dtype=dtype, seed=1)
                        factors = L.ldl_factor(torch.from_numpy(np.tril(a)), hermitian=hermitian_one)  # the other triangle is not read
                        self.assertEqual(factors.pivots.dtype, torch.int32)
                        x = L.ldl_solve(*factors, torch.from_numpy(b), hermitian=hermitian_one)
                        self.near(a @ numbers(x), b, dtype, 100)
        got = L.ldl_factor(torch.tensor([[2.0, 1.0, 0.0], [1.0, -3.0, 2.0], [0.0, 2.0, 1.0]], dtype=torch.double))
        self.near(got.LD, [[2, 0, 0], [0.5, -3.5, 0], [0, -4 / 7, 15 / 7]])  # no rows are exchanged here
        self.assertEqual(got.pivots.tolist(), [1, 2, 3])

    def test_ldl_of_singular_matrices_and_wrong_arguments(self):
        a = torch.stack([torch.eye(2), torch.zeros(2, 2)])
        self.assertEqual(L.ldl_factor_ex(a).info.tolist(), [0, 1])
        for call in (lambda: L.ldl_factor(a), lambda: L.ldl_factor_ex(a, check_errors=True)):
            with self.assertRaisesRegex(L.LinAlgError, "Batch element 1"):
                call()
        ld, pivots = L.ldl_factor(torch.eye(2))
        for wrong in ((ld, pivots, torch.ones(3, 1)), (ld, pivots[:1], torch.ones(2, 1)), (ld, pivots, torch.ones(2)), (ld, pivots, torch.ones(2, 1).double()),
                      (ld, pivots + 7, torch.ones(2, 1)), (ld, pivots.float(), torch.ones(2, 1)), (ld[:1], pivots, torch.ones(2, 1))):  # fmt: skip
            with self.assertRaises(RuntimeError):
                L.ldl_solve(*wrong)
        # One matrix for several right sides.
        self.assertEqual(tuple(L.ldl_solve(ld, pivots, torch.ones(3, 1, 2, 4)).shape), (3, 1, 2, 4))

    def test_ldl_solves_differentiate_by_the_right_side(self):
        for dtype in ("float64", "complex128"):
            for hermitian_one in (False, True):
                a = array(3, 3, dtype=dtype)
                a = a + (adjoint(a) if hermitian_one else a.T)
                ld, pivots = L.ldl_factor(torch.from_numpy(a), hermitian=hermitian_one)
                self.smooth(lambda b: L.ldl_solve(ld, pivots, b, hermitian=hermitian_one), leaf(array(3, 2, dtype=dtype)))

    def test_the_old_lu_function_and_method(self):
        x = torch.from_numpy(array(2, 3, 3))
        lu, pivots, info = named = torch.lu(x, get_infos=True)
        self.assertIs(named.LU, lu)
        self.assertEqual(info.tolist(), [0, 0])
        self.assertTrue(torch.equal(x.lu()[0], lu) and torch.equal(torch.lu(x)[1], pivots))
        self.assertEqual(torch.lu(torch.zeros(2, 2))[0].tolist(), [[0, 0], [0, 0]])  # no error
        out = (torch.empty(0, dtype=torch.double), torch.empty(0, dtype=torch.int32))
        self.assertIs(torch.lu(x, out=out)[0], out[0])
        self.assertTrue(torch.equal(out[0], lu))

    def test_derivatives_of_solvers(self):
        for dtype in ("float64", "complex128"):
            for shape in ((3, 3), (2, 2, 2)):
                with self.subTest(dtype=dtype, shape=shape):
                    a, b = leaf(definite(*shape, dtype=dtype)), leaf(array(*shape[:-1], 2, dtype=dtype))
                    skew = lambda x: x + torch.triu(x, 1) * 0.3  # noqa: E731
                    self.smooth(lambda x, y: L.solve(skew(x), y), a, b)
                    self.smooth(lambda x, y: L.solve(skew(x), y.mT, left=False), a, b)
                    self.smooth(lambda x: L.inv(skew(x)), a)
                    self.smooth(lambda x: L.det(skew(x)), a)
                    self.smooth(lambda x: L.slogdet(skew(x)).logabsdet, a)
                    self.smooth(lambda x: torch.logdet((x + x.mH) / 2), a)
                    self.smooth(lambda x: L.cholesky((x + x.mH) / 2), a)
                    self.smooth(lambda x: L.cholesky((x + x.mH) / 2, upper=True), a)
                    self.smooth(lambda x, y: torch.cholesky_solve(y, L.cholesky((x + x.mH) / 2)), a, b)
                    self.smooth(lambda x: torch.cholesky_inverse(L.cholesky((x + x.mH) / 2)), a)
                    self.smooth(lambda x, y: L.lu_solve(*L.lu_factor(skew(x)), y), a, b)
                    self.smooth(lambda x: L.lu(skew(x))[1:], a)
                    self.smooth(lambda x, y: L.solve_triangular(x.tril(), y, upper=False), a, b)
                    self.smooth(lambda x: torch.matrix_exp(x / 8), a)
                    self.smooth(lambda x: torch.matrix_power(skew(x) / 4, 3), a)
                    self.smooth(lambda x: torch.matrix_power(skew(x) / 4, -2), a)

    def test_derivatives_of_qr_of_every_shape(self):
        for dtype in ("float64", "complex128"):
            for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2)):
                with self.subTest(dtype=dtype, shape=shape):
                    a = leaf(array(*shape, dtype=dtype))
                    self.smooth(lambda x: L.qr(x), a)
                    self.smooth(lambda x: L.lu(x)[1:], a)
        with self.assertRaisesRegex(RuntimeError, "complete"):
            L.qr(leaf(array(4, 2)), mode="complete").Q.sum().backward()

    def test_the_determinant_of_a_singular_matrix_has_a_gradient(self):
        for a in (np.diag([2.0, 3.0, 0.0]), np.diag([2.0, 0.0, 0.0]), np.ones((3, 3)), np.zeros((2, 2)), np.stack([np.eye(2), np.ones((2, 2))])):
            with self.subTest(a=a.tolist()):
                self.assertTrue(gradcheck(L.det, (leaf(a),)))
        x = leaf(np.diag([2.0, 3.0, 0.0]))
        L.det(x).backward()
        self.near(x.grad, np.diag([0.0, 0.0, 6.0]))


class Inverses(Case):
    def test_pseudo_inverses_by_every_name_of_their_tolerance(self):
        a = np.diag([1.0, 0.1, 1e-3])
        x = torch.from_numpy(a)
        cut = np.diag([1.0, 10.0, 0.0])
        number = torch.tensor(0.01, dtype=torch.double)
        for got in (L.pinv(x, 0.01), L.pinv(x, rcond=0.01), L.pinv(x, number), L.pinv(x, rtol=0.01), L.pinv(x, rtol=number), L.pinv(x, atol=0.01),
                    L.pinv(x, atol=number), torch.pinverse(x, 0.01), L.pinv(x, 0.01, hermitian=True), L.pinv(x, rtol=0.01, hermitian=True)):  # fmt: skip
            self.near(got, cut)
        self.near(L.pinv(x), np.linalg.pinv(a))
        # One tolerance for each matrix of the batch.
        self.near(L.pinv(x.expand(2, 3, 3), rtol=torch.tensor([0.01, 0.5], dtype=torch.double)), np.stack([cut, np.diag([1.0, 0, 0])]))
        for shape in EMPTY_WIDE:
            self.assertEqual(tuple(L.pinv(torch.empty(shape)).shape), (*shape[:-2], shape[-1], shape[-2]))

    def test_ranks_by_every_name_of_their_tolerance(self):
        x = torch.from_numpy(np.diag([1.0, 0.1, 1e-3]))
        number = torch.tensor(0.01, dtype=torch.double)
        for got in (L.matrix_rank(x, 0.01), L.matrix_rank(x, tol=0.01), L.matrix_rank(x, number), L.matrix_rank(x, rtol=0.01), L.matrix_rank(x, atol=0.01),
                    L.matrix_rank(x, atol=number), L.matrix_rank(x, 0.01, hermitian=True)):  # fmt: skip
            self.assertEqual(got.item(), 2)
        self.assertEqual(L.matrix_rank(x.expand(2, 3, 3), rtol=torch.tensor([0.01, 0.5], dtype=torch.double)).tolist(), [2, 1])
        self.assertEqual(L.matrix_rank(torch.empty(2, 0, 3)).tolist(), [0, 0])

    def test_derivatives_of_pseudo_inverses_along_matrices_of_one_rank(self):
        for dtype in ("float64", "complex128"):
            for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2)):
                a = leaf(array(*shape, dtype=dtype))
                self.smooth(lambda x: L.pinv(x), a)
            left, right = leaf(array(4, 2, dtype=dtype)), leaf(array(2, 3, dtype=dtype))
            self.smooth(lambda x, y: L.pinv(x @ y), left, right)
            self.smooth(lambda x: L.pinv(x @ x.mH, rtol=1e-8, hermitian=True), left, second=False)

    def test_least_squares_by_every_driver(self):
        for dtype in DTYPES:
            for shape in ((4, 2), (3, 3), (2, 4), (2, 4, 3)):
                a, b = array(*shape, dtype=dtype), array(*shape[:-1], 2, dtype=dtype, seed=1)
                expected = np.linalg.pinv(a) @ b
                for driver in (None, "gels", "gelsy", "gelsd", "gelss"):
                    with self.subTest(dtype=dtype, shape=shape, driver=driver):
                        got = L.lstsq(torch.from_numpy(a), torch.from_numpy(b), driver=driver)
                        self.near(got.solution, expected, dtype, 10)
                        k = min(shape[-2:])
                        self.assertEqual(tuple(got.rank.shape), (0,) if driver == "gels" else shape[:-2])
                        self.assertTrue(bool((got.rank == k).all()))
                        self.assertEqual(got.singular_values.numel() > 0, driver in ("gelsd", "gelss"))
                        if shape[-2] > shape[-1] and driver not in (None, "gelsy"):
                            self.near(got.residuals, (np.abs(a @ expected - b) ** 2).sum(-2), dtype, 10)
        with self.assertRaisesRegex(RuntimeError, "driver"):
            L.lstsq(torch.eye(2), torch.eye(2), driver="best")

    def test_tolerances_of_least_squares_that_are_none(self):
        a, b = torch.tensor([[2.0, 0], [0, 3]], dtype=torch.float64), torch.ones(2, 1, dtype=torch.float64)
        for driver, rcond in (("gelsd", 1.0), ("gelsd", 1.5), ("gelsd", 0.0), ("gelsd", -1), ("gelss", -1)):
            found = L.lstsq(a, b, rcond=rcond, driver=driver)
            self.assertTrue(torch.allclose(found.solution, b / torch.tensor([[2.0], [3]], dtype=torch.float64)))
            self.assertEqual(found.rank.item(), 2)
            self.assertEqual(L.lstsq(a[:, :1] @ torch.ones(1, 2, dtype=a.dtype), b, rcond=rcond, driver=driver).rank.item(), 1)
        self.assertEqual(L.lstsq(a, b, rcond=1.0, driver="gelss").rank.item(), 0)

    def test_least_squares_of_a_batch_of_every_rank(self):
        for dtype in DTYPES:
            for m, n in ((6, 4), (4, 4), (4, 6)):
                a, b = array(5, m, n, dtype=dtype), array(5, m, 2, dtype=dtype, seed=1)
                a[1], a[2], a[3] = 0, a[2][:, :2] @ a[2][:2], a[3][:, :3] @ a[3][:3]
                a[4, :, 0] *= 1e-3  # full rank, which the norms of its factor do not tell
                got = L.lstsq(torch.from_numpy(a), torch.from_numpy(b))
                self.assertEqual(got.rank.tolist(), [4, 0, 2, 3, 4])
                expected = np.stack([np.linalg.pinv(x, 1e-5) @ y for x, y in zip(a, b, strict=True)])
                self.near(got.solution, expected, dtype, 1e3)
                one_side = L.lstsq(torch.from_numpy(a), torch.from_numpy(b[:1]))
                self.near(one_side.solution[3], np.linalg.pinv(a[3], 1e-5) @ b[0], dtype, 10)
                one_matrix = L.lstsq(torch.from_numpy(a[3]), torch.from_numpy(b))
                self.near(one_matrix.solution[1], np.linalg.pinv(a[3], 1e-5) @ b[1], dtype, 10)
                self.assertEqual(L.lstsq(torch.from_numpy(a), torch.from_numpy(b), rcond=0.9999).rank.tolist(), [1, 0, 1, 1, 1])
        broken = array(3, 4, 4)
        broken[1] = 1
        broken[2, 0, 0] = float("nan")
        with self.assertRaisesRegex(L.LinAlgError, r"Batch element 2\): .*not finite"):
            L.lstsq(torch.from_numpy(broken), torch.from_numpy(array(3, 4, 1)))

    def test_an_out_of_no_elements_grows_by_as_much_as_is_written(self):
        for driver in ("gels", "gelsy", "gelsd", "gelss"):
            a, b = torch.from_numpy(array(3, 4, 3)), torch.from_numpy(array(3, 4, 3, seed=1))
            expected = L.lstsq(a, b, driver=driver)
            out = tuple(torch.empty(0, dtype=t.dtype) for t in expected)
            L.lstsq(a, b, driver=driver, out=out)
            for got, wanted in zip(out, expected, strict=True):
                self.near(got, wanted)
                last = sum((n - 1) * s for n, s in zip(got.shape, got.stride(), strict=True)) if got.numel() else -1
                self.assertLessEqual((last + 1) * got.element_size(), got.untyped_storage().nbytes())

    def test_derivatives_of_least_squares(self):
        for shape in ((4, 2), (3, 3), (2, 4)):
            for driver in ("gels", "gelsy", "gelsd", "gelss"):
                a, b = leaf(array(*shape)), leaf(array(shape[0], 2, seed=1))
                self.smooth(lambda x, y: L.lstsq(x, y, driver=driver).solution, a, b)


class LowRank(Case):
    def test_factors_of_matrices_of_low_rank(self):
        for shape in ((7, 5), (5, 7), (2, 6, 6)):
            for dtype in ("float64", "complex128"):
                left, right = array(*shape[:-1], 2, dtype=dtype), array(*shape[:-2], 2, shape[-1], dtype=dtype, seed=1)
                a = torch.from_numpy(left @ right)
                u, s, v = torch.svd_lowrank(a, q=3)
                self.near((u * s.unsqueeze(-2)) @ v.mH, a, dtype, 100)
                self.near(s[..., :2], np.linalg.svd(left @ right, compute_uv=False)[..., :2], dtype, 100)
                shift = torch.ones(a.shape[-1], dtype=a.dtype)
                u, s, v = torch.svd_lowrank(a, q=3, M=shift)
                self.near((u * s.unsqueeze(-2)) @ v.mH, a - shift, dtype, 100)
                u, s, v = torch.pca_lowrank(a, q=4)
                self.near((u * s.unsqueeze(-2)) @ v.mH, a - a.mean(-2, keepdim=True), dtype, 100)
                u, s, v = torch.pca_lowrank(a, q=3, center=False)
                self.near((u * s.unsqueeze(-2)) @ v.mH, a, dtype, 100)

    def test_they_draw_q_times_the_smaller_size_numbers(self):
        for shape in ((7, 5), (5, 7), (3, 7, 5)):
            torch.manual_seed(3)
            torch.svd_lowrank(torch.from_numpy(array(*shape)), q=2)
            after = torch.rand(1)
            torch.manual_seed(3)
            torch.randn(10, dtype=torch.double)
            self.assertEqual(after, torch.rand(1))

    def test_wrong_ranks_and_steps(self):
        a = torch.from_numpy(array(5, 4))
        for wrong in ({"q": 5}, {"q": -1}, {"niter": -1}):
            with self.assertRaises(ValueError):
                torch.pca_lowrank(a, **wrong)


class Corners(Case):
    def test_the_power_0_and_what_is_empty_have_derivatives(self):
        x = leaf(array(2, 2))
        torch.matrix_power(x, 0).sum().backward()
        self.near(x.grad, np.zeros((2, 2)))
        empty = leaf(np.zeros((1, 0, 0)))
        self.assertTrue(L.pinv(empty).requires_grad)
        self.assertEqual(L.norm(torch.empty(0, 5), 2).item(), 0)
        self.assertEqual(L.norm(torch.empty(0, 5), 2, (0, 1), True).shape, (1, 1))
        for order, shape in ((-2, (0, 5)), (-1, (5, 0)), (float("-inf"), (0, 5))):
            with self.assertRaises(IndexError):
                L.norm(torch.empty(*shape), order)
        self.assertEqual(torch.norm(torch.eye(3), "nuc").item(), 3)
        self.assertEqual(torch.eye(3).norm("nuc", keepdim=True).shape, (1, 1))


class Norms(Case):
    def test_norms_by_name_over_chosen_dimensions(self):
        a = array(2, 4, 3)
        x = torch.from_numpy(a)
        for order in ("fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf")):
            for dims in ((0, 1), (2, 0), (-1, -2)):
                for keep in (False, True):
                    expected = np.linalg.norm(a, order, axis=dims, keepdims=keep)
                    self.near(L.norm(x, order, dims, keep), expected)
                    self.near(L.matrix_norm(x, order, dims, keep), expected)
        self.near(torch.nuclear_norm(x[0]), np.linalg.norm(a[0], "nuc"))
        self.near(torch.nuclear_norm(x, (1, 2), True), np.linalg.norm(a, "nuc", axis=(1, 2), keepdims=True))
        self.near(torch.frobenius_norm(x, (0, 1)), np.linalg.norm(a, axis=(0, 1)))
        with self.assertRaises(RuntimeError):
            L.norm(x, "frob", (0, 1))
        with self.assertRaises(RuntimeError):
            L.norm(x, "nuc")

    def test_conditions_of_singular_matrices_are_infinite(self):
        a = torch.tensor([[1.0, 1.0], [1.0, 1.0]])
        for p in (1, float("inf"), "fro"):
            self.assertEqual(L.cond(a, p).item(), float("inf"))


class Provider(unittest.TestCase):
    def test_dot_of_dense_numbers_sums_four_vectors_of_16_bytes(self):
        """The order of sums of MKL's SSE path, which PyTorch takes on processors of AMD: an L-BFGS search then takes the same steps."""
        for dtype, lanes in ((np.float32, 4), (np.float64, 2)):
            rng = np.random.default_rng(lanes)
            for n in (*range(70), 127, 1000, 1003):
                x, y = rng.standard_normal((2, n)).astype(dtype)
                products, sums = x * y, np.zeros((4, lanes), dtype)
                whole, vectors = n // (4 * lanes) * 4 * lanes, n // lanes * lanes
                for block in products[:whole].reshape(-1, 4, lanes):
                    sums += block
                for i, vector in enumerate(products[whole:vectors].reshape(-1, lanes)):
                    sums[i % 2 if lanes == 4 else 0] += vector
                for product in products[vectors:]:
                    sums[0, 0] += product
                total = ((sums[0] + sums[1]) + sums[2]) + sums[3]
                expected = (total[0] + total[2]) + (total[1] + total[3]) if lanes == 4 else total[0] + total[1]
                self.assertEqual(torch.dot(torch.from_numpy(x), torch.from_numpy(y)).item(), expected.item(), (dtype, n))

    def test_products_of_at_most_8_rows_columns_and_terms_round_every_product_and_sum(self):
        """As MKL does: what small matrices make has PyTorch's bits, and so has what many products in a row make of them."""
        for dtype in (np.float32, np.float64):
            for m, n, k in ((2, 2, 2), (3, 5, 4), (5, 5, 5), (8, 8, 8), (7, 3, 8), (1, 6, 8), (8, 2, 5)):
                x, y = (array(2, *shape).astype(dtype) for shape in ((m, k), (k, n)))
                expected = np.zeros((2, m, n), dtype)
                for q in range(k):
                    expected += x[..., q : q + 1] * y[..., q : q + 1, :]
                a, b = torch.from_numpy(x), torch.from_numpy(y)
                turned = b.mT.contiguous().mT
                for got in (a @ b, a @ turned, torch.stack([a[0].mm(b[0]), a[1].mm(b[1])]), torch.func.vmap(torch.mm)(a, b)):
                    self.assertEqual(numbers(got).tolist(), expected.tolist(), (dtype, m, n, k))

    def test_small_linear_maps_sum_every_fourth_term(self):
        """As MKL's dot products of rows do, (0 + 2) + (1 + 3): linear maps with at most 8 results have PyTorch's bits."""
        for m, n, k in ((2, 4, 4), (6, 4, 4), (10, 8, 4), (64, 2, 8), (8, 8, 8), (7, 3, 16)):
            x, w, b = (array(*shape).astype(np.float32) for shape in ((m, k), (n, k), (n,)))
            terms = (x[:, None] * w[None]).reshape(m, n, k // 4, 4)
            sums = terms[:, :, 0]
            for q in range(1, k // 4):
                sums = sums + terms[:, :, q]
            expected = (sums[..., 0] + sums[..., 2]) + (sums[..., 1] + sums[..., 3])
            a, c, d = map(torch.from_numpy, (x, w, b))
            cases = [
                (a @ c.t(), expected),
                (torch.nn.functional.linear(a, c, d), expected + b),
                (torch.addmm(d, a, c.t(), beta=2, alpha=0.5), expected / 2 + b * 2),
            ]
            for got, wanted in cases:
                self.assertEqual(numbers(got).tolist(), wanted.tolist(), (m, n, k))
        nan = torch.nn.functional.linear(torch.full((2, 4), float("nan")), torch.ones(3, 4)).relu()
        self.assertTrue(nan.isnan().all())

    def test_batches_of_small_products_and_of_vectors_round_every_product_and_sum(self):
        for m, n, k in ((10, 1, 10), (250, 1, 10), (3, 12, 4), (2, 3, 50), (16, 4, 6)):
            x, y = (array(2, *shape).astype(np.float32) for shape in ((m, k), (k, n)))
            expected = np.zeros((2, m, n), np.float32)
            for q in range(k):
                expected += x[..., q : q + 1] * y[..., q : q + 1, :]
            self.assertEqual(numbers(torch.bmm(torch.from_numpy(x), torch.from_numpy(y))).tolist(), expected.tolist(), (m, n, k))

    def test_exponentials_of_a_batch_have_the_bits_of_pytorchs(self):
        a = torch.tensor([[3.0, -7, 2], [5, 0.5, -11], [-1, 6, 4]])
        expected = [
            [
                [11.569842338562012, 8.913999557495117, 24.099191665649414],
                [-0.40225696563720703, -6.058368682861328, 7.955745697021484],
                [8.827496528625488, -0.5436619520187378, 2.4375722408294678],
            ],
            [
                [1.0789796113967896, -0.2209392488002777, 0.10891208052635193],
                [0.16806337237358093, 0.9643111228942871, -0.357589453458786],
                [-0.018582401797175407, 0.2015712857246399, 1.0970383882522583],
            ],
        ]
        self.assertEqual(torch.matrix_exp(torch.stack([a, a / 32])).tolist(), expected)
        self.assertTrue(torch.equal(torch.matrix_exp(torch.zeros(2, 3, 3)), torch.eye(3).expand(2, 3, 3)))

    def test_dot_of_every_length_and_dtype(self):
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.complex64, torch.complex128, torch.uint8, torch.int32, torch.int64):
            for n in (0, 1, 63, 64, 65, 1000):
                a, b = (torch.arange(n).remainder(m).to(dtype) for m in (5, 3))
                if dtype.is_complex:
                    a = a * (1 + 2j)
                expected = (np.asarray(a.tolist()) @ np.asarray(b.tolist())) if n else 0
                self.assertEqual(torch.dot(a, b).item(), expected % 256 if dtype == torch.uint8 else torch.tensor(expected).to(dtype).item(), (dtype, n))
                out = torch.empty((), dtype=dtype)
                self.assertEqual(torch.dot(a, b, out=out).item(), out.item())
                self.assertEqual(out.item(), torch.mv(b[None], a).item())

    def test_without_lapack_a_sentence_says_what_to_install(self):
        code = "import cresset as torch\ntry: torch.linalg.inv(torch.eye(2))\nexcept RuntimeError as e: print(e)"
        said = subprocess.run([sys.executable, "-c", code], env={**os.environ, "CRESSET_LAPACK": "0"}, capture_output=True, text=True, check=True).stdout
        self.assertRegex(said, r"needs LAPACK.*apt-get install libopenblas0")

    def test_results_do_not_depend_on_the_number_of_threads(self):
        a = torch.from_numpy(array(16, 24, 24))
        before = torch.get_num_threads()
        try:
            seen = []
            for threads in (1, 2, 3):
                torch.set_num_threads(threads)
                wide = L.solve_triangular(a.tril() + 5 * torch.eye(24, dtype=a.dtype), a.reshape(1, 24, 384), upper=False)
                seen.append([numbers(t).tobytes() for t in (*L.svd(a), *L.qr(a), L.inv(a), *L.eigh(a), L.det(a), wide, L.svdvals(a.float()))])
        finally:
            torch.set_num_threads(before)
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0], seen[2])


if __name__ == "__main__":
    unittest.main()
