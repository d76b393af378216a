"""Rows of ops/training.toml against their formulas, and in the front end that calls them."""

import math
import unittest

import cresset as torch


def values(*shape, dtype=torch.float64):
    return torch.linspace(-1.5, 2.0, math.prod(shape), dtype=dtype).sin().reshape(shape)


class Layers(unittest.TestCase):
    def test_cross_map_lrn(self):
        x, size, alpha, beta, k = values(2, 6, 2, 3), 3, 0.5, 0.75, 2.0
        output, scale = torch._cross_map_lrn(x, size, alpha, beta, k)
        expected = torch.empty_like(x)
        for c in range(6):
            near = x[:, max(0, c - 1) : c + 2].square().sum(1)
            near = near + x[:, 0].square() if c > 1 else near  # the running sum never lets go of the first
            expected[:, c] = k + alpha / size * near
        torch.testing.assert_close(scale, expected)
        torch.testing.assert_close(output, x * expected**-beta)
        grad = values(2, 6, 2, 3).cos()
        ratio = torch.nn.functional.pad(grad * output / scale, (0, 0, 0, 0, 2, 0))
        lower = ratio[:, :6] + ratio[:, 1:7] + ratio[:, 2:]
        torch.testing.assert_close(
            torch._cross_map_lrn_backward(grad, x, output, scale, size, alpha, beta), grad * scale**-beta - 2 * alpha * beta / size * x * lower
        )
        with self.assertRaisesRegex(RuntimeError, "CrossMapLRN2d: no derivative for windows of fewer than three channels"):
            torch._cross_map_lrn_backward(grad, x, output, scale, 1, alpha, beta)

    def test_fuse_batch_norm(self):
        x, weight, mean, var = values(3, 4, 5), values(2, 4, 1), values(2), values(2).abs() + 0.5
        gamma, beta = values(2) + 2, values(2) - 1
        for bias in (None, values(2)):
            for g, b in ((gamma, beta), (None, None)):
                fused, offset = torch._fuse_batch_norm(weight, bias, mean, var, 1e-3, g, b, 0)
                expected = torch.nn.functional.batch_norm(torch.nn.functional.conv1d(x, weight, bias), mean, var, g, b, eps=1e-3)
                torch.testing.assert_close(torch.nn.functional.conv1d(x, fused, offset), expected)
        fused, offset = torch._fuse_batch_norm(weight.transpose(0, 1), None, mean, var, 1e-3, gamma, beta, 1)
        expected = torch.nn.functional.batch_norm(torch.nn.functional.conv_transpose1d(x, weight.transpose(0, 1)), mean, var, gamma, beta, eps=1e-3)
        torch.testing.assert_close(torch.nn.functional.conv_transpose1d(x, fused, offset), expected)

    def test_scaled_direction(self):
        v = values(3, 4, 2)
        for dim, norm in ((-1, v.norm()), (0, v.flatten(1).norm(dim=1)[:, None, None]), (1, v.transpose(0, 1).flatten(1).norm(dim=1)[None, :, None])):
            torch.testing.assert_close(torch._norm_except(v, dim), norm)
            torch.testing.assert_close(torch._scaled_direction(norm * 3, v, dim), v * 3)
        self.assertEqual(torch._norm_except(torch.tensor([-2.0, 3.0]), 0).tolist(), [2.0, 3.0])

    def test_spectral_norm(self):
        matrix = values(4, 6)
        u, v = torch.ones(4, dtype=torch.float64), torch.ones(6, dtype=torch.float64)
        self.assertIs(torch._power_iteration_(u, v, matrix, 200, 1e-12), u)
        self.assertEqual((u._version, v._version), (200, 200))
        left, sizes, right = torch.linalg.svd(matrix)
        for got, expected in ((u, left[:, 0]), (v, right[0])):
            torch.testing.assert_close(got.dot(expected).abs().item(), 1.0)
        torch.testing.assert_close(torch._over_spectral_norm(matrix, matrix, u, v), matrix / sizes[0])


class OrthogonalMatrices(unittest.TestCase):
    def assert_orthonormal(self, q):
        identity = torch.eye(q.size(-1), dtype=q.dtype).expand(*q.shape[:-2], -1, -1)
        torch.testing.assert_close(q.mH @ q, identity, rtol=1e-7, atol=1e-7)

    def test_of_skew_matrices(self):
        for shape in ((3, 3), (2, 5, 3)):
            x = values(*shape)
            for exponential in (True, False):
                self.assert_orthonormal(torch._orthogonal_of_skew(x, exponential))
        x = values(3, 3)
        skew = x.tril() - x.tril().mT
        torch.testing.assert_close(torch._orthogonal_of_skew(x, True), torch.matrix_exp(skew))
        identity = torch.eye(3, dtype=torch.float64)
        torch.testing.assert_close(torch._orthogonal_of_skew(x, False), torch.linalg.inv(identity - skew / 2) @ (identity + skew / 2))

    def test_of_reflections(self):
        q = torch._orthogonalised(values(5, 3))
        self.assert_orthonormal(q)
        back = torch._orthogonal_of_reflections(torch._reflections_of(q))
        torch.testing.assert_close(back, q)

    def test_the_diagonal_of_r_is_positive(self):
        a = values(5, 3)
        for q in (torch._orthogonalised(a), torch._orthogonal_factor(a)):
            self.assert_orthonormal(q)
            r = q.mT @ a
            self.assertTrue(bool((r.diagonal() > 0).all()))
            torch.testing.assert_close(r.tril(-1), torch.zeros(3, 3, dtype=torch.float64), rtol=0, atol=1e-12)


class Steps(unittest.TestCase):
    def test_trunc_normal(self):
        for a, b in ((-2.0, 2.0), (0.0, 0.1)):
            x, generator = torch.empty(200), torch.Generator().manual_seed(3)
            self.assertIs(torch._trunc_normal_(x, 0.0, 1.0, a, b, generator=generator), x)
            self.assertTrue(bool(((x >= a) & (x <= b)).all()))
            again = torch._trunc_normal_(torch.empty(200), 0.0, 1.0, a, b, generator=generator.manual_seed(3))
            self.assertEqual(x.tolist(), again.tolist())

    def test_clip_factor(self):
        self.assertEqual(torch._clip_factor(torch.tensor(0.5), 2.0).item(), 1.0)
        torch.testing.assert_close(torch._clip_factor(torch.tensor(8.0), 2.0), torch.tensor(2.0 / (8.0 + 1e-6)))

    def test_lbfgs_direction(self):
        n = 4
        hessian = torch.diag(torch.arange(1.0, n + 1, dtype=torch.float64))
        steps = [values(n) + i for i in range(n)]
        dirs = [hessian @ s for s in steps]
        grad = values(n).cos()
        found = torch._lbfgs_direction(grad, dirs, steps, [1 / y.dot(s) for y, s in zip(dirs, steps)], 0.5)
        inverse = 0.5 * torch.eye(n, dtype=torch.float64)
        for y, s in zip(dirs, steps):  # the recursion written with matrices
            left = torch.eye(n, dtype=torch.float64) - torch.outer(s, y) / y.dot(s)
            inverse = left @ inverse @ left.mT + torch.outer(s, s) / y.dot(s)
        torch.testing.assert_close(found[0], -inverse @ grad)
        self.assertEqual(len(found), n + 1)
        self.assertEqual(torch._lbfgs_direction(grad, [], [], [], 2.0)[0].tolist(), (-grad * 2).tolist())


if __name__ == "__main__":
    unittest.main()
