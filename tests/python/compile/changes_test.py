"""Compiled functions give what eager mode gives, though a program changes things between calls, or within one where no version tells of it."""

import gc
import operator
import sys
import types
import unittest
import weakref
from unittest.mock import patch

from cresset.overrides import TorchFunctionMode

import cresset as torch
from cresset import nn


def scaled(x, n=3, *, k=1):
    return x * n * k


def answer(x, n=3):
    return x + n


class Functions(unittest.TestCase):
    """Code and defaults of a function that is called are those of the call."""

    def setUp(self):
        self.x = torch.ones(1)

    def test_defaults_that_are_replaced(self):
        compiled = torch.compile(lambda x: scaled(x), backend="eager")
        self.assertEqual(compiled(self.x).item(), 3)
        with patch.object(scaled, "__defaults__", (5,)):
            self.assertEqual(compiled(self.x).item(), 5)
        with patch.object(scaled, "__kwdefaults__", {"k": 7}):
            self.assertEqual(compiled(self.x).item(), 21)
        self.assertEqual(compiled(self.x).item(), 3)

    def test_code_that_is_replaced(self):
        compiled = torch.compile(lambda x: answer(x), backend="eager")
        self.assertEqual(compiled(self.x).item(), 4)
        self.addCleanup(setattr, answer, "__code__", answer.__code__)
        answer.__code__ = (lambda x, n: x - n).__code__
        self.assertEqual(compiled(self.x).item(), -2)

    def test_defaults_of_functions_that_are_made_anew(self):
        def make(n):
            offset = torch.ones(1)

            def step(x, k=n, *, j=n):
                return x * k * j + offset

            return step

        compiled = torch.compile(lambda x, step: step(x), backend="eager")
        self.assertEqual([compiled(self.x, make(n)).item() for n in (1, 2, 3)], [2, 5, 10])


class Names(unittest.TestCase):
    def setUp(self):
        self.module = types.ModuleType("changes_test_module")
        self.module.n, self.module.t = 2, torch.full((2,), 3.0)
        sys.modules["changes_test_module"] = self.module
        self.addCleanup(sys.modules.pop, "changes_test_module")

    def test_imports_within_a_function_are_guarded(self):
        def f(x):
            from changes_test_module import n, t

            return x * n + t

        compiled = torch.compile(f, backend="eager", fullgraph=True)
        self.assertEqual(compiled(torch.ones(2)).tolist(), [5, 5])
        self.module.n = 5
        self.assertEqual(compiled(torch.ones(2)).tolist(), [8, 8])

    def test_a_missing_name_is_an_import_error(self):
        def f(x):
            try:
                from changes_test_module import no_such_name
            except ImportError:
                return x + 1
            return no_such_name

        self.assertEqual(torch.compile(f, backend="eager", fullgraph=True)(torch.ones(1)).item(), 2)

    def test_attributes_of_modules_of_python_are_set_and_read(self):
        module = self.module

        def f(x):
            module.n = x.shape[0]
            module.new = x + 1
            return x * module.n + module.new

        self.assertEqual(torch.compile(f, backend="eager", fullgraph=True)(torch.ones(3)).tolist(), [5, 5, 5])
        self.assertEqual((module.n, module.new.tolist()), (3, [2, 2, 2]))

    def test_globals_that_another_file_has_set(self):
        exec("def count(x):\n    global n\n    n = n + 1\n    return x * n", self.module.__dict__)
        module = self.module
        compiled = torch.compile(lambda x: module.count(x) + module.n, backend="eager", fullgraph=True)
        self.assertEqual(compiled(torch.ones(1)).item(), 6)
        self.assertEqual(module.n, 3)


class OpenNumbers(unittest.TestCase):
    """A condition on a remainder is one of the graph, though it is known once it has been found."""

    def test_remainders(self):
        for f in (
            lambda x, n: x + n % 4,
            lambda x, n: x[: n % 4],
            lambda x, n: torch.full((2,), n % 5),
            lambda x, n: torch.arange(n % 4, n),
            lambda x, n: x + (n % 3 + n // 3) % 2,
        ):
            compiled = torch.compile(f, backend="eager")
            x = torch.arange(6.0)
            for n in (10, 13, 16, 19, 22, 11):
                self.assertEqual(compiled(x, n).tolist(), f(x, n).tolist())

    def test_remainders_of_sizes(self):
        compiled = torch.compile(lambda x: x.new_zeros(2) + x.size(0) % 4, backend="eager", dynamic=True)
        for n in (10, 13, 16, 9):
            self.assertEqual(compiled(torch.zeros(n)).tolist(), [n % 4] * 2)


class Taker(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return torch.zeros(2) if func is torch.add else func(*args, **(kwargs or {}))


class Modes(unittest.TestCase):
    def test_a_mode_sees_the_calls_of_what_was_compiled_before(self):
        for backend in ("eager", "inductor"):
            compiled = torch.compile(lambda x: torch.add(x, 1) + x, backend=backend)
            x = torch.ones(2)
            self.assertEqual(compiled(x).tolist(), [3, 3])
            with Taker():
                self.assertEqual(compiled(x).tolist(), [1, 1])
            self.assertEqual(compiled(x).tolist(), [3, 3])

    def test_a_break_within_a_mode(self):
        def f(x):
            with Taker():
                torch._dynamo.graph_break()
                y = torch.add(x, 3)
            return torch.add(y, x)

        self.assertEqual(torch.compile(f, backend="eager")(torch.ones(2)).tolist(), [1, 1])


class Lazy(unittest.TestCase):
    """Iterators and look-ups that leave a graph work after it."""

    def test_functions_of_iterators_run_after_a_break(self):
        def f(a):
            seen = map(lambda v: v + a, [a, a * 2])
            kept = filter(lambda v: v > 0, [1, 2])
            first = next(seen) + next(kept)
            torch._dynamo.graph_break()
            return first + next(seen) + next(kept)

        self.assertEqual(torch.compile(f, backend="eager")(torch.ones(1)).item(), 8)

    def test_an_iterator_as_the_result(self):
        def f(a):
            b = a + 1
            return map(lambda v: v + b, [b, a])

        self.assertEqual([v.item() for v in torch.compile(f, backend="eager")(torch.ones(1))], [4, 3])

    def test_look_ups(self):
        def f(a):
            get, ask = operator.attrgetter("shape"), operator.methodcaller("sum")
            b = a + 1
            torch._dynamo.graph_break()
            return get(b), ask(b)

        self.assertEqual(torch.compile(f, backend="eager")(torch.ones(2)), (torch.Size([2]), torch.tensor(4.0)))


class HiddenWrites(unittest.TestCase):
    """Writes through `data`, `detach()` and repeated views reach the tensor, and the gradient that eager mode has."""

    def check(self, f, *inputs):
        for backend in ("eager", "aot_eager", "inductor"):
            found, expected = [[i.detach().clone().requires_grad_(i.requires_grad) for i in inputs] for _ in range(2)]
            result, wanted = torch.compile(f, backend=backend)(*found), f(*expected)
            self.assertEqual(result.tolist(), wanted.tolist())
            if wanted.requires_grad:
                result.sum().backward(), wanted.sum().backward()
            for a, b in zip(found, expected, strict=True):
                self.assertEqual(a.tolist(), b.tolist())
                self.assertEqual(a.grad is None, b.grad is None)
                if a.grad is not None:
                    self.assertEqual(a.grad.tolist(), b.grad.tolist())

    def test_data(self):
        def f(x):
            out = x.sin()
            x.data.mul_(2)
            return out

        for wants in (False, True):
            self.check(f, torch.tensor([1.0, 2.0], requires_grad=wants))

    def test_views_of_data(self):
        def f(x):
            part = x.data.view(2, 1)[0]
            part[0] = 7
            return x * 1

        self.check(f, torch.tensor([1.0, 2.0]))

    def test_detach(self):
        def f(x):
            y = x.detach()
            y += 1
            return x * 1

        for wants in (False, True):
            self.check(f, torch.tensor([1.0, 2.0], requires_grad=wants))

    def test_a_repeated_view_with_a_gradient_elsewhere(self):
        def one(x, z):
            y = x.expand(3, 4)
            y[1, 1].mul_(5)
            return y * z

        def row(x, z):
            y = x.expand(3, 4)[1]
            y.add_(2)
            return x * z

        for f in (one, row):
            for wants in (False, True):
                self.check(f, torch.arange(4.0), torch.ones(4, requires_grad=wants))


class Rest(unittest.TestCase):
    def test_a_function_that_asks_whether_it_is_compiled(self):
        count = []

        def f(x):
            if torch.compiler.is_compiling():
                count.append(1)
            return x

        compiled = torch.compile(f, backend="eager")
        compiled(torch.ones(1)), compiled(torch.ones(1))
        self.assertEqual(count, [1, 1])

    def test_gradients_are_let_go(self):
        model = nn.Linear(4, 4, bias=False)
        optimizer = torch.optim.Adadelta(model.parameters(), lr=0.01)
        step = torch.compile(lambda: optimizer.step(), backend="eager")
        model(torch.ones(4)).sum().backward()
        gc.disable()
        self.addCleanup(gc.enable)
        step()
        gradient = weakref.ref(model.weight.grad)
        optimizer.zero_grad(True)
        self.assertIsNone(gradient())

    def test_arguments_are_let_go(self):
        gc.disable()
        self.addCleanup(gc.enable)
        x = torch.ones(3)
        known = weakref.ref(x)
        torch.compile(lambda x: x + x, backend="eager")(x)
        del x
        self.assertIsNone(known())


if __name__ == "__main__":
    unittest.main()
