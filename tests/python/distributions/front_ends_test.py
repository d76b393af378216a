"""C++ and Python say the same: every method of every distribution, every divergence and transform bit for bit, and all texts."""

import os
import subprocess
import tempfile
import unittest
import warnings

import _cresset

import cresset as torch

from . import every_distribution, every_text

PROGRAM = os.path.join(os.path.dirname(_cresset.__file__), "..", "tests", "distributions_test")  # of the same build


def written(value):
    """Dtype, shape and numbers, as the program writes them."""
    return str(value.dtype).removeprefix("torch."), tuple(value.shape), [x.hex() for x in value.detach().double().flatten().tolist()]


@unittest.skipUnless(os.path.exists(PROGRAM), "the C++ tests are not built")
class FrontEnds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "distributions")
            done = subprocess.run(
                [PROGRAM, "--gtest_filter=Distributions.Written"], capture_output=True, text=True, env={**os.environ, "CRESSET_DISTRIBUTIONS": path}
            )
            if done.returncode:
                raise AssertionError(done.stdout + done.stderr)
            with open(path) as file:
                lines = [line.rstrip("\n") for line in file]
        texts = [line.split("|text|", 1) for line in lines if "|text|" in line]
        cls.texts = {name: text.replace("\\n", "\n") for name, text in texts}
        rows = [line.split("|") for line in lines if "|text|" not in line]
        cls.rows = {
            (name, kind): (dtype, tuple(int(n) for n in shape.split()), [float.fromhex(x).hex() for x in numbers.split()])
            for name, kind, dtype, shape, numbers in rows
        }

    def ours(self, kind):
        dtype = getattr(torch, kind)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for distribution, make in every_distribution.distributions(torch).items():
                for method, value in every_distribution.numbers_of(torch, make, dtype).items():
                    yield f"{distribution} {method}", value
            for pair, value in every_distribution.divergences(torch, dtype).items():
                yield f"KL {pair}", value

    def test_every_number(self):
        for kind in ("float32", "float64", "float16", "bfloat16"):
            names = set()
            for name, value in self.ours(kind):
                names.add(name)
                with self.subTest(f"{name} {kind}"):
                    self.assertEqual(self.rows.get((name, kind)), written(value))
            self.assertEqual({name for name, k in self.rows if k == kind}, names)
            self.assertGreater(len(names), 700)

    def test_every_text(self):
        ours = every_text.texts()
        for name, text in ours.items():
            with self.subTest(name):
                self.assertEqual(self.texts.get(name), text)
        self.assertEqual(set(self.texts), set(ours))
        self.assertGreater(len(ours), 1900)


if __name__ == "__main__":
    unittest.main()
