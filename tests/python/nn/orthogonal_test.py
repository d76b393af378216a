"""Orthogonal weights, and normalisation across channels as PyTorch computes it."""

import itertools
import unittest

import cresset as torch
from cresset import nn
from cresset.nn.utils import parametrizations


def close(a, b):
    return torch.allclose(a, b, atol=1e-9)


class Orthogonal(unittest.TestCase):
    def layer(self, rows, columns, **options):
        torch.manual_seed(0)
        return parametrizations.orthogonal(nn.Linear(columns, rows, bias=False, dtype=torch.float64), **options)

    def test_rows_or_columns_stay_orthonormal(self):
        for (rows, columns), way, trivial in itertools.product(((3, 3), (4, 3), (3, 4)), (None, "matrix_exp", "cayley"), (True, False)):
            with self.subTest(rows=rows, columns=columns, way=way, trivial=trivial):
                layer = self.layer(rows, columns, orthogonal_map=way, use_trivialization=trivial)
                original = layer.parametrizations.weight.original
                with torch.no_grad():
                    # Away from the start; reflections keep the signs on the diagonal.
                    original.add_(torch.linspace(-1, 1, rows * columns, dtype=torch.float64).view(rows, columns) * (1 - torch.eye(rows, columns)))
                W = layer.weight
                product = W.mT @ W if rows >= columns else W @ W.mT
                self.assertTrue(close(product, torch.eye(min(rows, columns), dtype=torch.float64)))
                (grad,) = torch.autograd.grad(W[0].sum(), original)
                self.assertGreater(float(grad.abs().max()), 1e-3)

    def test_the_first_value_is_kept_if_orthogonal(self):
        for trivial, way in ((True, None), (True, "cayley"), (False, "householder")):
            layer = nn.Linear(3, 3, dtype=torch.float64)
            nn.init.orthogonal_(layer.weight)
            before = layer.weight.detach().clone()
            parametrizations.orthogonal(layer, orthogonal_map=way, use_trivialization=trivial)
            self.assertTrue(close(layer.weight, before))

    def test_assigning(self):
        layer = self.layer(4, 3)
        layer.weight = torch.eye(4, 3, dtype=torch.float64)
        self.assertTrue(close(layer.weight, torch.eye(4, 3, dtype=torch.float64)))
        fixed = self.layer(3, 3, use_trivialization=False)
        with self.assertRaises(NotImplementedError):
            fixed.weight = torch.eye(3, dtype=torch.float64)
        with self.assertRaises(ValueError):
            layer.weight = torch.eye(3, dtype=torch.float64)

    def test_known_exponential(self):
        # exp of [[0, -a], [a, 0]] turns by a.
        layer = self.layer(2, 2, use_trivialization=False)
        with torch.no_grad():
            layer.parametrizations.weight.original.copy_(torch.tensor([[5.0, 7.0], [0.3, 9.0]]))
        a = torch.tensor(0.3, dtype=torch.float64)
        self.assertTrue(close(layer.weight, torch.stack([a.cos(), -a.sin(), a.sin(), a.cos()]).view(2, 2)))

    def test_complex(self):
        layer = nn.Linear(3, 3, dtype=torch.complex128)
        parametrizations.orthogonal(layer)
        W = layer.weight
        self.assertTrue(torch.allclose(W.mH @ W, torch.eye(3, dtype=torch.complex128)))
        with self.assertRaises(ValueError):
            parametrizations.orthogonal(nn.Linear(3, 3, dtype=torch.complex128), orthogonal_map="householder")

    def test_refusals(self):
        for name, way in (("nothing", None), ("bias", None), ("weight", "rotation")):
            with self.assertRaises(ValueError):
                parametrizations.orthogonal(nn.Linear(3, 3), name, way)

    def test_state(self):
        layer, other = self.layer(4, 3), self.layer(4, 3)
        self.assertEqual(list(layer.state_dict()), ["parametrizations.weight.original", "parametrizations.weight.0.base"])
        nn.init.normal_(other.parametrizations.weight[0].base)
        other.load_state_dict(layer.state_dict())
        self.assertTrue(close(other.weight, layer.weight))


class CrossMap(unittest.TestCase):
    # PyTorch 2.13's numbers for channels 1 ... 5, alpha 1, beta 0.75, k 1 and a gradient of 1 ... 5.
    def run_it(self, size):
        x = torch.arange(1.0, 6.0, dtype=torch.float64).view(1, 5, 1, 1).requires_grad_()
        y = nn.CrossMapLRN2d(size, 1.0, 0.75, 1.0)(x)
        (grad,) = torch.autograd.grad(y, x, torch.arange(1.0, 6.0, dtype=torch.float64).view_as(y))
        return y.flatten().tolist(), grad.flatten().tolist()

    def test_forward_and_backward(self):
        for size, (values, slopes) in GOLDEN.items():
            for got, expected in zip(self.run_it(size), (values, slopes), strict=True):
                for a, b in zip(got, expected, strict=True):
                    self.assertAlmostEqual(a, b, 6, size)

    def test_a_window_of_one_has_no_derivative(self):
        x = torch.ones(1, 2, 1, 1, requires_grad=True)
        with self.assertRaises(RuntimeError):
            nn.CrossMapLRN2d(1)(x).sum().backward()


GOLDEN = {
    3: ([0.47920733, 0.54454559, 0.49668008, 0.45772603, 0.65599656], [0.38935595, 0.17265028, -0.26435019, -0.40100929, -0.48360499]),
    5: ([0.36741959, 0.46473616, 0.46530243, 0.62040324, 0.81668859], [0.29857825, 0.25725812, -0.0320356, -0.48022588, -0.41406376]),
}

if __name__ == "__main__":
    unittest.main()
