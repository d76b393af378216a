"""torch.norm by the names of norms."""

import unittest

import cresset as torch


class NuclearNorm(unittest.TestCase):
    def test_it_is_the_sum_of_the_singular_values_of_matrices(self):
        x = torch.tensor([[3.0, 0.0, 0.0], [0.0, -4.0, 0.0]], dtype=torch.float64, requires_grad=True)
        self.assertAlmostEqual(torch.norm(x, "nuc").item(), 7)
        self.assertEqual(torch.norm(x.unsqueeze(0), "nuc", (1, 2), True).shape, (1, 1, 1))
        gradient = torch.autograd.grad(x.norm("nuc"), x)[0]
        self.assertTrue(torch.allclose(gradient, torch.tensor([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0]], dtype=torch.float64)))

    def test_mistakes(self):
        with self.assertRaisesRegex(RuntimeError, "dim must be a 2-tuple"):
            torch.norm(torch.ones(2, 2), "nuc", 0)
        with self.assertRaisesRegex(RuntimeError, "not supported, expected 'fro' or 'nuc'"):
            torch.norm(torch.ones(2, 2), "nuclear")


if __name__ == "__main__":
    unittest.main()
