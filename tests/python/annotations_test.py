"""Programs' calls of absent compilers, and the version that they are told."""

import importlib
import subprocess
import sys
import unittest
from typing import Optional, Union

from cresset.torch_version import TorchVersion

import cresset as torch


class Annotations(unittest.TestCase):
    def test_nothing_is_being_compiled(self):
        for asked in (
            torch.jit.is_scripting,
            torch.jit.is_tracing,
            torch.compiler.is_compiling,
            torch.compiler.is_dynamo_compiling,
            torch.compiler.is_exporting,
        ):
            self.assertIs(asked(), False)
        self.assertIsNone(torch._C._get_tracing_state())

    def test_functions_are_left_as_they_are(self):
        def f(x):
            return x + 1

        for mark in (torch.jit.export, torch.jit.unused, torch.jit.ignore, torch.jit.ignore(drop=True),
                     torch.compiler.disable(recursive=False), torch.compiler.allow_in_graph, torch.compiler.assume_constant_result, torch.compiler.nested_compile_region()):  # fmt: skip
            self.assertIs(mark(f), f)
        self.assertEqual(torch.compiler.allow_in_graph([f, abs]), [f, abs])
        self.assertEqual(torch.jit.annotate(list[int], [1]), [1])

    def test_classes_that_take_no_call_over(self):
        class Plain(torch.Tensor):
            __torch_function__ = torch._C._disabled_torch_function_impl

        made = torch.ones(2).as_subclass(Plain)
        self.assertIs(type(made + 1), torch.Tensor)
        self.assertEqual(type(torch.ones(2).as_subclass(type("Kept", (torch.Tensor,), {})) + 1).__name__, "Kept")

    def test_nothing_is_being_traced(self):
        self.assertNotIsInstance(torch.ones(1), torch.fx.Proxy)

    def test_what_is_no_function(self):
        for error, mark in ((RuntimeError, torch.jit.ignore), (AssertionError, torch.compiler.disable), (AssertionError, torch.compiler.allow_in_graph), (RuntimeError, torch.fx.wrap),
                            (TypeError, torch.jit.script), (RuntimeError, torch.jit.interface)):  # fmt: skip
            with self.assertRaisesRegex(error, "expected.*3|expected.*int"):
                mark(3)

    def test_scripted_functions_run(self):
        @torch.jit.script
        def scaled(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
            "Times a number."
            return x * by

        class Layer(torch.nn.Module):
            apply_scale = scaled

            def forward(self, x):
                return scaled(x, by=3.0)

        self.assertEqual((scaled(torch.ones(1)).item(), scaled.name, scaled.__doc__), (2.0, "scaled", "Times a number."))
        layer = Layer()
        self.assertEqual((layer(torch.ones(1)).item(), torch.jit.script(layer)(torch.ones(1)).item()), (3.0, 3.0))
        self.assertIs(torch.jit.script(scaled), scaled)
        self.assertIn("aten::mul", str(scaled.graph))
        with self.assertWarnsRegex(UserWarning, "example_inputs"):
            torch.jit.script(scaled, example_inputs=[(torch.ones(1),)])

    def test_types_of_values(self):
        cases = [([1, 2], list[int], True), ([1, "a"], list[int], False), ({"a": 1}, dict[str, int], True), ({"a": "b"}, dict[str, int], False), ((1, "a"), tuple[int, str], True),
                 ((1,), tuple[int, str], False), ((1, 2, 3), tuple[int, ...], True), (None, Optional[int], True), ("a", Union[int, str], True), (1.0, Union[int, str], False),
                 ([[1]], list[list[int]], True), (1, (str, int), True), (torch.ones(1), torch.Tensor, True)]  # fmt: skip
        for value, kind, expected in cases:
            with self.subTest(value=value, kind=kind):
                self.assertIs(torch.jit.isinstance(value, kind), expected)
        with self.assertRaisesRegex(RuntimeError, "a type with its arguments"):
            torch.jit.isinstance([1], list)

    def test_forked_calls(self):
        self.assertEqual(torch.jit.wait(torch.jit.fork(lambda a, b=0: a - b, 3, b=1)), 2)
        with self.assertRaises(ZeroDivisionError):
            torch.jit.fork(lambda: 1 / 0)


class Versions(unittest.TestCase):
    def test_order(self):
        rising = ["1.9", "2.0.0.dev1", "2.0a1", "2.0rc1", "2.0.0", "2.0.0+cu118", "2.0.0.post1", "2.1", "2.13.0", "10.0"]
        for i, a in enumerate(rising):
            for j, b in enumerate(rising):
                left = TorchVersion(a)
                self.assertEqual((left < b, left <= b, left == b, left != b, left > b, left >= b), (i < j, i <= j, i == j, i != j, i > j, i >= j), (a, b))
        self.assertTrue(TorchVersion("2.13.0") >= (2, 13) and TorchVersion("2.13.0") == "2.13" and TorchVersion("2.13.0") > (2, "9"))
        self.assertEqual(TorchVersion("2.1") == "parrot", False)
        self.assertEqual(TorchVersion("2.1").split("."), ["2", "1"])

    def test_programs_under_the_alias_are_told_of_pytorch(self):
        program = "import importlib.metadata, torch; print(torch.__version__ >= (2, 13), torch.__version__.split('+')[0], importlib.metadata.version('torch'))"
        told = subprocess.run([sys.executable, "-m", "cresset", "-c", program], capture_output=True, text=True, check=True).stdout.split()
        own = torch.__version__
        self.assertEqual(told, ["True", "2.13.0", f"2.13.0+cresset.{own}"])
        torch.compat.install()
        try:
            self.assertEqual((torch.__version__, torch.version.__version__, torch.__name__), (f"2.13.0+cresset.{own}",) * 2 + ("torch",))
            self.assertIs(torch.signal, importlib.import_module("torch.signal"))
        finally:
            torch.compat.uninstall()
        self.assertEqual((torch.__version__, torch.version.__version__, torch.__name__), (own, own, "cresset"))


if __name__ == "__main__":
    unittest.main()
