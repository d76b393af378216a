"""autograd.functional against closed forms; what strict mode refuses."""

import unittest

import numpy as np

import cresset as torch

functional = torch.autograd.functional

X = np.array([[0.5, 1.0], [1.5, 2.0]])
Y = np.array([1.0, 2.0])


def tensor(array):
    return torch.from_numpy(array.copy())


def rows(x):
    return x.sin().sum(1)


def pair(x, y):
    return x @ y, (x * y).exp()


def cubes(x):
    return (x**3).sum()


def constant(x):
    return torch.ones(2, dtype=torch.float64)


JACOBIAN_OF_ROWS = np.einsum("ij,ik->ikj", np.cos(X), np.eye(2))


class Functional(unittest.TestCase):
    def near(self, got, expected):
        np.testing.assert_allclose(got.detach().numpy(), expected, rtol=1e-12)

    def test_jacobian(self):
        for options in ({}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}, {"create_graph": True}, {"strict": True}):
            got = functional.jacobian(rows, tensor(X), **options)
            self.near(got, JACOBIAN_OF_ROWS)
            self.assertEqual(got.requires_grad, "create_graph" in options)

    def test_tensors_without_dimensions(self):
        x = torch.tensor(2.0, dtype=torch.float64)
        for function in (functional.jacobian, functional.hessian):
            self.assertEqual(function(lambda t: t * t, x).shape, ())

    def test_jacobian_of_tuples(self):
        for options in ({}, {"vectorize": True, "strategy": "forward-mode"}):
            (dx, dy), (ex, ey) = functional.jacobian(pair, (tensor(X), tensor(Y)), **options)
            self.near(dx, np.einsum("j,ik->ikj", Y, np.eye(2)))
            self.near(dy, X)
            e = np.exp(X * Y)
            self.near(ex, np.einsum("ij,ia,jb->ijab", e * Y, np.eye(2), np.eye(2)))
            self.near(ey, np.einsum("ij,jb->ijb", e * X, np.eye(2)))

    def test_hessian(self):
        expected = np.einsum("ij,ia,jb->ijab", 6 * X, np.eye(2), np.eye(2))
        for options in ({}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}, {"create_graph": True}):
            self.near(functional.hessian(cubes, tensor(X), **options), expected)
        (xx, xy), (yx, yy) = functional.hessian(lambda x, y: (x * x @ y).sum(), (tensor(X), tensor(Y)))
        self.near(xx, np.einsum("j,ia,jb->ijab", 2 * Y, np.eye(2), np.eye(2)))
        self.near(xy, np.einsum("ij,jb->ijb", 2 * X, np.eye(2)))
        self.near(yx, np.einsum("ij,jb->bij", 2 * X, np.eye(2)))
        self.near(yy, np.zeros((2, 2)))

    def test_products(self):
        v = np.array([[1.0, -1.0], [2.0, 0.5]])
        out, got = functional.vjp(rows, tensor(X), tensor(Y))
        self.near(out, np.sin(X).sum(1))
        self.near(got, Y[:, None] * np.cos(X))
        self.near(functional.jvp(rows, tensor(X), tensor(v))[1], (np.cos(X) * v).sum(1))
        self.near(functional.vhp(cubes, tensor(X), tensor(v))[1], 6 * X * v)
        self.near(functional.hvp(cubes, tensor(X), tensor(v))[1], 6 * X * v)
        self.near(functional.vjp(cubes, tensor(X))[1], 3 * X * X)

    def test_recorded_on_demand(self):
        x = tensor(X).requires_grad_()
        for call in (functional.jacobian, functional.vjp):
            self.assertFalse(self.last(call(cubes, x)).requires_grad)
            got = self.last(call(cubes, x, create_graph=True))
            self.near(torch.autograd.grad(got.sum(), x)[0], 6 * X)

    def last(self, result):
        return result[1] if isinstance(result, tuple) else result

    def test_no_influence_gives_zeros_or_an_error(self):
        x, y = tensor(X), tensor(Y)
        self.near(functional.jacobian(constant, x), np.zeros((2, 2, 2)))
        self.near(functional.vjp(lambda x, y: x.sum(1), (x, y), y)[1][1], np.zeros(2))
        self.near(functional.jvp(constant, x, x)[1], np.zeros(2))
        self.near(functional.vhp(lambda x: x.sum(), x, x)[1], np.zeros((2, 2)))
        for call in (
            lambda: functional.jacobian(constant, x, strict=True),
            lambda: functional.jacobian(lambda x, y: x.sum(1), (x, y), strict=True),
            lambda: functional.hessian(lambda x: x.sum(), x, strict=True),
            lambda: functional.vjp(constant, x, y, strict=True),
            lambda: functional.vhp(lambda x: x.sum(), x, x, strict=True),
            lambda: functional.hvp(lambda x: x.sum(), x, x, strict=True),
        ):
            with self.assertRaises(RuntimeError):
                call()

    def test_mistakes(self):
        x, y = tensor(X), tensor(Y)
        for error, call in (
            (TypeError, lambda: functional.jacobian(rows, [x])),
            (TypeError, lambda: functional.jacobian(lambda x: 3, x)),
            (RuntimeError, lambda: functional.vjp(rows, x)),
            (RuntimeError, lambda: functional.vjp(rows, x, torch.ones(3))),
            (RuntimeError, lambda: functional.vjp(rows, x, (y, y))),
            (RuntimeError, lambda: functional.jvp(rows, x)),
            (RuntimeError, lambda: functional.hessian(rows, x)),
            (RuntimeError, lambda: functional.jacobian(rows, x, strict=True, vectorize=True)),
            (AssertionError, lambda: functional.jacobian(rows, x, strategy="sideways")),
        ):
            with self.assertRaises(error):
                call()


if __name__ == "__main__":
    unittest.main()
