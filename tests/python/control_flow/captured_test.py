"""Control flow in graphs: functions become modules, tensors from around them inputs, gradients calls of the same operator."""

import unittest

from cresset._dynamo.exc import UncapturedHigherOrderOpError
from cresset._higher_order_ops import associative_scan, map, scan, while_loop
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

    def test_of_associative_scans(self):
        self.check(lambda x: associative_scan(lambda a, b: a * b, x, 1, combine_mode="generic"), X)


if __name__ == "__main__":
    unittest.main()
