"""Sobol points: the same as PyTorch's to the bit."""

import unittest

from cresset.quasirandom import SobolEngine

import cresset as torch

HIGH = [0, 1, 100, 5000, 21200]


class Points(unittest.TestCase):
    def test_the_sequence(self):
        self.assertEqual(SobolEngine(3).draw(4).tolist(), [[0, 0, 0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75]])

    def test_parts_are_the_whole(self):
        whole, engine = SobolEngine(5, scramble=True, seed=3).draw(9), SobolEngine(5, scramble=True, seed=3)
        self.assertTrue(torch.equal(torch.cat([engine.draw(1), engine.draw(4), engine.draw(4)]), whole))
        self.assertTrue(torch.equal(engine.reset().fast_forward(6).draw(3), whole[6:]))

    def test_scrambled_as_pytorch_does(self):
        wanted = [[0.4802905321121216, 0.11725887656211853, 0.12398969382047653], [0.9114733934402466, 0.8686649799346924, 0.5390787124633789]]
        self.assertEqual(SobolEngine(3, scramble=True, seed=5).draw(2).tolist(), torch.tensor(wanted).tolist())

    def test_all_dimensions(self):
        wanted = [0.19947312772274017, 0.17093220353126526, 0.38067299127578735, 0.2776339650154114, 0.4275655150413513]
        self.assertEqual(SobolEngine(21201, scramble=True, seed=7).draw(1)[0, HIGH].tolist(), torch.tensor(wanted).tolist())

    def test_without_a_seed_the_default_generator_scrambles(self):
        torch.manual_seed(3)
        wanted = torch.tensor([0.06846512854099274, 0.22452697157859802])
        self.assertEqual(SobolEngine(2, scramble=True).draw(1)[0].tolist(), wanted.tolist())

    def test_powers_of_two(self):
        engine = SobolEngine(2)
        self.assertEqual(engine.draw_base2(2).shape, (4, 2))
        engine.draw(1)
        with self.assertRaises(ValueError):
            engine.draw_base2(2)

    def test_dimensions_out_of_range(self):
        for dimension in (0, SobolEngine.MAXDIM + 1):
            with self.assertRaises(ValueError):
                SobolEngine(dimension)

    def test_results_in_another_dtype_and_in_out(self):
        out = torch.empty(0)
        self.assertIs(SobolEngine(2).draw(2, out=out), out)
        self.assertEqual(SobolEngine(2).draw(2, dtype=torch.float64).dtype, torch.float64)


if __name__ == "__main__":
    unittest.main()
