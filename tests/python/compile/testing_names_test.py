"""Names of `torch._dynamo` that test suites of other libraries use."""

import copy
import unittest
import unittest.mock
from typing import List  # noqa: UP035  the spelling that programs have

import cresset._dynamo.test_case
import cresset._dynamo.testing as testing
import cresset._dynamo.utils as utils

import cresset as torch
from cresset import nn


class Testing(unittest.TestCase):
    def test_standard_test(self):
        testing.standard_test(self, lambda a, b: a * b + 1, 2, expected_ops=2)
        with self.assertRaises(AssertionError):
            testing.standard_test(self, lambda a, b: a * b + 1, 2, expected_ops=3)

    def test_unsupported_breaks(self):
        counter = testing.CompileCounter()
        f = torch.compile(lambda a, b: testing.unsupported(a + 1, b + 1) * 2, backend=counter)
        self.assertEqual(f(torch.ones(1), torch.ones(1)).item(), 4)
        self.assertEqual(counter.frame_count, 2)

    def test_graphs_of_forward_and_backward(self):
        backend = testing.AotEagerAndRecordGraphs()
        x = torch.ones(3, requires_grad=True)
        torch.compile(lambda x: x.sin().sum(), backend=backend)(x).backward()
        self.assertEqual([len(graphs) for graphs in (backend.graphs, backend.fw_graphs, backend.bw_graphs)], [1, 1, 1])
        self.assertEqual(x.grad.tolist(), torch.ones(3).cos().tolist())

    def test_text_of_graphs(self):
        self.assertEqual(testing.normalize_gm("def f():  # why\n\n\n    return 1  \n"), "def f():\n    return 1\n")

    def test_results_of_a_step(self):
        model, x = nn.Linear(2, 1), torch.ones(1, 2, requires_grad=True)
        out = model(x)
        loss = testing.reduce_to_scalar_loss({"a": out, "b": [out, out]})
        loss.backward()
        self.assertAlmostEqual(loss.item(), out.item(), places=6)
        found = testing.collect_results(model, out, loss, [x])
        self.assertEqual(list(found[2]), ["weight.grad", "bias.grad"])
        self.assertTrue(testing.requires_bwd_pass([out]) and not testing.requires_bwd_pass([1, out.detach()]))

    def test_classes_with_settings_changed(self):
        class Plain(unittest.TestCase):
            def test_sizes(self):
                self.assertFalse(torch._dynamo.config.assume_static_by_default)

        made = testing.make_test_cls_with_patches(Plain, "Dynamic", "_dynamic", (torch._dynamo.config, "assume_static_by_default", False))
        self.assertEqual(made.__name__, "DynamicPlain")
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(made)
        result = suite.run(unittest.TestResult())
        self.assertEqual((result.testsRun, result.wasSuccessful()), (1, True))


class Utils(unittest.TestCase):
    def test_same(self):
        one, two = torch.ones(2), torch.full((2,), 2.0)
        for a, b, expected in (
            (one, one + 1e-6, True),
            (one, two, False),
            (one, one.double(), False),
            ([one, {"k": two}], [one, {"k": two}], True),
            ([one], [one, one], False),
            ({"a": one}, {"b": one}, False),
            (1, 1, True),
            (1, 2, False),
            (1.0, 1.0 + 1e-6, True),
            ("a", "b", False),
            (None, None, True),
            (torch.tensor([1]), torch.tensor([2]), False),
            (torch.tensor(float("nan")), torch.tensor(float("nan")), False),
        ):
            self.assertEqual(utils.same(a, b), expected, (a, b))
        self.assertTrue(utils.same(torch.tensor(float("nan")), torch.tensor(float("nan")), equal_nan=True))
        self.assertTrue(utils.same(one, one.double(), exact_dtype=False))

    def test_same_by_a_result_in_double_precision(self):
        exact = torch.tensor([1.0, 2.0], dtype=torch.float64)
        self.assertTrue(utils.same(torch.tensor([1.01, 2.0]), torch.tensor([0.99, 2.0]), fp64_ref=exact))
        self.assertFalse(utils.same(torch.tensor([1.01, 2.0]), torch.tensor([0.9, 2.0]), fp64_ref=exact))

    def test_copies(self):
        x = torch.ones(2, requires_grad=True)
        x.sum().backward()
        made = utils.clone_inputs([x, 1])
        self.assertEqual((made[0].requires_grad, made[0].grad.tolist(), made[1]), (True, [1, 1], 1))
        self.assertIsNot(made[0], x)

    def test_random_numbers_stay(self):
        torch.manual_seed(0)
        expected = torch.rand(1).item()
        torch.manual_seed(0)
        with utils.preserve_rng_state():
            torch.rand(5)
        self.assertEqual(torch.rand(1).item(), expected)


class Settings(unittest.TestCase):
    def test_the_older_name_of_the_limit_is_the_limit(self):
        config = torch._dynamo.config
        with config.patch(cache_size_limit=2):
            self.assertEqual(config.recompile_limit, 2)
        with unittest.mock.patch.object(config, "cache_size_limit", 4):
            self.assertEqual(config.recompile_limit, 4)
        self.assertEqual(config.recompile_limit, 8)
        with config.patch("recompile_limit", 3):
            self.assertEqual(config.cache_size_limit, 3)

    def test_an_error_on_recompilation(self):
        f = torch.compile(lambda x: x + 1, backend="eager", dynamic=False)
        with torch._dynamo.config.patch(error_on_recompile=True):
            f(torch.ones(2))
            f(torch.ones(2))
            with self.assertRaises(torch._dynamo.exc.RecompileError):
                f(torch.ones(3))

    def test_a_class_of_tests_with_settings_changed(self):
        @torch._dynamo.config.patch(recompile_limit=5)
        class Tests(torch._dynamo.test_case.TestCase):
            def test_limit(self):
                self.assertEqual(torch._dynamo.config.recompile_limit, 5)

        result = unittest.defaultTestLoader.loadTestsFromTestCase(Tests).run(unittest.TestResult())
        self.assertEqual((result.testsRun, result.wasSuccessful()), (1, True))
        self.assertEqual(torch._dynamo.config.recompile_limit, 8)
        with self.assertRaises(TypeError):
            torch._dynamo.config.patch(recompile_limit=5)(int)


class Scale(nn.Module):
    def __init__(self, by=2.0):
        super().__init__()
        self.by = by

    def forward(self, x):
        return x * self.by


class Reversed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])

    def forward(self, x):
        for layer in self.layers[::-1]:
            x = layer(x)
        return x


class Fallback(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.full((2,), 3.0))

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "other":
                return self.a
            raise

    def forward(self, x):
        return x * self.a * self.other


class WholeGraphs(unittest.TestCase):
    def check(self, f, *args):
        self.assertEqual(torch.compile(f, backend="eager", fullgraph=True)(*args).tolist(), f(*args).tolist())

    def test_modules_that_are_made_within(self):
        self.check(lambda x: nn.Sequential(Scale(3.0), nn.GELU())(x), torch.ones(2))
        self.check(Reversed(), torch.ones(2))

    def test_a_module_that_leaves(self):
        y, made = torch.compile(lambda x: (x + 1, Scale()), backend="eager")(torch.ones(1))
        self.assertEqual((y.item(), made.by), (2, 2.0))

    def test_look_up_of_a_module_before_the_program_s(self):
        self.check(Fallback(), torch.ones(2))

    def test_annotations(self):
        def f(x):
            def double(values: List[torch.Tensor]):  # noqa: UP006
                return [v * 2 for v in values]

            return double([x])[0]

        self.check(f, torch.ones(2))

    def test_scripted_functions_are_nodes(self):
        @torch.jit.script
        def scripted(a, b):
            return a + b

        for backend in ("eager", "aot_eager", "inductor"):
            f = torch.compile(lambda a, b: scripted(a, b) + 1, backend=backend, fullgraph=True)
            self.assertEqual(f(torch.ones(1), torch.ones(1)).item(), 3)

    def test_keywords_and_classes_in_the_code_of_graphs(self):
        drawn = torch.compile(lambda x: x.uniform_(**{"from": 2.0, "to": 3.0}), backend="eager")(torch.ones(8))
        self.assertTrue(bool(((drawn >= 2) & (drawn <= 3)).all()))
        self.check(lambda x: x.type(torch.DoubleTensor), torch.ones(2))


class Mode(unittest.TestCase):
    def test_a_compiled_module_is_in_the_mode_of_its_module(self):
        module = nn.Dropout()
        compiled = torch.compile(module, backend="eager")
        module.eval()
        self.assertFalse(compiled.training)
        compiled.train()
        self.assertTrue(module.training)
        compiled.training = False
        self.assertFalse(module.training or copy.deepcopy(compiled).training)


if __name__ == "__main__":
    unittest.main()
