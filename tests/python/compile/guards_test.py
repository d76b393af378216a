"""A graph is used again where what it relies on holds, and no more where it does not."""

import collections
import gc
import unittest
import warnings

from cresset._dynamo.testing import CompileCounter

import cresset as torch
from cresset import nn

X = torch.ones(2, 3)
SCALE = 2
WEIGHT = torch.ones(3)


class Guards(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.counter = CompileCounter()

    def counts(self, function, *argsets, **options):
        """How many graphs there are after each call, all of which give what the function gives."""
        compiled, seen = torch.compile(function, backend=self.counter, **options), []
        for args in argsets:
            self.assertTrue(torch.equal(compiled(*args), function(*args)))
            seen.append(self.counter.frame_count)
        return seen

    def test_dtypes_and_gradients(self):
        self.assertEqual(self.counts(lambda x: x * 2, (X,), (X.double(),), (X,), (X.clone().requires_grad_(),)), [1, 2, 2, 3])

    def test_strides(self):
        self.assertEqual(self.counts(lambda x: x * 2, (torch.ones(3, 3),), (torch.ones(3, 3).t(),), (torch.ones(3, 3).expand(3, 3),), dynamic=False), [1, 2, 2])

    def test_numbers_text_and_truth(self):
        def f(x, a, s, b):
            return x * a + len(s) if b else x + 1

        self.assertEqual(
            self.counts(f, (X, 1.5, "k", True), (X, 1.5, "k", True), (X, 2.5, "k", True), (X, 1.5, "kk", True), (X, 1.5, "k", False)), [1, 1, 2, 3, 4]
        )

    def test_signs_of_zero_and_nan(self):
        def f(x, a):
            return x / a

        compiled = torch.compile(f, backend=self.counter)
        self.assertEqual(compiled(X, 0.0)[0, 0].item(), float("inf"))
        self.assertEqual(compiled(X, -0.0)[0, 0].item(), float("-inf"))

    def test_true_is_not_one(self):
        self.assertEqual(self.counts(lambda x, k: x + 1 if k is True else x - 1, (X, True), (X, 1)), [1, 2])

    def test_globals(self):
        global SCALE, WEIGHT
        compiled = torch.compile(lambda x: x * SCALE + WEIGHT, backend=self.counter)
        self.assertEqual(compiled(X)[0, 0].item(), 3)
        SCALE = 3
        self.assertEqual(compiled(X)[0, 0].item(), 4)
        WEIGHT = torch.ones(3) * 5
        self.assertEqual(compiled(X)[0, 0].item(), 8)
        self.assertEqual(self.counter.frame_count, 2)
        SCALE, WEIGHT = 2, torch.ones(3)

    def test_a_builtin_name_that_becomes_global(self):
        compiled = torch.compile(lambda x: x + len("ab"), backend=self.counter)
        compiled(X)
        globals()["len"] = lambda text: 7
        try:
            self.assertEqual(compiled(X)[0, 0].item(), 8)
        finally:
            del globals()["len"]

    def test_cells(self):
        k = 2

        def f(x):
            return x * k

        compiled = torch.compile(f, backend=self.counter)
        self.assertEqual(compiled(X)[0, 0].item(), 2)
        k = 7
        self.assertEqual(compiled(X)[0, 0].item(), 7)

    def test_attributes_of_modules(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.k, self.flag, self.items = 2, True, [1]

            def forward(self, x):
                return x * self.k + len(self.items) if self.flag else x * 10

        net = Net()
        compiled = torch.compile(net, backend=self.counter)
        self.assertEqual(compiled(X)[0, 0].item(), 3)
        net.k = 5
        self.assertEqual(compiled(X)[0, 0].item(), 6)
        net.items.append(1)
        self.assertEqual(compiled(X)[0, 0].item(), 7)
        net.flag = False
        self.assertEqual(compiled(X)[0, 0].item(), 10)

    def test_an_attribute_that_appears(self):
        class Thing:
            pass

        thing = Thing()
        compiled = torch.compile(lambda x: x + getattr(thing, "k", 1), backend=self.counter)
        self.assertEqual(compiled(X)[0, 0].item(), 2)
        thing.k = 5
        self.assertEqual(compiled(X)[0, 0].item(), 6)

    def test_changes_of_dicts_that_were_remembered(self):
        net = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.ReLU(), nn.Identity()))
        compiled = torch.compile(net, backend=self.counter)
        for _ in range(3):
            self.assertTrue(torch.equal(compiled(X), net(X)))
        for change in (
            lambda: setattr(net[1][0], "inplace", True),
            lambda: net[1].append(nn.Sigmoid()),
            lambda: net[0].register_forward_hook(lambda module, args, out: out * 2),
            lambda: net[0].__dict__.update(_parameters=dict(net[0]._parameters, bias=None)),
            lambda: setattr(net[1], "__class__", type("Other", (nn.Sequential,), {"forward": lambda self, x: x * 100})),
        ):
            change()
            for _ in range(2):
                self.assertTrue(torch.equal(compiled(X), net(X)))

    def test_changes_of_classes_that_were_remembered(self):
        class Base(nn.Module):
            scale = 2

            def forward(self, x):
                return self.change(x) * self.scale

            @staticmethod
            def change(x):
                return x + 1

        class Net(Base):
            pass

        net = Net()
        compiled = torch.compile(net, backend=self.counter)
        for change in (
            lambda: None,
            lambda: setattr(Base, "scale", 3),
            lambda: setattr(Base, "change", staticmethod(lambda x: x - 3)),
            lambda: setattr(Net, "scale", 4),
            lambda: setattr(Net, "forward", lambda self, x: x * 100),
            lambda: delattr(Net, "forward"),
            lambda: setattr(net, "scale", 7),
            lambda: setattr(net, "change", lambda x: x + 50),
        ):
            change()
            for _ in range(3):
                self.assertTrue(torch.equal(compiled(X), net(X)))

    def test_lengths_of_dicts_that_were_remembered(self):
        table = {"a": 1}
        ordered = collections.OrderedDict(a=1)
        compiled = torch.compile(lambda x: x + len(table) * 10 + len(ordered), backend=self.counter)
        for change in (lambda: None, lambda: table.update(b=2), lambda: table.pop("a"), lambda: ordered.update(c=3), table.clear):
            change()
            for _ in range(3):
                self.assertEqual(compiled(X)[0, 0].item(), 1 + len(table) * 10 + len(ordered))

    def test_what_was_remembered_is_not_read_again(self):
        from _cresset_compile import Guards

        net = nn.Sequential(*(nn.Sequential(nn.Identity(), nn.Identity()) for _ in range(5)))
        before = {id(o) for o in gc.get_objects() if isinstance(o, Guards)}
        compiled = torch.compile(lambda x: net(x) + 1, backend=self.counter)
        for _ in range(3):
            compiled(X)
        (guards,) = (o for o in gc.get_objects() if isinstance(o, Guards) and id(o) not in before)
        self.assertGreater(guards.text().count("\n"), 100)
        self.assertEqual(guards.repeated(), ["local 0 is a tensor of sizes [2, 3], Float"])

    def test_a_dict_that_is_replaced(self):
        class Thing:
            pass

        thing = Thing()
        thing.table = {"k": 1}
        compiled = torch.compile(lambda x: x + thing.table["k"], backend=self.counter)
        for _ in range(2):
            self.assertEqual(compiled(X)[0, 0].item(), 2)
        thing.__dict__ = {"table": {"k": 5}}
        self.assertEqual(compiled(X)[0, 0].item(), 6)
        thing.table["k"] = 7
        self.assertEqual(compiled(X)[0, 0].item(), 8)

    def test_class_attributes(self):
        class Thing:
            k = 1

        thing = Thing()
        compiled = torch.compile(lambda x: x + thing.k, backend=self.counter)
        self.assertEqual(compiled(X)[0, 0].item(), 2)
        Thing.k = 5
        self.assertEqual(compiled(X)[0, 0].item(), 6)

    def test_containers(self):
        def f(xs, d):
            return sum(x.sum() for x in xs) + sum(len(k) for k in d)

        one, two = {"a": 1}, {"a": 1, "bb": 2}
        self.assertEqual(self.counts(f, ([X], one), ([X], one), ([X, X + 1], one), ([X], two)), [1, 1, 2, 3])

    def test_one_tensor_twice_is_not_two(self):
        def f(x, y):
            return x + 1 if x is y else x - 1

        self.assertEqual(self.counts(f, (X, X.clone()), (X, X), (X, X.clone())), [1, 2, 2])

    def test_modes(self):
        leaf = X.clone().requires_grad_()
        compiled = torch.compile(lambda x: x * 2, backend=self.counter)
        self.assertTrue(compiled(leaf).requires_grad)
        with torch.no_grad():
            self.assertFalse(compiled(leaf).requires_grad)
        self.assertEqual(self.counter.frame_count, 2)

    def test_training_and_evaluation(self):
        net = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 3))
        compiled = torch.compile(net, backend=self.counter)
        compiled(X)
        net.eval()
        self.assertTrue(torch.equal(compiled(X), net(X)))
        self.assertEqual(self.counter.frame_count, 2)

    def test_guards_read_as_text(self):
        compiled = torch.compile(lambda x, k: x * k, backend="eager")
        compiled(X, 2.5)
        ((_, _, entry),) = compiled._compiler.region.entries()
        self.assertIn("local 1 == 2.5", entry.guards.text())
        self.assertIn("local 0 is a tensor of sizes [2, 3]", entry.guards.text())


class Sizes(Guards):
    def test_sizes_that_change_become_symbols(self):
        def f(x):
            return x * 2 + x.shape[0]

        self.assertEqual(self.counts(f, *((torch.ones(n, 3),) for n in (2, 3, 4, 9, 1))), [1, 2, 2, 2, 3])

    def test_conditions_on_sizes_are_guards(self):
        def f(x):
            return x + 1 if x.shape[0] > 5 else x - 1

        self.assertEqual(self.counts(f, *((torch.ones(n, 3),) for n in (4, 6, 7, 3))), [1, 2, 2, 3])

    def test_equal_sizes_share_a_symbol(self):
        def f(x, y):
            return (x.sum(1) + x.shape[0]).sum() + y.sum()

        self.assertEqual(self.counts(f, (torch.ones(3, 2), torch.ones(3)), (torch.ones(4, 2), torch.ones(4)), (torch.ones(5, 2), torch.ones(6))), [1, 2, 3])

    def test_layouts_of_open_sizes_are_guards(self):
        def f(x):
            return x.stride(0) + x

        self.assertEqual(self.counts(f, (torch.ones(4, 4),), (torch.ones(5, 5).t().contiguous(),), (torch.ones(6, 6).t(),))[-1], 3)

    def test_dynamic_from_the_start_and_never(self):
        args = [(torch.ones(n, 3),) for n in (5, 7, 8)]
        self.assertEqual(self.counts(lambda x: x.sum(0) * x.shape[0], *args, dynamic=True), [1, 1, 1])
        torch._dynamo.reset()
        self.assertEqual(self.counts(lambda x: x.sum(0) * x.shape[0], *args, dynamic=False)[-1] - 1, 3)

    def test_integers_that_change_become_symbols(self):
        self.assertEqual(self.counts(lambda x, n: x * n, *((X, n) for n in (2, 3, 4, 50, -1))), [1, 2, 2, 2, 2])

    def test_a_marked_range_decides_conditions_and_is_checked(self):
        graphs = []

        def backend(gm, inputs):
            graphs.append(gm)
            return gm.forward

        def marked(size, **limits):
            x = torch.ones(size, 3)
            torch._dynamo.mark_dynamic(x, 0, **limits)
            return x

        @torch.compile(backend=backend)
        def f(x):
            return x * 2 if x.size(0) <= 8 else x * 3

        for size in (4, 5, 8):
            self.assertEqual(f(marked(size, min=2, max=8)).sum(), size * 6)
        self.assertEqual(len(graphs), 1)
        self.assertEqual(f(torch.ones(20, 3)).sum(), 180)
        self.assertEqual(len(graphs), 2)
        with self.assertRaisesRegex(Exception, "marked dynamic from 2 to 8, and its size is 30"):
            torch.compile(lambda x: x + 1, backend=backend)(marked(30, min=2, max=8))
        with self.assertRaisesRegex(ValueError, "min=9 and max=2"):
            marked(4, min=9, max=2)

    def test_sizes_that_are_worth_a_graph_of_their_own(self):
        sizes = []

        def backend(gm, inputs):
            (x,) = (n for n in gm.graph.nodes if n.op == "placeholder" and isinstance(n.meta["val"], torch.Tensor))
            sizes.append(x.meta["val"].shape[0])
            return gm.forward

        compiled = torch.compile(lambda x: x * 2, backend=backend)
        for size in (4, 5, 8, 8, 6):
            x = torch.ones(size, 3)
            torch._dynamo.mark_dynamic(x, 0, specialize_on=[lambda n: n == 8])
            self.assertEqual(compiled(x).sum(), size * 6)
        self.assertEqual([isinstance(size, int) for size in sizes], [False, True])
        self.assertEqual(sizes[1], 8)

    def test_marks(self):
        x = torch.ones(4, 3)
        torch._dynamo.mark_dynamic(x, 0)
        self.assertEqual(self.counts(lambda x: x * 2, (x,), (torch.ones(6, 3),), (torch.ones(8, 3),)), [1, 1, 1])
        with self.assertRaises(torch.fx.experimental.symbolic_shapes.ConstraintViolationError):
            torch.compile(lambda x: x.reshape(4, 3) + torch.ones(4, 3), backend="eager")(x)

    def test_other_sizes_through_the_compiled_backward(self):
        compiled = torch.compile(lambda x: (x * x.shape[0]).sum(), backend="inductor")
        for n in (2, 3, 4, 5):
            x = torch.ones(n, 3, requires_grad=True)
            compiled(x).backward()
            self.assertTrue(torch.equal(x.grad, torch.full((n, 3), float(n))))

    def test_numbers_of_the_data(self):
        with torch._dynamo.config.patch(capture_scalar_outputs=True):
            self.assertTrue(torch.equal(torch.compile(lambda x: x * x.sum().item(), backend=self.counter, fullgraph=True)(X), X * 6))
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
            self.assertTrue(torch.equal(torch.compile(lambda x: x.nonzero() * 2, backend="eager", fullgraph=True)(X), X.nonzero() * 2))


class Lifetimes(unittest.TestCase):
    def test_gradients_that_only_a_guard_has_seen(self):
        """The Python object of a gradient lives no longer than its references: guards keep one while they look."""
        self.addCleanup(gc.set_threshold, *gc.get_threshold())
        for k in range(30):
            gc.set_threshold(1 + k)
            net, x = nn.Linear(4, 4), torch.ones(2, 4)
            optimizer = torch.optim.Adam(net.parameters(), lr=0.1)

            def step(x, net=net, optimizer=optimizer):
                optimizer.zero_grad()
                loss = net(x).sum()
                loss.backward()
                optimizer.step()
                return loss

            compiled = torch.compile(step, backend="eager")
            losses = [compiled(x).item() for _ in range(3)]
            self.assertEqual(losses, sorted(losses, reverse=True))

    def test_what_changes_while_it_is_captured(self):
        torch._dynamo.reset()
        known = {}

        def backend(module, inputs):
            known[len(known)] = 1
            return module.forward

        compiled = torch.compile(lambda x: x * len(known), backend=backend)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertTrue(torch.equal(compiled(X), X))
        with self.assertWarnsRegex(RuntimeWarning, r"runs as it is: what it depends on changes while it is captured \(keys of"):
            self.assertTrue(torch.equal(compiled(X), X * 2))
        self.assertTrue(torch.equal(compiled(X), X * 2))


class Limits(unittest.TestCase):
    def test_beyond_the_limit_the_function_runs_as_it_is(self):
        counter = CompileCounter()
        compiled = torch.compile(lambda x, s: x + len(s), backend=counter)
        with torch._dynamo.config.patch(recompile_limit=3), self.assertWarnsRegex(UserWarning, "has been compiled 3 times"):
            for i in range(6):
                self.assertEqual(compiled(X, "s" * i)[0, 0].item(), 1 + i)
        self.assertEqual(counter.frame_count, 3)

    def test_with_fullgraph_it_is_an_error(self):
        compiled = torch.compile(lambda x, s: x + len(s), backend="eager", fullgraph=True)
        with torch._dynamo.config.patch(recompile_limit=1):
            compiled(X, "")
            with self.assertRaises(torch._dynamo.exc.FailOnRecompileLimitHit):
                compiled(X, "s")


if __name__ == "__main__":
    unittest.main()
