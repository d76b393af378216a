"""Instructions that cannot be captured run between graphs, in the frame of the program; changes that a frame makes outside are made."""

import collections
import contextlib
import io
import os
import sys
import traceback
import unittest

from cresset._dynamo.testing import CompileCounter

import cresset as torch
from cresset import nn

X = torch.linspace(-1, 1, 6).reshape(2, 3)
COUNT, KEPT = 0, None


class Breaks(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.counter = CompileCounter()

    def graphs(self, function, *args):
        compiled = torch.compile(function, backend=self.counter)
        for _ in range(2):
            self.assertTrue(torch.equal(compiled(*args), function(*args)))
        return self.counter.frame_count

    def test_graphs_before_and_after(self):
        def f(x):
            x = x.sin()
            torch._dynamo.graph_break()
            y = x.cos()
            torch._dynamo.graph_break()
            return y + 1

        self.assertEqual(self.graphs(f, X), 3)

    def test_print(self):
        def f(x):
            y = x + 1
            print("a", 3)
            return y * 2

        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(self.graphs(f, X), 2)
        self.assertEqual(out.getvalue(), "a 3\n" * 4)

    def test_branches_on_data(self):
        def f(x):
            if x.sum() > 0:
                return x + 1
            return x - 1

        compiled = torch.compile(f, backend=self.counter)
        for x in (X + 1, X - 1, X + 2):
            self.assertTrue(torch.equal(compiled(x), f(x)))
        self.assertEqual(self.counter.frame_count, 3)

    def test_numbers_of_the_data(self):
        self.assertEqual(self.graphs(lambda x: x * x.sum().item(), X), 2)

    def test_with_keywords_and_a_deep_stack(self):
        @torch.compiler.disable
        def outside(a, *, k):
            return a * k

        self.assertEqual(self.graphs(lambda x: (x + 1) * (x + outside(x * 2, k=3) + (x - 1)), X), 2)

    def test_within_a_callee_the_call_runs_as_it_is(self):
        def g(x):
            x = x * 2
            torch._dynamo.graph_break()
            return x + 1

        self.assertEqual(self.graphs(lambda x: g(x.sin()).cos(), X), 4)

    def test_within_a_with_block(self):
        def f(x):
            with torch.no_grad():
                y = x * 2
                torch._dynamo.graph_break()
                z = y * 3
            return z, torch.is_grad_enabled()

        leaf = X.clone().requires_grad_()
        z, enabled = torch.compile(f, backend=self.counter)(leaf)
        self.assertFalse(z.requires_grad)
        self.assertTrue(enabled and torch.is_grad_enabled())

    def test_within_a_try_block(self):
        @torch.compiler.disable
        def fails(x):
            raise KeyError("k")

        def f(x):
            try:
                x = x + 1
                fails(x)
            except KeyError:
                return x * 2
            return x

        self.assertEqual(self.graphs(f, X) > 0, True)

    def test_in_loops_the_frame_runs_as_it_is(self):
        def f(x):
            for i in range(3):
                x = x + i
                if x.sum() > 100:
                    break
            return x

        self.assertEqual(self.graphs(f, X), 0)

    def test_variables_that_share_a_list(self):
        def f(x):
            a = [x + 1]
            b = a
            torch._dynamo.graph_break()
            b.append(x)
            return a[0] + len(a)

        self.graphs(f, X)

    def test_cells_across_a_break(self):
        def f(x):
            k = 1

            def add(y):
                return y + k

            x = add(x)
            torch._dynamo.graph_break()
            k = 5
            return add(x)

        self.graphs(f, X)

    def test_errors_rise_from_the_users_line(self):
        def f(x):
            y = x + 1
            raise_it(y)

        try:
            torch.compile(f, backend="eager")(X)
        except LookupError as error:
            self.assertEqual([frame.name for frame in traceback.extract_tb(error.__traceback__)][-2:], ["f", "raise_it"])
        else:
            self.fail("nothing was raised")

    def test_the_users_frame_is_the_caller(self):
        def f(x):
            y = x + 1
            return y, caller()

        self.assertEqual(torch.compile(f, backend="eager")(X)[1], "f")

    def test_errors_of_operators_are_those_of_eager_mode(self):
        self.assertRaises(RuntimeError, torch.compile(lambda x: x @ x, backend=self.counter), X)
        self.assertRaises(KeyError, torch.compile(lambda x: {"a": x}["b"], backend=self.counter), X)

    def test_backward_hooks_and_backward_inside(self):
        def f(x):
            y = x * 2
            y.register_hook(lambda g: g * 10)
            return y.sum()

        leaf = X.clone().requires_grad_()
        torch.compile(f, backend="aot_eager")(leaf).backward()
        self.assertTrue(torch.equal(leaf.grad, torch.full((2, 3), 20.0)))
        weight = torch.ones(3, 2, requires_grad=True)
        torch.compile(lambda x: (x @ weight).sum().backward(), backend="eager")(X)
        self.assertIsNotNone(weight.grad)

    def test_fullgraph_says_what_and_where(self):
        def f(x):
            print("x")
            return x

        with self.assertRaisesRegex(torch._dynamo.exc.Unsupported, r"print(.|\n)*breaks_test.py(.|\n)*print\(\"x\"\)"):
            torch.compile(f, backend="eager", fullgraph=True)(X)

    def test_explain(self):
        def f(x):
            x = x.sin()
            torch._dynamo.graph_break()
            return x + 1

        told = torch._dynamo.explain(f)(X)
        self.assertEqual((told.graph_count, told.graph_break_count), (2, 1))
        self.assertIn("graph_break", str(told))

    def test_modes_of_others_leave_functions_alone(self):
        compiled = torch.compile(lambda x: x + 1, backend=self.counter)
        with torch.overrides.BaseTorchFunctionMode():
            compiled(X)
        self.assertEqual(self.counter.frame_count, 0)


def raise_it(y):
    sys.stdout.flush()
    raise LookupError("it")


def caller():
    return sys._getframe(1).f_code.co_name


class Objects(unittest.TestCase):
    """Classes that libraries write over dict and object."""

    def setUp(self):
        torch._dynamo.reset()

    def whole(self, function, *args):
        compiled = torch.compile(function, backend="eager", fullgraph=True)
        for _ in range(2):
            self.assertTrue(torch.equal(compiled(*args), function(*args)))
        return compiled

    def test_attributes_that_are_renamed(self):
        class Config:
            renamed = {"width": "hidden"}

            def __init__(self):
                self.hidden = 3

            def __getattribute__(self, key):
                if key != "renamed" and key in super().__getattribute__("renamed"):
                    key = super().__getattribute__("renamed")[key]
                return super().__getattribute__(key)

        config = Config()
        compiled = self.whole(lambda x: x * config.width + getattr(config, "none", 1), X)
        config.hidden = 5
        self.assertTrue(torch.equal(compiled(X), X * 5 + 1))

    def test_a_dict_with_a_get_of_its_own(self):
        class Registry(dict):
            def __contains__(self, key):
                return True

            def get(self, key):
                return super().get(str(key)) or 7

        registry = Registry(a=2)
        compiled = self.whole(lambda x: x * registry.get("a") + registry.get("b"), X)
        registry["b"] = 1
        self.assertTrue(torch.equal(compiled(X), X * 2 + 1))

        def f(x):
            torch._dynamo.graph_break()
            return x * registry.get("a")

        self.assertTrue(torch.equal(torch.compile(f, backend="eager")(X), X * 2))

    def test_results_that_are_ordered_dicts(self):
        class Output(collections.OrderedDict):
            def __init__(self, first):
                super().__init__()
                self["first"] = first
                self.extra = 3

            def __setitem__(self, key, value):
                super().__setitem__(key, value)
                super().__setattr__(key, value)

        out = torch.compile(lambda x: Output(x + 1), backend="eager", fullgraph=True)(X)
        self.assertEqual((type(out), list(out), out.extra), (Output, ["first"], 3))
        self.assertTrue(out.first is out["first"] and torch.equal(out.first, X + 1))

    def test_the_environment(self):
        os.environ["CRESSET_COMPILE_TEST"] = "2"
        compiled = self.whole(lambda x: x * int(os.environ["CRESSET_COMPILE_TEST"]) + (os.getenv("CRESSET_NOT_THERE") is None), X)
        os.environ["CRESSET_COMPILE_TEST"] = "5"
        self.assertTrue(torch.equal(compiled(X), X * 5 + 1))
        del os.environ["CRESSET_COMPILE_TEST"]
        self.assertRaises(KeyError, compiled, X)

    def test_numbers_that_are_added_to(self):
        def f(x):
            total = 0
            total += x
            total *= 2
            return total

        x = X.clone()
        self.whole(f, x)
        self.assertTrue(torch.equal(x, X))


class Effects(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()

    def compiled(self, function):
        return torch.compile(function, backend="eager", fullgraph=True)

    def test_inputs_are_written(self):
        for backend in ("eager", "aot_eager", "inductor"):
            x = X.clone()
            torch.compile(lambda x: x.add_(1) * 2, backend=backend)(x)
            self.assertTrue(torch.equal(x, X + 1))

    def test_arguments_that_ask_for_a_write(self):
        for backend in ("eager", "inductor"):
            x = X.clone()
            out = torch.compile(lambda x: torch.nn.functional.relu(x, inplace=True) + 1, backend=backend)(x)
            self.assertTrue(torch.equal(x, X.relu()) and torch.equal(out, X.relu() + 1))

    def test_views_of_inputs_are_views(self):
        x = X.clone()
        row, flat = torch.compile(lambda x: (x[0], x.view(-1)), backend="aot_eager")(x)
        row.zero_()
        self.assertEqual((x[0].abs().sum().item(), flat.data_ptr() == x.data_ptr()), (0, True))

    def test_lists_dicts_sets_deques(self):
        def f(x, xs, d, s, q):
            xs.append(x * 2)
            xs[0] = 7
            d["new"] = x + 1
            d.pop("old")
            s.add(3)
            q.append(x)
            q.popleft()
            return x

        xs, d, s, q = [X], {"old": 1, "kept": 2}, {1}, collections.deque([1, 2], 3)
        f_ = torch.compile(f, backend="eager")
        f_(X + 0, xs, d, s, q)
        self.assertEqual((xs[0], list(d), sorted(s), len(q), q[0]), (7, ["kept", "new"], [1, 3], 2, 2))
        self.assertTrue(torch.equal(xs[1], X * 2) and torch.equal(d["new"], X + 1))

    def test_globals_cells_and_attributes(self):
        global COUNT, KEPT
        n = 0

        class Thing:
            pass

        thing = Thing()
        thing.v = 1

        def f(x):
            global COUNT, KEPT
            nonlocal n
            COUNT += 1
            KEPT = x * 2
            n += 1
            thing.v += 1
            thing.t = x * thing.v
            return x + COUNT

        COUNT = 0
        g = self.compiled(f)
        g(X)
        self.assertTrue(torch.equal(g(X), X + 2))
        self.assertEqual((COUNT, n, thing.v), (2, 2, 3))
        self.assertTrue(torch.equal(KEPT, X * 2) and torch.equal(thing.t, X * 3))

    def test_modules_change(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.n, self.last = 0, None
                self.register_buffer("b", torch.zeros(3))

            def forward(self, x):
                self.n += 1
                self.last = x * self.n
                self.b = self.b + 1
                return x + self.n

        net = Net()
        g = self.compiled(net)
        g(X)
        g(X)
        self.assertEqual((net.n, net.b[0].item(), list(net.state_dict())), (2, 2, ["b"]))
        self.assertTrue(torch.equal(net.last, X * 2))

    def test_nothing_is_done_twice_when_a_capture_starts_again(self):
        log = []

        def inner(x):
            log.append(1)
            torch._dynamo.graph_break()
            return x

        def f(x):
            log.append(0)
            return inner(x) + 1

        torch.compile(f, backend="eager")(X)
        self.assertEqual(log, [0, 1])

    def test_random_state_of_a_capture_is_put_back(self):
        torch.manual_seed(1)
        torch.compile(lambda x: x + torch.rand(3), backend="eager")(X)
        after = torch.rand(1)
        torch.manual_seed(1)
        torch.rand(3)
        self.assertTrue(torch.equal(after, torch.rand(1)))


if __name__ == "__main__":
    unittest.main()
