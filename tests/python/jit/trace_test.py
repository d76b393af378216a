"""torch.jit.trace: calls that are written down, and what is said where they cannot be."""

import io
import subprocess
import sys
import unittest
import warnings

import cresset as torch
from cresset import nn

X = torch.linspace(-1, 1, 6).reshape(2, 3)


def again(compiled):
    file = io.BytesIO()
    torch.jit.save(compiled, file)
    file.seek(0)
    return torch.jit.load(file)


ALONE = """
import cresset as torch
loc, scale = torch.zeros(3), torch.ones(3)
transform = torch.distributions.AffineTransform(loc, scale)
print(torch.jit.trace(lambda x: transform(x), (torch.ones(3),), check_trace=False)(torch.full((3,), 2.0)).tolist())
"""


class Traces(unittest.TestCase):
    def test_modules_are_called_on_the_side(self):
        class Part(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.full((1,), 2.0))

            def forward(self, x):
                return torch.relu(x) * self.weight, torch.neg(x)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList([Part(), torch.jit.script(Part())])

            def forward(self, x):
                futures = [torch.jit.fork(part, x) for part in self.parts]
                return torch.stack([torch.jit.wait(f)[i] for i, f in enumerate(futures)])

        traced = torch.jit.trace(Net(), (X,))
        for program in (traced, again(traced)):
            self.assertEqual(program(X * 2).tolist(), Net()(X * 2).tolist())
        self.assertEqual(str(traced.graph).count("prim::fork_"), 4)

    def test_futures_go_through_calls_of_modules(self):
        class Makes(nn.Module):
            def forward(self, x):
                return x, [torch.jit.fork(torch.neg, x), torch.jit.fork(torch.exp, x)]

        class Waits(nn.Module):
            def forward(self, future, y):
                return future.wait() + y

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.makes, self.waits = Makes(), Waits()

            def forward(self, x):
                y, futures = self.makes(x)
                return self.waits(futures[0], y) * futures[1].wait()

        traced = torch.jit.trace(Net(), (X,))
        for program in (traced, again(traced)):
            self.assertEqual(program(X * 2).tolist(), Net()(X * 2).tolist())

    def test_numbers_of_elements_are_results(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            traced = torch.jit.trace(lambda x: x.numel() * 2, (X,))
        self.assertTrue(traced(torch.ones(4, 5)).equal(torch.tensor(40)))

    def test_compiled_functions_are_traced(self):
        @torch.jit.script
        def scaled(x, by: float = 3.0):
            return x * by

        traced = torch.jit.trace(scaled, (X,))
        self.assertEqual(len(list(traced.graph.inputs())), 1)
        self.assertTrue(traced(X * 2).equal(X * 6))

    def test_exported_methods_are_compiled(self):
        class Part(nn.Module):
            def __init__(self):
                super().__init__()
                self.count = 3

            def forward(self, x):
                return x + self.count

            @torch.jit.export
            def counted(self, n: int) -> int:
                return self.count + n if n > 0 else self.helper()

            def helper(self) -> int:
                return -self.count

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = Part()

            def forward(self, x):
                return self.part(x)

        traced = torch.jit.trace(Net(), (X,))
        for program in (traced, again(traced)):
            self.assertTrue(program(X).equal(X + 3))
            self.assertEqual((program.part.counted(2), program.part.counted(0)), (5, -3))

    def test_tensors_that_stand_for_numbers_are_followed(self):
        programs = [
            lambda x, k: x.topk(k, dim=0)[0], lambda x, k: x.select(0, k), lambda x, k: torch.roll(x, k), lambda x, k: x[k:], lambda x, k: x[:k, None],
            lambda x, k: x.view(k, -1), lambda x, k: torch.zeros(k), lambda x, k: torch.arange(1, k), lambda x, k: torch.full((2,), k), lambda x, k: x[k],
            lambda x, k: x.add(k, alpha=2), lambda x, k: torch.stack([k, k], 0) * 2, lambda x, k: x.sum(0) + k, lambda x, k: x.reshape(2, k + 1),
        ]  # fmt: skip
        x, y = torch.arange(6.0), torch.arange(6.0).exp()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for index, program in enumerate(programs):
                traced = torch.jit.trace(program, (x, torch.tensor(2)))
                with self.subTest(index=index):
                    k = torch.tensor(2 if index == 13 else 3)
                    self.assertTrue(traced(y, k).equal(program(y, k)))

    def test_floats_and_arguments_of_functions_are_followed(self):
        def constant(x, k):
            n = int(k)
            return x.sum(n) if n > 5 else x + n

        F = nn.functional
        programs = [
            (lambda x, k: torch.full((2,), k), 2.5, 3.5), (lambda x, k: F.leaky_relu(-x, k), 0.5, 0.25), (lambda x, k: x.add(1, alpha=k), 0.5, 0.25),
            (lambda x, k: F.pad(x, (k, 0)), 1, 2), (lambda x, k: F.interpolate(x[None, None], size=k), 4, 7), (lambda x, k: x.select(0, k), 0, 1),
            (lambda x, k: F.cross_entropy(x[None], k[None]), 1, 2), (lambda x, k: F.softmax(x.view(2, 3), 1) * k, 1, 2),
        ]  # fmt: skip
        for index, (program, example, given) in enumerate(programs):
            with self.subTest(index=index):
                traced = torch.jit.trace(program, (torch.arange(6.0), torch.tensor(example)))
                self.assertTrue(traced(torch.arange(6.0).exp(), torch.tensor(given)).allclose(program(torch.arange(6.0).exp(), torch.tensor(given))))
        with self.assertWarns(torch.jit.TracerWarning):
            traced = torch.jit.trace(constant, (X, torch.tensor(2)))
        self.assertTrue(traced(X, torch.tensor(3)).equal(X + 2))

    def test_methods_of_modules_are_traced_by_their_names(self):
        class Net(nn.Module):
            def other(self, x):
                return x

        with self.assertRaisesRegex(AttributeError, "trace_module"):
            torch.jit.trace(Net().other, (X,))

    def test_a_trace_is_the_first_use_of_the_compiler(self):
        run = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True)
        self.assertEqual((run.stdout, run.stderr), ("[2.0, 2.0, 2.0]\n", ""))

    def test_numbers_of_distributions_are_tensors(self):
        D = torch.distributions
        x = torch.linspace(0.1, 0.9, 3, dtype=torch.float64)
        for of_values in (D.AffineTransform(1, 2), D.AffineTransform(0.1, 2.0), D.PowerTransform(2), D.Gumbel(0, 1).cdf, D.Weibull(1, 1).log_prob):
            traced = torch.jit.trace(lambda v, f=of_values: f(v), (x,))
            for one in (traced, again(traced)):
                self.assertTrue(torch.equal(one(x / 2), of_values(x / 2)))
            self.assertEqual(traced(x.float()).dtype, torch.float32)

    def test_sizes_stay_questions(self):
        t = torch.jit.trace(lambda x: x.reshape(x.shape[0], -1) + x.size(0), (X,))
        for one in (t, again(t)):
            self.assertTrue(torch.equal(one(torch.ones(5, 3)), torch.full((5, 3), 6.0)))

    def test_branches_are_those_of_the_example_with_a_warning(self):
        def f(x):
            if x.sum() > 0:
                return x + 1
            return x - 1

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            t = torch.jit.trace(f, (X + 1,))
        self.assertTrue(any(issubclass(w.category, torch.jit.TracerWarning) for w in caught))
        self.assertTrue(torch.allclose(t(X - 2), X - 1))

    def test_compiled_parts_keep_their_branches(self):
        @torch.jit.script
        def branch(x: torch.Tensor) -> torch.Tensor:
            return x + 1 if bool(x.sum() > 0) else x - 1

        t = torch.jit.trace(lambda x: branch(x) * 2, (X + 1,))
        self.assertTrue(torch.allclose(t(X - 2), (X - 3) * 2))

    def test_parts_of_what_compiled_functions_return_are_followed(self):
        @torch.jit.script
        def lists(x):
            return [[x + 1, x - 1], [x + 2, x - 2]]

        @torch.jit.script
        def tuples(x):
            return ([x + 1, x - 1], x)

        @torch.jit.script
        def dicts(x):
            return {"a": (x + 1, [x * 3])}

        @torch.jit.script
        def number(x):
            return x.size(0)

        other = torch.rand(4, 5)
        for program in (lambda x: lists(x)[1][0], lambda x: tuples(x)[0][1], lambda x: dicts(x)["a"][1][0], lambda x: (lists(x)[0][1], dicts(x)["a"][0])):
            traced = torch.jit.trace(program, X)
            for one in (traced, again(traced)):
                torch.testing.assert_close(one(other), program(other))
        with self.assertRaisesRegex(RuntimeError, "returned int 2"):
            torch.jit.trace(lambda x: x + number(x), X)

    def test_modules_keep_their_parts(self):
        m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        t = torch.jit.trace(m, (X,))
        self.assertEqual(list(t.state_dict()), list(m.state_dict()))
        self.assertIs(t.get_parameter("0.weight"), m[0].weight)
        self.assertTrue(torch.allclose(again(t)(torch.ones(5, 3)), m(torch.ones(5, 3))))

    def test_what_changes_from_call_to_call_is_found(self):
        state = [0]

        def f(x):
            state[0] += 1
            return x + state[0]

        with self.assertRaisesRegex(torch.jit.TracingCheckError, "sanity"):
            torch.jit.trace(f, (X,))

    def test_lists_are_results_with_a_warning(self):
        with self.assertWarnsRegex(torch.jit.TracerWarning, "a list, whose length"):
            traced = torch.jit.trace(lambda x: [x, x + 1], (X,))
        self.assertTrue(torch.equal(traced(X * 2)[1], X * 2 + 1))

    def test_results_are_tensors(self):
        with self.assertRaisesRegex(RuntimeError, "strict"):
            torch.jit.trace(lambda x: {"a": x}, (X,))
        with self.assertRaisesRegex(RuntimeError, "outputs are tensors"):
            torch.jit.trace(lambda x: "text", (X,))
        w = torch.ones(3, requires_grad=True)
        with self.assertRaisesRegex(RuntimeError, "requires grad"):
            torch.jit.trace(lambda x: x * w, (X,))

    def test_sizes_within_indices_stay_questions(self):
        def parts(x):
            return [x[: x.size(0) - i, i : x.size(2), i:3] for i in range(3)]

        def chosen(x):
            return x[:, 1:, x.size(2) - 5] + x.select(2, x.size(2) - 5)[:, 1:], x[-x.size(0) :]

        def written(x):
            y = x.clone()
            y[: x.size(0) - 1] = 0
            y[x.shape[0] - 1, ..., None] = x.new_ones(())
            return y

        other = torch.arange(7 * 4 * 9.0).reshape(7, 4, 9)
        for f in (parts, chosen, written):
            traced = torch.jit.trace(lambda x, f=f: tuple(f(x)) if f is not written else f(x), (torch.randn(5, 6, 7),))
            for got, expected in zip(again(traced)(other), f(other), strict=True):
                self.assertTrue(torch.equal(got, expected))

    def test_bounds_that_are_whole_in_the_example_stay_bounds(self):
        other = torch.rand(4, 5)
        for program in (lambda x: x[0:2, 0] + 1, lambda x: x[:2], lambda x: x[:, :3], lambda x: x[0:2, 0:3], lambda x: x[:]):
            torch.testing.assert_close(torch.jit.trace(program, X)(other), program(other))

    def test_hooks_of_the_module_itself_run(self):
        class Twice(nn.Module):
            def forward(self, x):
                return x + x

        def changes(module, inputs, output):
            inputs[0].add_(1)
            return output - 3

        module = Twice()
        module.register_forward_hook(changes)
        module.register_forward_pre_hook(lambda module, inputs: inputs[0] * 2)
        traced = torch.jit.trace(module, (torch.ones(2),))
        self.assertEqual(traced(torch.full((2,), 4.0)).tolist(), module(torch.full((2,), 4.0)).tolist())

    def test_generators_are_made_again(self):
        def noise(x):
            g = torch.Generator().manual_seed(3)
            a = torch.rand(2, generator=g) + torch.rand(2, generator=g)
            return x + a + torch.rand(2, generator=g.manual_seed(3))

        traced = torch.jit.trace(noise, (torch.zeros(2),))
        for _ in range(2):
            self.assertTrue(torch.equal(again(traced)(torch.ones(2)), noise(torch.ones(2))))

    def test_mixed_precision_is_part_of_a_trace(self):
        class Layers(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 2)

            def forward(self, x):
                x = self.first(x)
                with torch.autocast("cpu", enabled=False):
                    x = self.second(x.float())
                return x + torch.mm(x, x.t()).sum()

        module = Layers().eval()
        with torch.no_grad():
            for dtype in (torch.bfloat16, torch.float16):
                with torch.autocast("cpu", dtype=dtype, cache_enabled=False):
                    traced = torch.jit.trace(module, (X,))
                    expected = module(X)
                for one in (traced, again(traced), torch.jit.freeze(traced)):
                    got = one(X)
                    self.assertEqual((got.dtype, torch.equal(got, expected)), (expected.dtype, True))

    def test_a_fold_under_mixed_precision_starts_from_the_rounded_weight(self):
        class Layers(nn.Module):
            def __init__(self, bias):
                super().__init__()
                self.conv, self.norm = nn.Conv2d(3, 32, 3, bias=bias), nn.BatchNorm2d(32)

            def forward(self, x):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    return self.norm(self.conv(x))

        x = torch.randn(2, 3, 16, 16)
        for bias in (True, False):
            module = Layers(bias).eval()
            with torch.no_grad(), torch.autocast("cpu", cache_enabled=False):
                traced, expected = torch.jit.trace(module, (x,)), module(x)
                for made in (traced, torch.jit.script(module)):
                    frozen = torch.jit.freeze(made)
                    self.assertNotIn("batch_norm", frozen.code)
                    # A fresh norm changes no weight by as much as half a step of bfloat16.
                    self.assertTrue(torch.equal(frozen(x), expected))
                    self.assertTrue(torch.equal(torch.jit.optimize_for_inference(frozen)(x), expected))

    def test_weights_that_are_computed_once_are_not_traced(self):
        layer = nn.Linear(2, 2)
        nn.utils.parametrize.register_parametrization(layer, "weight", nn.Tanh())
        with nn.utils.parametrize.cached(), self.assertRaisesRegex(RuntimeError, "trace the module outside of cached"):
            torch.jit.trace(layer, (torch.ones(1, 2),))
        traced = torch.jit.trace(layer, (torch.ones(1, 2),))
        with nn.utils.parametrize.cached():
            self.assertTrue(torch.equal(traced(torch.ones(3, 2)), layer(torch.ones(3, 2))))

    def test_forked_calls_take_keywords(self):
        def both(a, b):
            return 2 * a - b

        traced = torch.jit.trace(lambda a, b: torch.jit.wait(torch.jit.fork(both, b=b, a=a)), (torch.ones(2), torch.zeros(2)))
        self.assertEqual(traced(torch.zeros(2), torch.ones(2)).tolist(), [-1.0, -1.0])

    def test_compiled_parts_that_stand_in_two_places_are_called_in_each(self):
        class Part(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(1))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x + self.weight

        @torch.jit.interface
        class Adds(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                pass

        class Holder(nn.Module):
            part: Adds

            def __init__(self):
                super().__init__()
                self.part = Part()

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.part(x)

        class Around(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                return self.inner(x)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                held = torch.jit.script(Holder())
                self.first, self.second = held, Around(held)

            def forward(self, x):
                return self.first(x) + self.second(x)

        for made in (torch.jit.trace(Net(), torch.ones(1)), again(torch.jit.trace(Net(), torch.ones(1)))):
            self.assertEqual(made(torch.zeros(1)).tolist(), [2.0])

    def test_modules_with_parts_of_an_interface_are_traced(self):
        @torch.jit.interface
        class Adds(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                pass

        class One(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x + 1

        class Holder(nn.Module):
            part: Adds

            def __init__(self):
                super().__init__()
                self.part = One()

            def forward(self, x):
                return self.part(x)

        made = torch.jit.trace(Holder(), torch.ones(1))
        self.assertEqual((made(torch.zeros(1)).tolist(), again(made)(torch.zeros(1)).tolist()), ([1.0], [1.0]))

    def test_inputs_to_check_may_have_another_graph_or_other_constants(self):
        def negates(x):
            for _ in range(x.size(0)):
                x = torch.neg(x)
            return x

        def copies(x):
            return x + torch.tensor(x.tolist())

        class Module(nn.Module):
            def forward(self, x):
                return negates(x)

        with self.assertRaisesRegex(torch.jit.TracingCheckError, r"with check_inputs\[0\] has another graph"):
            torch.jit.trace(negates, torch.ones(3, 4), check_inputs=[torch.ones(4, 4)])
        with self.assertRaisesRegex(torch.jit.TracingCheckError, "another value"):
            torch.jit.trace(copies, torch.ones(3), check_inputs=[(torch.zeros(3),)])
        with self.assertRaisesRegex(torch.jit.TracingCheckError, r"with check_inputs\[0\] has another graph"):
            torch.jit.trace_module(Module(), {"forward": torch.ones(3, 4)}, check_inputs=[{"forward": torch.ones(4, 4)}])

    def test_backward_hooks_are_refused(self):
        for register in (nn.Module.register_full_backward_hook, nn.Module.register_backward_hook):
            inner = nn.Linear(1, 1)
            register(inner, lambda *a: None)
            with self.assertRaisesRegex(ValueError, "no backward hooks, and Linear has one"):
                torch.jit.trace(nn.Sequential(inner), torch.ones(1, 1))


if __name__ == "__main__":
    unittest.main()

    def test_modules_that_draw_numbers_differ_from_their_trace(self):
        with self.assertWarnsRegex(torch.jit.TracerWarning, "differ in the first output of forward"):
            torch.jit.trace(nn.Dropout(), torch.ones(8, 8))
        counts = nn.BatchNorm1d(2, momentum=None)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.jit.trace(counts, torch.randn(4, 2))
        self.assertEqual(int(counts.num_batches_tracked), 1)

    def test_a_trace_has_outputs(self):
        with self.assertRaisesRegex(RuntimeError, "returned nothing"):
            torch.jit.trace(lambda x: None, torch.ones(1))
