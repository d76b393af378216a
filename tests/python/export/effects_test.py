"""Calls with effects in graphs: what programs print of their graphs, signatures and calls is what they print with PyTorch."""

import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

from cresset.export import export, load, save

import cresset as torch
from cresset import nn
from cresset.graph import load_program

from .effect_programs import PROGRAMS, answers

DATA = pathlib.Path(__file__).parents[2] / "graph/data"


def _recorded():
    found, lines = {}, None
    for line in pathlib.Path(__file__).with_name("effects.txt").read_text().splitlines():
        if line.startswith("## "):
            lines = found[line[3:]] = []
        else:
            lines.append(line)
    return found


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        was_installed = torch.compat.is_installed()
        torch.compat.install()
        cls.addClassCleanup(logging.disable, logging.root.manager.disable)
        logging.disable(logging.CRITICAL)
        if not was_installed:
            cls.addClassCleanup(torch.compat.uninstall)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cls.answers = answers(torch, PROGRAMS)

    def test_programs_are_recorded(self):
        self.assertEqual(list(PROGRAMS), list(_recorded()))


def _test(name, expected):
    def test(self):
        self.maxDiff = None
        self.assertEqual([line for text in self.answers[name] for line in text.split("\n")], expected)

    return test


# Programs whose answers differ from PyTorch's, and why.
DIFFERENT = {"an argument that is written": "a program that is decomposed again has no copy of what is written"}

for _name, _expected in _recorded().items():
    if _name in DIFFERENT:
        continue
    setattr(Programs, "test_" + "".join(c if c.isalnum() else "_" for c in _name), _test(_name, _expected))


class Printing(nn.Module):
    def forward(self, x):
        torch.ops.aten._print("before")
        y = x.sin()
        torch.ops.aten._print("after")
        return y


def printed(text):
    """The lines that a program prints, in C++ too."""
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout


class Prints(unittest.TestCase):
    def test_a_file_that_pytorch_wrote(self):
        self.assertEqual(printed(f"import cresset as torch\ntorch.export.load({str(DATA / 'printing.pt2')!r}).module()(torch.ones(2))"), "before\nafter\n")

    def test_both_readers_print_what_a_file_says_and_capture_prints_nothing(self):
        program = export(Printing(), (torch.ones(2),)).run_decompositions()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.pt2")
            save(program, path)
            self.assertTrue(torch.equal(load_program(path)(torch.ones(2)), torch.ones(2).sin()))
            text = f"import cresset as torch\nfor m in torch.export.load({path!r}).module(), torch.graph.load_program({path!r}): m(torch.ones(2))"
            self.assertEqual(printed(text), "before\nafter\n" * 2)
            self.assertEqual(load(path).graph_signature.input_tokens, ("token",))

    def test_a_preserved_signature_names_the_call(self):
        op = torch.library.custom_op("effects_test::kept", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
        op.register_fake(torch.empty_like)
        op.register_effect(torch.library.EffectType.ORDERED)

        class Inner(nn.Module):
            def forward(self, x):
                return op(x)

        module = nn.Sequential(Inner(), nn.ReLU())
        program = export(module, (torch.ones(2),), preserve_module_call_signature=("0",)).run_decompositions()
        self.assertEqual(getattr(torch.export.unflatten(program), "0")(torch.ones(2)).tolist(), [1.0, 1.0])


if __name__ == "__main__":
    unittest.main()
