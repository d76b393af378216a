"""Programs that are one graph: hooks on tensors, weak references, decorators of modes, lazy modules, numbers from tensors."""

import gc
import unittest
import weakref

from cresset._dynamo.testing import CompileCounter
from cresset.utils._pytree import tree_map_only

import cresset as torch
from cresset import nn

X = torch.linspace(-1, 1, 6).reshape(2, 3)


class _Object:
    pass


class WholeGraphs(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()

    def check(self, function, *tensors, calls=2):
        for backend in ("eager", "inductor"):
            torch._dynamo.reset()
            compiled = torch.compile(function, fullgraph=True, backend=backend)
            for _ in range(calls):
                wanted, found = (f(*[t.clone().detach().requires_grad_(t.requires_grad) for t in tensors]) for f in (function, compiled))
                torch.testing.assert_close(found, wanted)


class Hooks(WholeGraphs):
    def gradient(self, function):
        x = X.clone().requires_grad_()
        function(x).backward()
        return x.grad

    def assertSameGradient(self, function):
        for backend in ("eager", "aot_eager", "inductor"):
            torch._dynamo.reset()
            compiled = torch.compile(function, fullgraph=True, backend=backend)
            for _ in range(2):
                torch.testing.assert_close(self.gradient(compiled), self.gradient(function))

    def test_on_an_argument(self):
        def function(x):
            x.register_hook(lambda g: g * 2)
            return (x * 3).sum()

        self.assertSameGradient(function)

    def test_on_an_argument_with_effects(self):
        seen = []

        def function(x):
            x.register_hook(lambda g: seen.append(g.sum()))
            x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.shape))
            return (x * 3).sum()

        self.gradient(torch.compile(function, fullgraph=True))
        self.assertEqual(seen, [torch.tensor(18.0), X.shape])

    def test_run_in_the_order_in_which_they_were_registered(self):
        def function(x):
            x.register_hook(lambda g: g + 1)
            second = x.register_hook(lambda g: g * 10)
            return (x * 2).sum(), second

        x = X.clone().requires_grad_()
        out, handle = torch.compile(function, fullgraph=True)(x)
        out.backward()
        self.assertEqual(x.grad.unique().tolist(), [30])
        handle.remove()

    def test_more_lazy_modules_than_attempts(self):
        model = nn.Sequential(*(nn.LazyLinear(2) for _ in range(70)))
        self.assertEqual(torch.compile(model, fullgraph=True)(X).shape, (2, 2))

    def test_on_a_tensor_of_the_graph(self):
        def function(x):
            y = x * 3
            y.register_hook(lambda g: g.cos() * 2)
            return y.sin().sum()

        self.assertSameGradient(function)

    def test_handles(self):
        def function(x):
            x.register_hook(lambda g: g * 5).remove()
            return (x * 3).sum(), x.register_hook(lambda g: g * 2)

        x = X.clone().requires_grad_()
        y, handle = torch.compile(function, fullgraph=True)(x)
        y.backward(retain_graph=True)
        self.assertEqual(x.grad[0, 0], 6)
        handle.remove()
        y.backward()
        self.assertEqual(x.grad[0, 0], 9)

    def test_effects_on_tensors_of_the_graph_break_it(self):
        seen = []

        def function(x):
            y = x * 3
            y.register_hook(seen.append)
            return y.sin().sum()

        with self.assertRaises(torch._dynamo.exc.Unsupported):
            self.gradient(torch.compile(function, fullgraph=True))
        torch.testing.assert_close(self.gradient(torch.compile(function)), self.gradient(function))
        self.assertEqual(len(seen), 2)

    def test_a_tensor_without_gradients(self):
        self.assertRaises(RuntimeError, torch.compile(lambda x: x.register_hook(lambda g: g)), X)


class Contexts(WholeGraphs):
    def test_decorators_of_modes(self):
        @torch.no_grad()
        def still(x):
            return x * 2

        @torch.inference_mode()
        def apart(x):
            return x * 3

        def function(x):
            @torch.set_grad_enabled(False)
            def inner(y):
                return y * 2

            return inner(x) + 1, still(x), torch.no_grad()(lambda y: y - 1)(x), torch.enable_grad()(lambda y: y + 1)(x), x * 2

        x = X.clone().requires_grad_()
        found = torch.compile(function, fullgraph=True)(x)
        self.assertEqual([t.requires_grad for t in found], [False, False, False, True, True])
        self.check(lambda x: apart(x.detach()).clone() + 1, X)
        self.check(function, x)


class References(WholeGraphs):
    def test_to_objects_around(self):
        layer, tensor = nn.Linear(3, 2), X * 2
        to_layer, to_tensor = weakref.ref(layer), weakref.ref(tensor)
        self.check(lambda x: to_layer()(x + to_tensor()), X)

    def test_that_are_gone(self):
        owner, counted = _Object(), CompileCounter()
        reference = weakref.ref(owner)
        compiled = torch.compile(lambda x: x * 2 if reference() is None else x * 3, fullgraph=True, backend=counted)
        self.assertTrue(torch.equal(compiled(X), X * 3))
        del owner
        gc.collect()
        self.assertIsNone(reference())
        self.assertTrue(torch.equal(compiled(X), X * 2))
        self.assertEqual(counted.frame_count, 2)

    def test_that_are_made(self):
        owner = _Object()

        def function(x):
            inner = _Object()
            return x * (2 if weakref.ref(inner)() is inner else 3), weakref.ref(owner)

        compiled = torch.compile(function, fullgraph=True)
        for _ in range(2):
            y, reference = compiled(X)
            self.assertIs(reference(), owner)
            self.assertTrue(torch.equal(y, X * 2))


class Modules(WholeGraphs):
    def test_lazy_modules(self):
        for full in (True, False):
            results = []
            for compiled in (False, True):
                torch.manual_seed(0)
                model = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyBatchNorm1d())
                run = torch.compile(model, fullgraph=full) if compiled else model
                results.append([run(X), run(X), torch.rand(1)])
                self.assertIs(type(model[0]), nn.Linear)
            for eager, found in zip(*results, strict=True):
                torch.testing.assert_close(found, eager)


class Numbers(WholeGraphs):
    def test_lists(self):
        compiled = torch.compile(lambda x: x.long().view(2, 3).tolist(), fullgraph=True)
        self.assertEqual(compiled(X * 4), (X * 4).long().tolist())
        self.assertEqual(compiled(X * 9), (X * 9).long().tolist())

    def test_tensors_without_history(self):
        self.check(lambda x: x * (2 if x.grad_fn is None else 3) + (1 if (x * 2).grad_fn is None else 0), X)


class _Doubling(torch.Tensor):
    """Its sums are twice as large."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        return result * 2 if func is torch.Tensor.add else result

    def tripled(self):
        return self * 3


class _Pair(torch.Tensor):
    """Two tensors, on which operators run one after the other."""

    @staticmethod
    def __new__(cls, first, second, name="pair"):
        return torch.Tensor._make_wrapper_subclass(cls, first.size(), dtype=first.dtype, requires_grad=first.requires_grad)

    def __init__(self, first, second, name="pair"):
        self.first, self.second, self.label = first, second, name

    def __tensor_flatten__(self):
        return ["first", "second"], self.label

    @staticmethod
    def __tensor_unflatten__(parts, name, size, stride):
        return _Pair(parts["first"], parts["second"], name)

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        part = lambda name: tree_map_only(_Pair, lambda t: getattr(t, name), (args, kwargs or {}))  # noqa: E731
        found = [func(*given, **named) for given, named in map(part, ("first", "second"))]
        return _Pair(*found) if isinstance(found[0], torch.Tensor) else found[0]


class Subclasses(WholeGraphs):
    def whole(self, function, *tensors):
        compiled = torch.compile(function, fullgraph=True)
        for _ in range(2):
            found, wanted = compiled(*tensors), function(*tensors)
            self.assertIs(type(found), type(wanted))
            torch.testing.assert_close(*(t.as_subclass(torch.Tensor) for t in (found, wanted)))

    def test_functions_that_are_taken_over(self):
        x = X.as_subclass(_Doubling)
        for function in (
            lambda x: x.sin().add(1),
            lambda x: torch.cat([x, x]).tripled(),
            lambda x: x * 2 if isinstance(x, _Doubling) else x,
            lambda x: x.t() @ x,
        ):
            self.whole(function, x)

    def test_operators_that_are_taken_over(self):
        def function(x, y):
            made = _Pair(y, y * 2).sin()
            return (x * 2 + made) * x.first.sum() + made.second.sum() + (1 if x.label == "pair" else 2)

        compiled = torch.compile(function, fullgraph=True)
        for name in ("pair", "other"):
            x = _Pair(X, X * 3, name)
            found, wanted = compiled(x, X), function(x, X)
            self.assertIs(type(found), _Pair)
            torch.testing.assert_close([found.first, found.second], [wanted.first, wanted.second])

    def test_gradients(self):
        results = []
        for function in (lambda x: (x * x).sin(), torch.compile(lambda x: (x * x).sin(), fullgraph=True)):
            x = _Pair(X.clone(), X * 3).requires_grad_()
            function(x).sum().backward()
            results.append([x.grad.first, x.grad.second])
        torch.testing.assert_close(*results)

    def test_elsewhere_they_run_as_they_are(self):
        calls = []

        class Noted(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                calls.append(func)
                return super().__torch_function__(func, types, args, kwargs or {})

        torch.compile(lambda x: x + 1)(X.as_subclass(Noted))
        self.assertEqual(calls.count(torch.Tensor.add) + calls.count(torch.Tensor.__add__), 1)


class Limits(unittest.TestCase):
    def test_of_all_compilations_of_a_function(self):
        torch._dynamo.reset()

        class Module(nn.Module):
            def forward(self, x, text):
                return x * len(text)

        def run():
            for i in range(3):
                compiled = torch.compile(kept[i], fullgraph=True, backend="eager")
                for n in range(3):
                    compiled(X, "a" * n)

        kept = [Module() for _ in range(3)]
        with torch._dynamo.config.patch(accumulated_recompile_limit=4):
            with self.assertRaisesRegex(torch._dynamo.exc.FailOnRecompileLimitHit, "accumulated_recompile_limit"):
                compiled = [torch.compile(module, fullgraph=True, backend="eager") for module in kept]
                for n in range(3):
                    for one in compiled:
                        one(X, "a" * n)
            torch._dynamo.reset()
            run()  # what is no longer in use is not counted


if __name__ == "__main__":
    unittest.main()
