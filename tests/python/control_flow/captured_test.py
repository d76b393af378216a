"""Control flow in graphs: functions become modules, tensors from around them inputs, gradients calls of the same operator."""

import unittest
import warnings

from cresset._dynamo.exc import UncapturedHigherOrderOpError
from cresset._higher_order_ops import associative_scan, map, scan, while_loop
from cresset.func import functionalize
from cresset.functorch.compile import aot_function, min_cut_rematerialization_partition, nop
from cresset.fx.experimental.proxy_tensor import make_fx
from cresset.utils._pytree import tree_leaves

import cresset as torch

X = torch.linspace(-1, 1, 6).reshape(2, 3)
W = torch.full((3,), 2.0)


def targets(graph):
    return [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]


class Case(unittest.TestCase):
    def same(self, got, expected):
        for a, b in zip(tree_leaves(got), tree_leaves(expected), strict=True):
            self.assertTrue(torch.allclose(a, b, atol=1e-6), f"{a} is not {b}")

    def captured(self, function, *inputs, others=(), **options):
        graph = make_fx(function, **options)(*inputs)
        for given in (inputs, *others):
            self.same(graph(*given), function(*given))
        return graph


class Nodes(Case):
    def test_branches_are_modules(self):
        graph = self.captured(lambda x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)), X, others=[(X + 1,), (X - 1,)])
        self.assertEqual(targets(graph)[2:], ["cond", "<built-in function getitem>"])
        self.assertEqual([name for name, _ in graph.named_children()], ["true_graph_0", "false_graph_0"])
        self.assertEqual([targets(m) for _, m in graph.named_children()], [["aten.sin.default"], ["aten.cos.default"]])
        node = next(n for n in graph.graph.nodes if str(n.target) == "cond")
        self.assertIs(node.target, torch.ops.higher_order.cond)
        self.assertIn("torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, (x_1,))", graph.code)

    def test_a_second_call_gets_the_next_number(self):
        def f(x):
            y = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
            return torch.cond(y.sum() > 0, lambda x: x * 2, lambda x: x * 3, (y,))

        names = [name for name, _ in self.captured(f, X, others=[(X + 1,)]).named_children()]
        self.assertEqual(names, ["true_graph_0", "false_graph_0", "true_graph_1", "false_graph_1"])

    def test_what_branches_use_from_around_them_is_an_input(self):
        graph = self.captured(lambda x, y: torch.cond(x.sum() > 0, lambda x: x * W, lambda x: x + y, (x,)), X, X + 1, others=[(X + 1, X)])
        counts = {name: len(m.graph.find_nodes(op="placeholder")) for name, m in graph.named_children()}
        self.assertEqual(counts, {"true_graph_0": 3, "false_graph_0": 3})

    def test_branches_nest(self):
        def inner(x):
            return torch.cond(x.max() > 1, lambda x: x + 1, lambda x: x - 1, (x,))

        self.captured(lambda x: torch.cond(x.sum() > 0, inner, lambda x: x.cos(), (x,)), X, others=[(X + 1,), (X + 9,), (X - 1,)])

    def test_loops(self):
        graph = self.captured(
            lambda i, x: while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * W), (i, x)), torch.tensor(0), X, others=[(torch.tensor(3), X)]
        )
        self.assertEqual([name for name, _ in graph.named_children()], ["while_loop_cond_graph_0", "while_loop_body_graph_0"])
        self.assertIn("map_impl", targets(self.captured(lambda xs, y: map(lambda x, y: x.sin() + y, xs, y), X, W)))
        self.captured(lambda xs: map(lambda x: (x.sin(), None), xs)[0], X)
        step = lambda c, x: (c + x, c * x)  # noqa: E731
        self.assertIn("scan", targets(self.captured(lambda c, xs: scan(step, c, xs), W, X)))
        self.captured(lambda c, xs: scan(step, c, xs, dim=1, reverse=True), torch.ones(2), X)
        self.captured(lambda x: associative_scan(lambda a, b: a * b, x, 1, combine_mode="generic"), X)

    def test_without_data_and_before_autograd(self):
        f = lambda x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))  # noqa: E731
        for options in ({"tracing_mode": "fake"}, {"pre_dispatch": True}):
            self.assertIn("cond", targets(self.captured(f, X, others=[(X + 1,)], **options)))

    def test_branches_that_do_not_fit_are_errors(self):
        with self.assertRaises(UncapturedHigherOrderOpError):
            make_fx(lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: (x, x), (x,)))(X)


class WithoutData(Case):
    """Fake inputs: each function runs once, whatever a predicate from around it holds."""

    def test_a_predicate_with_data_beside_operands_without(self):
        for holds in (True, False):
            pred, around = torch.tensor(holds), X + 1

            def inner(x):
                return torch.cond(pred, lambda x: x.sin() + around, lambda x: x.cos(), (x,))

            def outer(x):
                return torch.cond(pred, inner, lambda x: x - 1, (x,))

            for mode in ("symbolic", "fake", "real"):
                self.captured(outer, X, tracing_mode=mode, _allow_non_fake_inputs=True)

    def test_no_operands_at_all(self):
        pred, around = torch.tensor(True), X + 1
        f = lambda x: x + torch.cond(pred, lambda: around.sin(), lambda: around.cos(), ())  # noqa: E731
        for mode in ("symbolic", "fake", "real"):
            self.captured(f, X, tracing_mode=mode, _allow_non_fake_inputs=True)

    def test_numbers_of_slices_stay_open(self):
        longer = torch.linspace(0, 1, 15).reshape(5, 3)
        for f in (lambda xs: map(lambda x: x.sin() + 1, xs), lambda xs: scan(lambda c, x: (c + x, c * x), torch.ones_like(xs[0]), xs)):
            self.captured(f, X, others=[(longer,)], tracing_mode="symbolic")
        self.captured(lambda p, xs: torch.cond(p, lambda xs: map(lambda x: x * 2, xs), lambda xs: xs + 1, (xs,)),
                      torch.tensor(True), X, others=[(torch.tensor(False), longer)], tracing_mode="symbolic")  # fmt: skip

    def test_a_condition_on_sizes_is_a_predicate(self):
        f = lambda x: torch.cond(x.shape[0] > 3, lambda x: x.sin() * x.shape[0], lambda x: x.cos(), (x,))  # noqa: E731
        with warnings.catch_warnings(action="ignore"):  # run as it is, the predicate is a bool
            graph = self.captured(f, X, others=[(torch.ones(4, 3),)], tracing_mode="symbolic")
            self.assertEqual(targets(graph)[-2:], ["cond", "<built-in function getitem>"])

            class Module(torch.nn.Module):
                forward = staticmethod(f)

            program = torch.export.export(Module(), (X,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
            for n in (2, 3, 4):
                self.same(program.module()(torch.ones(n, 3)), f(torch.ones(n, 3)))

    def test_a_condition_on_a_number_of_the_data_is_a_predicate(self):
        class Module(torch.nn.Module):
            def forward(self, x):
                found = x.nonzero()
                return torch.cond(found.size(0) > 3, lambda x: x + 1, lambda x: x + 3, (found,)) * 2

        program = torch.export.export(Module(), (torch.ones(7),))
        for x in (torch.ones(7), torch.eye(7)[0]):
            with warnings.catch_warnings(action="ignore"):
                self.same(program.module()(x), Module()(x))

    def test_a_size_of_a_tensor_from_around_a_function(self):
        f = lambda p, x: torch.cond(p, lambda y: y * x.shape[0], lambda y: y - x.shape[0], (x[0],))  # noqa: E731
        self.captured(f, torch.tensor(True), X, others=[(torch.tensor(False), torch.ones(4, 3))], tracing_mode="symbolic")

    def test_a_constant_of_a_branch(self):
        f = lambda x: torch.cond(x.sum() > 0, lambda x: x + torch.tensor([0.25, 0.5, 1.0]), lambda x: x.cos(), (x,))  # noqa: E731
        for mode in ("fake", "symbolic"):
            self.captured(f, X, others=[(X + 1,)], tracing_mode=mode)

    def test_a_loop_whose_condition_has_data_ends(self):
        go_on = torch.tensor(True)
        fakes = torch._subclasses.fake_tensor.FakeTensorMode(allow_non_fake_inputs=True)
        (out,) = while_loop(lambda x: go_on.clone(), lambda x: (x + 1,), (fakes.from_tensor(X),))
        self.assertEqual(out.shape, X.shape)


class UnderFunctionalize(Case):
    """Bodies get tensors whose changes are new values; the graph has none in place."""

    def check(self, function, *inputs, others=()):
        for options in ({}, {"tracing_mode": "symbolic", "_allow_non_fake_inputs": True}):
            graph = self.captured(functionalize(function), *inputs, others=others, **options)
            for module in graph.modules():
                for node in module.graph.nodes:
                    self.assertFalse(getattr(getattr(node.target, "_schema", None), "is_mutable", False), node.target)

    def test_changes_within_bodies(self):
        def twice(x):
            y = x.clone()
            y.add_(1).mul_(2)
            y[0] += 1
            return y

        self.check(lambda xs, y: map(lambda x, y: twice(x) + y, xs, y), X, W)
        self.check(lambda x: torch.cond(x.sum() > 0, twice, lambda x: twice(x).neg_(), (x,)), X, others=[(X + 1,)])
        self.check(lambda x: while_loop(lambda x: twice(x).sum() < 50, lambda x: (twice(x),), (x,)), X)
        self.check(lambda c, xs: scan(lambda c, x: (twice(c), twice(x) + c), c, xs), W, X)

    def test_loops_within_loops(self):
        def outer(i, x):
            j, x = while_loop(lambda j, x: j < 2, lambda j, x: (j + 1, x.clone().add_(W)), (torch.zeros_like(i), x))
            return i + 1, x

        self.check(lambda i, x: while_loop(lambda i, x: i < 3, outer, (i, x)), torch.tensor(0), X, others=[(torch.tensor(2), X)])

    def test_a_body_that_writes_its_input_is_an_error(self):
        with self.assertRaises(UncapturedHigherOrderOpError):
            make_fx(functionalize(lambda x: torch.cond(x.sum() > 0, lambda x: x.add_(1).sin(), lambda x: x.cos(), (x,))))(X.clone())


class Compiled(Case):
    """Under torch.compile the outermost call is one node, and its functions are captured once."""

    def compiled(self, function, *inputs):
        graphs = []
        backend = lambda graph, examples: graphs.append(graph) or graph  # noqa: E731
        self.same(torch.compile(function, backend=backend, fullgraph=True)(*inputs), function(*inputs))
        return graphs[0]

    def test_operators_of_bodies_are_nodes_of_bodies_alone(self):
        graph = self.compiled(lambda i, x: while_loop(lambda i, x: i > 0, lambda i, x: (i - 1, x * 2), (i, x)), torch.tensor(2), X)
        self.assertEqual(targets(graph), ["while_loop", *["<built-in function getitem>"] * 2])

    def test_loops_within_loops(self):
        def outer(i, j, x):
            i, j, x = while_loop(lambda i, j, x: j > 0, lambda i, j, x: (i.clone(), j - 1, x + 3), (i, j, x))
            return i - 1, j.clone(), x * 2

        graph = self.compiled(lambda i, j, x: while_loop(lambda i, j, x: i > 0, outer, (i, j, x)), torch.tensor(2), torch.tensor(2), X)
        self.assertEqual(targets(graph).count("while_loop"), 1)

    def test_sizes_that_functions_use_stay_open(self):
        # sizes of operands, of tensors from around a function, and of what is no operand at all
        for f in (
            lambda x: torch.cond(x.sum() > 7, lambda x: x * x.shape[0], lambda x: x - x.shape[0], (x,)),
            lambda x: torch.cond(x.sum() > 7, lambda y: y * x.shape[0], lambda y: y - x.shape[0], (x[0],)),
            lambda x: torch.cond(x.shape[0] > 3, lambda x: x * x.shape[0], lambda x: x - x.shape[0], (x,)),
            lambda x: torch.vmap(lambda y: y * x.shape[0])(x),
            lambda x: torch.func.grad(lambda y: (y * x.shape[0] * x).sum())(x),
            lambda x: torch.func.jvp(lambda y: y * x.shape[0], (x,), (x,))[1],
        ):
            compiled = torch.compile(f, dynamic=True, backend="eager")
            for n in (3, 4, 5):
                x = torch.ones(n, 2)
                with warnings.catch_warnings(action="ignore"):
                    self.same(compiled(x), f(x))

    def test_branches_within_branches(self):
        inner = lambda i, x: torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x * 3, (x,))  # noqa: E731
        graph = self.compiled(lambda i, x: torch.cond(i > 0, inner, lambda i, x: x + 1, (i, x)), torch.tensor(2), X)
        self.assertEqual(targets(graph)[1:], ["cond", "<built-in function getitem>"])


class Gradients(Case):
    def check(self, function, *inputs):
        inputs = [x.clone().requires_grad_() for x in inputs]

        def derivative(*inputs):
            total = sum((out**2).sum() for out in tree_leaves(function(*inputs)))
            return torch.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True)

        graph = make_fx(derivative)(*inputs)
        self.same(graph(*inputs), derivative(*inputs))
        for partition in ({}, {"partition_fn": min_cut_rematerialization_partition}):
            compiled = aot_function(function, nop, **partition)
            self.same(torch.autograd.grad(sum((out**2).sum() for out in tree_leaves(compiled(*inputs))), inputs), derivative(*inputs))
        return graph

    def test_of_branches(self):
        for sign in (1, -1):
            graph = self.check(lambda x, w: torch.cond(x.sum() > 0, lambda x: x * w, lambda x: (x * x).sin(), (x,)), X + sign, W)
            self.assertEqual(targets(graph).count("cond"), 2)

    def test_of_maps(self):
        self.check(lambda x, y, w: map(lambda x, y: (x * y).sin() * w, x, y), X, W, W + 1)

    def test_of_scans(self):
        self.check(lambda c, x, w: scan(lambda c, x: (c * x * w, c + x.sin()), c, x), W, X, W + 1)
        self.check(lambda c, x: scan(lambda c, x: (c * x, c + x.sin()), c, x, reverse=True), W, X)

    def test_of_loops(self):
        def f(i, x, w, steps):
            return while_loop(lambda i, x: i < steps, lambda i, x: (i + 1, (x * w).sin() + i), (i, x))[1]

        # the number of steps stays open in the graph of the gradient, too
        for options in ({}, {"tracing_mode": "fake"}, {"tracing_mode": "symbolic"}):
            derivative = lambda *inputs: torch.autograd.grad(f(*inputs).sum(), inputs[1:3], allow_unused=True, materialize_grads=True)  # noqa: E731
            graph = make_fx(derivative, **options)(torch.tensor(0), X.requires_grad_(), W.requires_grad_(), torch.tensor(3))
            for first, steps in ((0, 3), (1, 2), (0, 5), (4, 2)):
                inputs = torch.tensor(first), X, W, torch.tensor(steps)
                self.same(graph(*inputs), derivative(*inputs))
        X.requires_grad_(False), W.requires_grad_(False)
        self.check(lambda x, w: while_loop(lambda x: x.sum() < 9, lambda x: (x + w * w,), (x,)), X, W)
        self.check(lambda x, w: while_loop(lambda x: x.sum() < 9, lambda x: while_loop(lambda x: x.sum() < 2, lambda x: (x + w,), (x * w + 1,)), (x,)), X, W)

    def test_of_loops_over_a_module(self):
        layer = torch.nn.Linear(3, 3)
        f = lambda i, x: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, layer(x).sin()), (i, x))[1]  # noqa: E731
        compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
        for function in (f, compiled):
            function(torch.tensor(0), X).sum().backward()
        twice = layer.weight.grad.clone()
        layer.zero_grad()
        f(torch.tensor(0), X).sum().backward()
        self.same(twice, layer.weight.grad * 2)

    def test_of_associative_scans(self):
        self.check(lambda x: associative_scan(lambda a, b: a * b, x, 1, combine_mode="generic"), X)


if __name__ == "__main__":
    unittest.main()
