"""examples/export: programs that Python exports run in C++, equal to the bit."""

import os
import subprocess
import sys
import tempfile
import unittest

import _cresset
import cresset.nn.functional as F
from cresset.io.safetensors import save_file
from cresset.utils._pytree import tree_leaves

import cresset as torch
from cresset import nn

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
PROGRAM = os.path.join(os.path.dirname(_cresset.__file__), "..", "examples", "run_program")  # of the same build
X = torch.linspace(-1, 1, 6).reshape(2, 3)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def run(folder, name):
    files = [os.path.join(folder, name + end) for end in (".pt2", ".safetensors")]
    return subprocess.run([PROGRAM, *files], capture_output=True, text=True, check=False)


@unittest.skipUnless(os.path.exists(PROGRAM), "the examples are not built")
class Programs(unittest.TestCase):
    def check(self, module, *args):
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            program = torch.export.export(module, args)
            torch.export.save(program, os.path.join(folder, "m.pt2"))
            tensors = {f"input{i}": t.clone() for i, t in enumerate(tree_leaves(args))}
            tensors |= {f"output{i}": t.contiguous() for i, t in enumerate(tree_leaves(program.module()(*args)))}
            save_file(tensors, os.path.join(folder, "m.safetensors"))
            done = run(folder, "m")
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_the_example(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(ROOT, "examples", "export", "export_model.py")
            subprocess.run([sys.executable, "-m", "cresset", script, "--folder", folder, "--size", "16"], capture_output=True, check=True)
            done = run(folder, "tiny")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("output 0: equal to the bit", done.stdout)

    def test_layers(self):
        self.check(nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval(), torch.randn(2, 3, 8), torch.randn(2, 4, 8))
        self.check(nn.LSTM(4, 3, batch_first=True), torch.randn(2, 3, 4))

    def test_images_of_other_sizes(self):
        def f(x):
            return (
                F.interpolate(x, scale_factor=2.0), F.interpolate(x, size=(9, 7), mode="bilinear", align_corners=True),
                F.interpolate(x, scale_factor=1.5, mode="bicubic"), F.interpolate(x, size=(3, 3), mode="nearest-exact"),
            )  # fmt: skip

        self.check(Function(f), torch.linspace(-1, 1, 72).reshape(2, 1, 6, 6))

    def test_control_flow(self):
        from cresset._higher_order_ops import map as each
        from cresset._higher_order_ops import scan, while_loop

        self.check(Function(lambda x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))), X)
        self.check(Function(lambda i, x: while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (i, x))), torch.tensor(0), X)
        self.check(Function(lambda x: each(lambda row: row.sin(), x)), X)
        self.check(Function(lambda x: scan(lambda c, row: (c + row, c * row), torch.ones(3), x)), X)

    def test_constants_and_stretches_without_gradients(self):
        def f(x):
            y = x.clone()
            y[0] = 5.0
            with torch.no_grad():
                z = y.sin()
            return y + z + torch.tensor([1.0, 2.0, 3.0])

        self.check(Function(f), X)


if __name__ == "__main__":
    unittest.main()
