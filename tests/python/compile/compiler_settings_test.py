"""Settings of the capture, from the program and the environment: each does what it says, or says that it does nothing."""

import contextlib
import io
import os
import subprocess
import sys
import unittest
import warnings

from cresset._dynamo.testing import CompileCounter

import cresset as torch

config = torch._dynamo.config
X = torch.ones(2)


def _num_graphs(function, *args, **options):
    torch._dynamo.reset()
    counter = CompileCounter()
    result = torch.compile(function, backend=counter, **options)(*args)
    return counter.frame_count, result


class _OwnOperators(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(torch.cos if func is torch.sin else func, types, args, kwargs or {})


class Functions(unittest.TestCase):
    def setUp(self):
        self.addCleanup(torch._dynamo.reset)

    def test_a_function_of_the_package_is_kept_out_of_graphs(self):
        for function in (torch.sub, torch.nn.functional.relu, torch.ops.aten.tanh.default):
            self.assertIs(torch._dynamo.disallow_in_graph(function), function)
            try:
                call = (lambda x, f=function: f(x + 1, 1) + 1) if function is torch.sub else (lambda x, f=function: f(x + 1) + 1)
                found, result = _num_graphs(call, X)
                self.assertEqual(found, 2)
                torch.testing.assert_close(result, call(X))
                with self.assertRaisesRegex(torch._dynamo.exc.Unsupported, "disallow_in_graph"):
                    _num_graphs(call, X, fullgraph=True)
            finally:
                self.assertIs(torch._dynamo.allow_in_graph(function), function)
            self.assertEqual(_num_graphs(call, X, fullgraph=True)[0], 1)

    def test_lists_of_functions_are_kept_out(self):
        functions = [torch.sub, torch.cos]
        self.assertEqual(torch._dynamo.disallow_in_graph(functions), functions)
        self.addCleanup(torch._dynamo.allow_in_graph, functions)
        self.assertEqual(_num_graphs(lambda x: torch.cos(torch.sub(x + 1, 1) * 2) * 2, X)[0], 3)

    def test_functions_of_the_program_are_for_disable(self):
        for wrong in (lambda x: x, len, torch.nn.ReLU):
            with self.assertRaisesRegex(RuntimeError, "disable"):
                torch._dynamo.disallow_in_graph(wrong)
        with self.assertRaises(AssertionError):
            torch._dynamo.disallow_in_graph(3)


class Settings(unittest.TestCase):
    def setUp(self):
        self.addCleanup(torch._dynamo.reset)

    def test_a_marked_dimension_may_be_one_size(self):
        def program(x):
            return x.view(3)

        x = torch.ones(3)
        torch._dynamo.mark_dynamic(x, 0)
        with self.assertRaises(torch.fx.experimental.symbolic_shapes.ConstraintViolationError):
            _num_graphs(program, x)
        with config.patch(allow_ignore_mark_dynamic=True):
            self.assertEqual(_num_graphs(program, x)[0], 1)

    def test_frames_without_operators(self):
        self.assertEqual(_num_graphs(lambda x: x, X)[0], 0)
        with config.patch(allow_empty_graphs=True):
            found, result = _num_graphs(lambda x: x, X)
            self.assertEqual(found, 1)
            self.assertIs(result, X)

    def test_classes_of_tensors(self):
        for names, wanted in (({}, 0), ({"traceable_tensor_subclasses": {_OwnOperators}}, 1), ({"nontraceable_tensor_subclasses": {_OwnOperators}}, 0)):
            with config.patch(names):
                found, result = _num_graphs(lambda x: torch.sin(x) + 1, X.as_subclass(_OwnOperators))
            self.assertEqual(found, wanted)
            self.assertIs(type(result), _OwnOperators)
            torch.testing.assert_close(result.as_subclass(torch.Tensor), X.cos() + 1)

    def test_parameters_of_open_sizes(self):
        def sizes(static):
            torch._dynamo.reset()
            counter = CompileCounter()
            with config.patch(force_parameter_static_shapes=static):
                compiled = torch.compile(lambda p: p * 2, backend=counter, dynamic=True)
                for n in (3, 4, 5):
                    compiled(torch.nn.Parameter(torch.ones(n)))
            return counter.frame_count

        self.assertEqual((sizes(True), sizes(False)), (3, 1))

    def test_calls_that_wait_for_the_graph(self):
        def program(x, told):
            print("first", x.shape[0], sep="-")
            x = x + 1
            print(x, told)
            return x * 2

        with config.patch(reorderable_logging_functions={print}):
            torch._dynamo.reset()
            counter = CompileCounter()
            compiled = torch.compile(program, backend=counter, fullgraph=True)
            for _ in range(2):
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    torch.testing.assert_close(compiled(X, [7]), torch.full((2,), 4.0))
                self.assertEqual(out.getvalue(), "first-2\ntensor([2., 2.]) [7]\n")
        self.assertEqual(counter.frame_count, 1)

    def test_what_has_no_effect_says_so(self):
        for name in ("compiled_autograd", "optimize_ddp", "guard_nn_modules", "dynamic_shapes", "caching_precompile"):
            with self.assertWarnsRegex(UserWarning, name), config.patch({name: not getattr(config, name)}):
                pass
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            config.optimize_ddp = True
        with self.assertRaisesRegex(AttributeError, "no_such"):
            config.no_such = 1


_PROGRAM = """
import cresset as torch
graphs = []
def backend(module, examples):
    graphs.append(module)
    return module.forward
def f(x):
    return x + 1
compiled = torch.compile(f, backend=backend)
compiled(torch.ones(1))
torch._dynamo.optimize(backend)(lambda x: x * 2)(torch.ones(1))
config = torch._dynamo.config
print(len(graphs), compiled is f, config.disable, config.suppress_errors, config.capture_scalar_outputs, config.capture_dynamic_output_shape_ops)
"""


class Environment(unittest.TestCase):
    def found(self, **names):
        env = {name: value for name, value in os.environ.items() if not name.startswith(("TORCHDYNAMO", "TORCH_COMPILE"))}
        ran = subprocess.run([sys.executable, "-c", _PROGRAM], env=env | names, capture_output=True, text=True, check=True)
        return ran.stdout.split()

    def test_names_in_the_environment(self):
        no, yes = "False", "True"
        for name, value, wanted in (
            ("TORCHDYNAMO_DISABLE", "1", ["0", yes, no, no, no, no]),
            ("TORCHDYNAMO_DISABLE", "0", ["2", no, no, no, no, no]),
            ("TORCH_COMPILE_DISABLE", "1", ["0", no, yes, no, no, no]),
            ("TORCH_COMPILE_DISABLE", "0", ["2", no, no, no, no, no]),
            ("TORCHDYNAMO_SUPPRESS_ERRORS", "1", ["2", no, no, yes, no, no]),
            ("TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS", "1", ["2", no, no, no, yes, no]),
            ("TORCHDYNAMO_CAPTURE_DYNAMIC_OUTPUT_SHAPE_OPS", "1", ["2", no, no, no, no, yes]),
        ):
            with self.subTest(name=name, value=value):
                self.assertEqual(self.found(**{name: value}), wanted)


if __name__ == "__main__":
    unittest.main()
