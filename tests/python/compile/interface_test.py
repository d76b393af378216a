"""The interface of the compiler: backends, settings, decorators, stances."""

import copy
import operator
import os
import subprocess
import sys
import unittest

from cresset._dynamo.testing import CompileCounter
from cresset.fx.passes.utils.source_matcher_utils import check_subgraphs_connected, get_source_partitions

import cresset as torch
from cresset import nn

X = torch.linspace(-1, 1, 6).reshape(2, 3)


class Backends(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()

    def test_names(self):
        self.assertIn("inductor", torch.compiler.list_backends())
        self.assertLessEqual({"eager", "aot_eager"}, set(torch._dynamo.list_backends(exclude_tags=())))
        with self.assertRaisesRegex(torch._dynamo.exc.InvalidBackend, "no_such"):
            torch.compile(lambda x: x, backend="no_such")

    def test_devices_that_code_is_made_for(self):
        supported = torch._dynamo.utils.is_compile_supported
        self.assertTrue(supported("cpu") and supported(torch.device("cpu", 0)))
        self.assertFalse(supported("meta") or supported("cuda:1"))
        with self.assertRaisesRegex(RuntimeError, "no_such_device"):
            supported("no_such_device")

    def test_without_a_limit_of_compilations(self):
        counted = CompileCounter()
        compiled = torch.compile(lambda x, text: x + len(text), backend=counted)
        with torch._dynamo.utils.disable_cache_limit():
            for n in range(12):
                compiled(X, "a" * n)
        self.assertEqual(counted.frame_count, 12)
        self.assertEqual(torch._dynamo.config.recompile_limit, 8)

    def test_register(self):
        @torch._dynamo.register_backend
        def of_this_test(module, inputs):
            return module.forward

        self.assertTrue(torch.equal(torch.compile(lambda x: x + 1, backend="of_this_test")(X), X + 1))

    def test_a_backend_may_compute_something_else(self):
        self.assertTrue(torch.equal(torch.compile(lambda x: x + 1, backend=lambda module, inputs: lambda *a: [a[0] * 100])(X), X * 100))

    def test_options_reach_a_backend_that_is_a_function(self):
        got = {}

        def backend(module, inputs, options=None):
            got.update(options or {})
            return module.forward

        torch.compile(lambda x: x + 1, backend=backend, options={"k": 3})(X)
        self.assertEqual(got, {"k": 3})

    def test_errors_of_backends(self):
        def backend(module, inputs):
            raise ZeroDivisionError("in backend")

        compiled = torch.compile(lambda x: x + 1, backend=backend)
        with self.assertRaisesRegex(torch._dynamo.exc.BackendCompilerFailed, "in backend"):
            compiled(X)
        with torch._dynamo.config.patch(suppress_errors=True):
            self.assertTrue(torch.equal(compiled(X), X + 1))
        with self.assertRaises(torch._dynamo.exc.InvalidBackend):
            torch.compile(lambda x: x + 1, backend=lambda module, inputs: 3)(X)

    def test_an_interrupted_compilation_starts_again(self):
        calls = []

        def backend(module, inputs):
            calls.append(module)
            if len(calls) < 3:
                raise KeyboardInterrupt
            return module.forward

        compiled = torch.compile(lambda x: x + 1, backend=backend)
        for _ in range(2):
            with self.assertRaises(KeyboardInterrupt):
                compiled(X)
        for _ in range(2):
            self.assertTrue(torch.equal(compiled(X), X + 1))
        self.assertEqual(len(calls), 3)

    def test_an_interrupt_within_the_capture_leaves_no_mode(self):
        def interrupted(x):
            raise KeyboardInterrupt

        def f(x):
            return interrupted(x + 1) if stop else x + 1

        stop = True
        compiled = torch.compile(f)
        with self.assertRaises(KeyboardInterrupt):
            compiled(X)
        stop = False
        self.assertTrue(torch.equal(compiled(X), X + 1))
        self.assertIs(type(X + 1), torch.Tensor)
        self.assertTrue(torch.is_grad_enabled())

    def test_too_few_results(self):
        with self.assertRaises((IndexError, ValueError, RuntimeError)):
            torch.compile(lambda x: (x + 1, x + 2), backend=lambda module, inputs: lambda *a: (a[0],))(X)

    def test_compilers_of_forward_and_backward(self):
        seen = []

        def compiler(module, inputs):
            seen.append([str(n.target) for n in module.graph.nodes if n.op == "call_function"])
            return module.forward

        leaf = X.clone().requires_grad_()
        torch.compile(lambda x: x.sin().sum(), backend=torch._dynamo.backends.common.aot_autograd(fw_compiler=compiler))(leaf).backward()
        self.assertEqual(len(seen), 2)
        self.assertTrue(torch.equal(leaf.grad, X.cos()))


class Told(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.counter = CompileCounter()

    def test_disable(self):
        @torch.compiler.disable
        def g(x):
            return x * 2 if x.sum() > 0 else x

        self.assertTrue(torch.equal(torch.compile(lambda x: g(x + 1) - 1, backend=self.counter)(X), g(X + 1) - 1))
        self.assertEqual(self.counter.frame_count, 2)
        torch.compile(torch.compiler.disable(lambda x: x + 1), backend=self.counter)(X)  # what is asked for last holds
        self.assertEqual(self.counter.frame_count, 3)
        self.assertIs(torch.compile(g, disable=True), g)

    def test_allow_in_graph(self):
        @torch.compiler.allow_in_graph
        def helper(x):
            return x * 2 + 1

        torch.compile(lambda x: helper(x) + 1, backend=self.counter, fullgraph=True)(X)
        self.assertEqual(self.counter.op_count, 2)

    def test_constants_and_substitutes(self):
        @torch.compiler.assume_constant_result
        def seven():
            return int("7")

        @torch.compiler.substitute_in_graph(operator.indexOf, skip_signature_check=True)
        def index_of(a, b, /):
            return [i for i, v in enumerate(a) if v == b][0]

        out = torch.compile(lambda x: x * seven() + operator.indexOf([1, 2, 3], 3), backend="eager", fullgraph=True)(X)
        self.assertTrue(torch.equal(out, X * 7 + 2))

    def test_stances(self):
        compiled = torch.compile(lambda x: x + 1, backend=self.counter)
        with torch.compiler.set_stance("force_eager"):
            compiled(X)
        self.assertEqual(self.counter.frame_count, 0)
        compiled(X)
        with torch.compiler.set_stance("eager_on_recompile"):
            compiled(X.double())
        self.assertEqual(self.counter.frame_count, 1)
        with torch.compiler.set_stance("fail_on_recompile"), self.assertRaises(RuntimeError):
            compiled(X.double())
        self.assertRaises(RuntimeError, torch.compiler.set_stance, "none")

    def test_reset_and_run(self):
        compiled = torch.compile(lambda x: x + 1, backend=self.counter)
        compiled(X)
        torch.compiler.reset()
        compiled(X)
        self.assertEqual(self.counter.frame_count, 2)
        torch._dynamo.run(compiled)(X.double())
        self.assertEqual(self.counter.frame_count, 2)

    def test_settings_have_fixed_names(self):
        config = torch._dynamo.config
        self.assertRaises(AttributeError, setattr, config, "no_such_option", 1)
        with config.patch(suppress_errors=True):
            self.assertTrue(config.suppress_errors)
        self.assertFalse(config.suppress_errors)

    def test_settings_of_forward_and_backward(self):
        from cresset.functorch.compile import config

        self.assertIs(torch._functorch.config, config)
        self.assertRaises(AttributeError, setattr, config, "no_such_option", 1)
        with (
            self.assertWarnsRegex(UserWarning, "activation_memory_budget changes nothing here"),
            config.patch(donated_buffer=False, activation_memory_budget=0.5),
        ):
            x = torch.ones(2, requires_grad=True)
            y = torch.compile(lambda x: (x.sin() * x).sum())(x)
            y.backward(retain_graph=True)
            first, x.grad = x.grad, None
            y.backward()
        self.assertTrue(torch.equal(x.grad, first))
        self.assertTrue(config.donated_buffer)

    def test_modes_and_options(self):
        for arguments in ({"mode": "fastest"}, {"mode": "default", "options": {"max_autotune": True}}, {"options": {"no_such": 1}}):
            self.assertRaises(RuntimeError, torch.compile, lambda x: x, **arguments)
        for mode in ("default", "reduce-overhead", "max-autotune"):
            self.assertTrue(torch.equal(torch.compile(lambda x: x + 1, mode=mode)(X), X + 1))
        self.assertRaises(AssertionError, torch.compile, 3)

    def test_export(self):
        graph, guards = torch._dynamo.export(lambda x: x.sin() + 1)(X)
        self.assertTrue(torch.equal(graph(X), X.sin() + 1))
        self.assertTrue(guards)

    def test_export_serves_other_sizes(self):
        for operators in (False, True):
            graph, _ = torch._dynamo.export(lambda x: torch.ones(5 * x.shape[0]) + x.sum(), aten_graph=operators)(torch.randn(4, 5))
            self.assertEqual(graph(torch.ones(6, 5)).tolist(), [31.0] * 30)

    def test_export_notes_the_layers_and_functions_that_nodes_come_from(self):
        class Module(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.act, self.second = nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2)

            def forward(self, x):
                return nn.functional.relu(self.second(self.act(self.first(x))))

        for operators in (False, True):
            graph, _ = torch._dynamo.export(Module(), aten_graph=operators)(X)
            found = get_source_partitions(graph.graph, [nn.Linear, nn.ReLU, nn.functional.relu])
            self.assertEqual({source: len(parts) for source, parts in found.items()}, {nn.Linear: 2, nn.ReLU: 1, nn.functional.relu: 1})
            self.assertTrue(check_subgraphs_connected(found[nn.Linear][0], found[nn.ReLU][0]))
            self.assertFalse(check_subgraphs_connected(found[nn.ReLU][0], found[nn.functional.relu][0]))

    def test_copies_of_compiled_modules(self):
        compiled = torch.compile(nn.Linear(3, 2), backend="eager")
        again = copy.deepcopy(compiled)
        self.assertTrue(torch.equal(again(X), compiled(X)))
        self.assertEqual(list(again.state_dict()), list(compiled.state_dict()))

    def test_logs(self):
        program = "import cresset as torch\ntorch.compile(lambda x: (x + 1, print('p')), backend='eager')(torch.ones(1))"
        environment = {**os.environ, "TORCH_LOGS": "graph_breaks,graph_code,guards"}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        for words in ("graph_breaks] ", "a call of print", "graph_code] ", "guards] ", "is a tensor of sizes [1]"):
            self.assertIn(words, done.stderr)

    def test_threads(self):
        import threading

        compiled, wrong = torch.compile(lambda x, k: x * k, backend="eager"), []

        def work(k):
            for _ in range(200):
                if not torch.equal(compiled(X, k), X * k):
                    wrong.append(k)

        workers = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
