"""Joint graphs are split into forward and backward."""

import unittest

from cresset._functorch.partitioners import default_partition, min_cut_rematerialization_partition

import cresset as torch
from cresset import fx

aten = torch.ops.aten
X, W, G = torch.randn(100), torch.randn(100), torch.randn(())


def joint():
    """sum(exp(sin(x)) * w) with the gradients by x and w."""
    graph = fx.Graph()

    def node(value, target, *args):
        made = graph.call_function(target, args)
        made.meta["val"] = value
        return made

    def placeholder(name, value):
        made = graph.placeholder(name)
        made.meta["val"] = value
        return made

    x, w, g = placeholder("primals_1", X), placeholder("primals_2", W), placeholder("tangents_1", G)
    a = node(X, aten.sin.default, x)
    b = node(X, aten.exp.default, a)
    y = node(G, aten.sum.default, node(X, aten.mul.Tensor, b, w))
    e = node(X, aten.expand.default, g, [100])
    dw = node(X, aten.mul.Tensor, e, b)
    da = node(X, aten.mul.Tensor, node(X, aten.mul.Tensor, e, w), b)
    dx = node(X, aten.mul.Tensor, da, node(X, aten.cos.default, x))
    graph.output([y, dx, dw])
    return fx.GraphModule(torch.nn.Module(), graph)


def kept(module, results=1):
    return [n.name for n in module.graph.output_node().args[0][results:]]


def targets(module):
    return [str(n.target) for n in module.graph.nodes if n.op == "call_function"]


class Partition(unittest.TestCase):
    def halves(self, partition, **options):
        module = joint()
        forward, backward = partition(module, None, num_fwd_outputs=1, **options)
        expected = module(X, W, G)
        results = forward(X, W)
        gradients = backward(*results[1:], G)
        for got, value in zip((results[0], *gradients), expected, strict=True):
            self.assertTrue(torch.equal(got, value))
        return forward, backward

    def test_by_default_nothing_is_computed_again(self):
        forward, backward = self.halves(default_partition)
        self.assertEqual(kept(forward), ["primals_1", "primals_2", "exp_default"])
        self.assertEqual(targets(backward).count("aten.exp.default"), 0)

    def test_the_cut_keeps_fewer_bytes(self):
        forward, backward = self.halves(min_cut_rematerialization_partition)
        self.assertEqual(len(kept(forward)), 2)
        self.assertIn("aten.exp.default", targets(backward))

    def test_values_that_stay_cost_nothing(self):
        forward, _ = self.halves(min_cut_rematerialization_partition, static_lifetime_input_indices=[0, 1])
        self.assertEqual(len(kept(forward)), 2)

    def test_products_and_random_numbers_are_not_computed_again(self):
        for target, args in ((aten.mm.default, ("x", "x")), (aten.rand_like.default, ("x",))):
            graph = fx.Graph()
            x, g = graph.placeholder("primals_1"), graph.placeholder("tangents_1")
            for n in (x, g):
                n.meta["val"] = torch.ones(4, 4)
            y = graph.call_function(target, tuple(x for _ in args))
            z = graph.call_function(aten.sin.default, (y,))
            dz = graph.call_function(aten.mul.Tensor, (g, graph.call_function(aten.cos.default, (y,))))
            for n in graph.nodes:
                n.meta.setdefault("val", torch.ones(4, 4))
            graph.output([z, dz])
            forward, backward = min_cut_rematerialization_partition(fx.GraphModule(torch.nn.Module(), graph), None, num_fwd_outputs=1)
            self.assertEqual(len(kept(forward)), 1)
            self.assertNotIn(str(target), targets(backward))

    def test_more_results_than_there_are_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "expected at least 9 results of the joint graph, got 3"):
            default_partition(joint(), None, num_fwd_outputs=9)


if __name__ == "__main__":
    unittest.main()
