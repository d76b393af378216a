"""torch.lobpcg against the dense eigensolvers."""

import unittest

import cresset as torch


def symmetric(m, seed=0, shift=1.0):
    a = torch.randn(m, m, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return a @ a.mT / m + shift * torch.eye(m, dtype=torch.float64)


def laplacian(m):
    i = torch.arange(m)
    at = torch.cat([torch.stack([i, i]), torch.stack([i[1:], i[:-1]]), torch.stack([i[:-1], i[1:]])], 1)
    return torch.sparse_coo_tensor(at, torch.cat([torch.full((m,), 2.0), torch.full((2 * m - 2,), -1.0)]).double(), (m, m)).coalesce()


class Pairs(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def check(self, A, E, V, B=None, expected=None):
        dense = A.to_dense() if A.layout is not torch.strided else A
        other = torch.eye(A.shape[-1], dtype=dense.dtype) if B is None else B
        scale = 1e-6 * float(dense.norm())
        self.assertLess(float((dense @ V - other @ V * E).norm()), scale)
        torch.testing.assert_close(V.mT @ other @ V, torch.eye(V.shape[-1], dtype=V.dtype), rtol=0, atol=1e-8)
        if expected is not None:
            torch.testing.assert_close(E, expected, rtol=1e-8, atol=1e-10)

    def test_both_ends_by_both_methods(self):
        A = symmetric(40)
        values = torch.linalg.eigvalsh(A)
        for method in ("basic", "ortho", None):
            for k in (1, 4):
                self.check(A, *torch.lobpcg(A, k, method=method), expected=values.flip(0)[:k])
                self.check(A, *torch.lobpcg(A, k, largest=False, method=method), expected=values[:k])

    def test_of_two_matrices(self):
        A, B = symmetric(30), symmetric(30, 1)
        values = torch.linalg.eigvals(torch.linalg.solve(B, A)).real.sort()[0]
        self.check(A, *torch.lobpcg(A, 3, B), B, values.flip(0)[:3])
        self.check(A, *torch.lobpcg(A, 3, B, largest=False), B, values[:3])

    def test_sparse_matrices_and_a_preconditioner(self):
        A = laplacian(60)
        expected = torch.linalg.eigvalsh(A.to_dense())[:3]
        steps = {}
        for name, iK in (("plain", None), ("inverse", torch.linalg.inv(A.to_dense()))):
            steps[name] = 0

            def count(run, name=name):
                steps[name] += 1

            self.check(A, *torch.lobpcg(A, 3, iK=iK, largest=False, tracker=count), expected=expected)
        self.assertLess(steps["inverse"], steps["plain"] / 2)
        self.check(A, *torch.lobpcg(A.to_sparse_csr(), 3, largest=False), expected=expected)

    def test_a_batch_is_one_matrix_after_another(self):
        A = torch.stack([symmetric(12, i) for i in range(4)]).reshape(2, 2, 12, 12)
        E, V = torch.lobpcg(A, 2)
        self.assertEqual((E.shape, V.shape), ((2, 2, 2), (2, 2, 12, 2)))
        torch.testing.assert_close(E, torch.linalg.eigvalsh(A)[..., -2:].flip(-1), rtol=1e-8, atol=0)

    def test_where_it_starts_and_how_many_it_seeks(self):
        A = symmetric(20)
        _, best = torch.lobpcg(A, 2)
        runs = []
        E, V = torch.lobpcg(A, X=best, tracker=lambda run: runs.append(run.ivars["istep"]))
        self.assertEqual((runs, E.shape), ([1], (2,)))
        self.assertEqual(torch.lobpcg(A, 2, X=torch.randn(20, 4, dtype=torch.float64))[1].shape, (20, 2))
        self.assertEqual(torch.lobpcg(A, 2, n=5)[0].shape, (2,))
        self.assertIs(torch.lobpcg(A.float(), 2)[0].dtype, torch.float32)
        with self.assertRaises(ValueError):
            torch.lobpcg(A, X=torch.ones(20, 2, dtype=torch.float64))

    def test_the_tracker_sees_the_run_and_can_end_it(self):
        A, seen = symmetric(40), []

        def track(run):
            seen.append((run.ivars["istep"], run.tvars["rerr"].shape, run.X.shape, run.E.shape, run.R.shape))
            run.bvars["force_stop"] = run.ivars["istep"] == 3
            self.assertEqual((run.iparams["m"], run.iparams["n"], run.iparams["ortho_i_max"]), (40, 2, 5))
            self.assertEqual((run.fparams["tol"], run.bparams["ortho_use_drop"], run.method), (1e-12, True, "ortho"))

        torch.lobpcg(A, 2, tol=1e-12, tracker=track, ortho_iparams={"i_max": 5}, ortho_bparams={"use_drop": True})
        self.assertEqual(seen, [(i, (2,), (40, 2), (2,), (40, 2)) for i in (1, 2, 3)])
        steps = []
        torch.lobpcg(A, 2, niter=2, tol=0.0, tracker=lambda run: steps.append(1))
        self.assertEqual(len(steps), 2)

    def test_it_ends_when_nothing_is_left_to_improve(self):
        E, V = torch.lobpcg(torch.diag(torch.arange(1.0, 10.0)), 2, tol=0.0, niter=-1)
        torch.testing.assert_close(E, torch.tensor([9.0, 8.0]))
        E, _ = torch.lobpcg(torch.eye(9), 2)
        torch.testing.assert_close(E, torch.ones(2))
        E, _ = torch.lobpcg(torch.zeros(9, 9), 1)
        self.assertEqual(E.tolist(), [0.0])

    def test_gradients(self):
        A = symmetric(9).requires_grad_()

        def values(a):
            return torch.lobpcg((a + a.mT) / 2, 2, tol=1e-13, X=start)[0]

        def planes(a):
            v = torch.lobpcg((a + a.mT) / 2, 2, tol=1e-13, X=start)[1]
            return v[:, :1] @ v[:, :1].mT, v[:, 1:] @ v[:, 1:].mT

        start = torch.randn(9, 2, dtype=torch.float64)
        self.assertTrue(torch.autograd.gradcheck(values, (A,)))
        self.assertTrue(torch.autograd.gradcheck(planes, (A,)))
        grads = []
        for pairs in (lambda a: torch.lobpcg(a, 2, tol=1e-13), lambda a: tuple(t[..., -2:].flip(-1) for t in torch.linalg.eigh(a))):
            e, v = pairs(A)
            grads.append(torch.autograd.grad((e * torch.tensor([1.0, 2.0])).sum() + (v.pow(4)).sum(), A)[0])
        torch.testing.assert_close(grads[0], (grads[1] + grads[1].mT) / 2, rtol=1e-6, atol=1e-8)

    def test_gradients_are_symmetric_and_those_of_the_symmetric_part(self):
        start, A, B = torch.randn(9, 2, dtype=torch.float64), symmetric(9), torch.eye(9, dtype=torch.float64) + symmetric(9, 1) / 100

        def pairs(a, b=None):  # without the sign, which is free
            e, v = torch.lobpcg(a, 2, b, start, tol=1e-14)
            return e, v * v[:1].sign()

        for matrices in ((A,), (A, B)):
            inputs = tuple(t.clone().requires_grad_() for t in matrices)
            self.assertTrue(torch.autograd.gradcheck(pairs, inputs))
            self.assertTrue(torch.autograd.gradgradcheck(pairs, inputs))
            for grad in torch.autograd.grad(sum(t.sum() for t in pairs(*inputs)), inputs):
                torch.testing.assert_close(grad, grad.mT)
        self.assertTrue(torch.autograd.gradcheck(lambda b: pairs(A, b), (B.requires_grad_(),)))
        batch = torch.stack([A, A + 1]).requires_grad_()
        self.assertTrue(torch.autograd.gradcheck(lambda a: torch.lobpcg(a, 1, B.detach().expand(2, 9, 9), tol=1e-14)[0], (batch,)))

    def test_a_sparse_matrix_has_values_and_no_gradient(self):
        A = symmetric(12).requires_grad_()
        e, _ = torch.lobpcg(A.to_sparse(), 2)
        torch.testing.assert_close(e, torch.linalg.eigvalsh(A)[-2:].flip(0))
        with self.assertRaisesRegex(ValueError, "dense"):
            e.sum().backward()

    def test_refusals(self):
        A = symmetric(12)
        for error, call in (
            (ValueError, lambda: torch.lobpcg(A, 5)), (ValueError, lambda: torch.lobpcg(A, 2, n=5)), (ValueError, lambda: torch.lobpcg(A[:0, :0], 1)),
            (AssertionError, lambda: torch.lobpcg(A[:5], 2)), (AssertionError, lambda: torch.lobpcg(A, 2, A[:5, :5])),
            (AssertionError, lambda: torch.lobpcg(A, 2, X=torch.ones(11, 3).double())), (RuntimeError, lambda: torch.lobpcg(A.int(), 2)),
            (RuntimeError, lambda: torch.lobpcg(A, 2, A.float())), (RuntimeError, lambda: torch.lobpcg(A.to(torch.complex128), 2)),
            (ValueError, lambda: torch.lobpcg(A, 0)), (ValueError, lambda: torch.lobpcg(A, 2, method="other")),
            (ValueError, lambda: torch.lobpcg(A, 2, ortho_iparams={"other": 1})), (IndexError, lambda: torch.lobpcg(A[0], 2)),
        ):  # fmt: skip
            with self.assertRaises(error):
                call()


if __name__ == "__main__":
    unittest.main()
