"""Tools on graphs: the smallest part that fails, equal calls once, vmap in parts."""

import unittest

from cresset._functorch._aot_autograd.subclass_parametrization import unwrap_tensor_subclass_parameters
from cresset._functorch.apis import chunk_vmap
from cresset._functorch.compile_utils import fx_graph_cse, get_aten_target, get_outputs, get_placeholders, raise_getitems, strip_overloads
from cresset.functorch.compile import aot_module_simplified, minifier, nop
from cresset.fx.experimental.proxy_tensor import make_fx

import cresset as torch
from cresset import nn

X = torch.linspace(-1, 1, 6).reshape(2, 3)


def names(graph):
    return [node.name for node in graph.nodes if node.op == "call_function"]


class Minifier(unittest.TestCase):
    def smallest(self, function, target, *inputs, **options):
        def fails(module, given):
            module(*given)
            return any(node.target is target for node in module.graph.nodes)

        return minifier(make_fx(function)(*inputs), list(inputs), fails, **options)

    def test_calls_around_the_one_that_fails_go(self):
        seen = []
        module, inputs = self.smallest(
            lambda x, y: ((x.exp() + y).sin() * 2).cos().sum(), torch.ops.aten.sin.default, X, X, dump_state=lambda module, inputs: seen.append(len(inputs))
        )
        self.assertEqual(names(module.graph), ["sin"])
        self.assertEqual(len(inputs), 1)
        self.assertTrue(torch.allclose(inputs[0], X.exp() + X))
        self.assertTrue(seen)

    def test_results_that_need_each_other_stay(self):
        def fails(module, given):
            return {"sin", "cos"} <= {getattr(node.target, "_opname", "") for node in module.graph.nodes}

        module, _ = minifier(make_fx(lambda x: (x.sin() * 2).cos() + x)(X), [X], fails)
        self.assertEqual(names(module.graph), ["sin", "mul", "cos"])

    def test_results_that_do_not_matter_go(self):
        def fails(module, inputs):
            return bool({n for n in module.graph.nodes if n.op == "placeholder"} & set(module.graph.output_node().all_input_nodes))

        module, inputs = minifier(make_fx(lambda a, b, c: (a.sin(), b, c.cos(), a.sin() * c.cos()))(X, X, X), [X, X, X], fails)
        self.assertEqual([node.op for node in module.graph.nodes], ["placeholder", "output"])
        self.assertEqual(len(inputs), 1)

    def test_mistakes(self):
        graph = make_fx(torch.sin)(X)
        with self.assertRaisesRegex(RuntimeError, "module_fails does not hold"):
            minifier(graph, [X], lambda module, inputs: False)
        with self.assertRaisesRegex(RuntimeError, "power of two, got 3"):
            minifier(graph, [X], lambda module, inputs: True, max_granularity=3)
        with self.assertRaises(NotImplementedError):
            minifier(graph, [X], lambda module, inputs: True, save_dir="/tmp")


class Graphs(unittest.TestCase):
    def test_equal_calls_stand_once(self):
        self.assertEqual(names(fx_graph_cse(make_fx(lambda x: x.sin() + x.sin() + torch.rand(2, 3) + torch.rand(2, 3))(X).graph)).count("sin"), 1)

    def test_operators_without_overloads(self):
        module = make_fx(lambda x: x + 1)(X)
        (add,) = (node for node in module.graph.nodes if node.op == "call_function")
        self.assertIs(get_aten_target(add), torch.ops.aten.add)
        strip_overloads(module)
        self.assertIs(add.target, torch.ops.aten.add)
        self.assertTrue(torch.equal(module(X), X + 1))

    def test_inputs_results_and_items(self):
        module = make_fx(lambda x: (x.topk(1)[1], x + 1))(X)
        self.assertEqual([n.name for n in get_placeholders(module.graph)], ["x_1"])
        self.assertEqual([n.name for n in get_outputs(module.graph)], ["getitem_1", "add"])
        self.assertEqual(names(raise_getitems(module).graph)[:2], ["topk", "getitem_1"])

    def test_options_of_inductor_are_refused(self):
        with self.assertRaisesRegex(NotImplementedError, "compile_region_name='r' is not supported"):
            aot_module_simplified(nn.ReLU(), [X], nop, compile_region_name="r")


class Two(torch.Tensor):
    """Two tensors that go through the same operators."""

    @staticmethod
    def __new__(cls, a, b):
        return torch.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype, requires_grad=a.requires_grad)

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Two(inner["a"], inner["b"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        results = []
        for name in ("a", "b"):
            plain, named = torch.utils._pytree.tree_map_only(Two, lambda t, name=name: getattr(t, name), (args, kwargs or {}))
            results.append(func(*plain, **named))
        return Two(*results) if isinstance(results[0], torch.Tensor) else results[0]


class Classes(unittest.TestCase):
    def test_parameters_of_classes_are_the_tensors_that_they_hold(self):
        module = nn.Sequential(nn.Linear(2, 2), nn.Module())
        a, b, c = (torch.full((2,), float(n)) for n in range(3))
        module[1].w = nn.Parameter(Two(Two(a, b), c), requires_grad=False)
        self.assertIs(unwrap_tensor_subclass_parameters(module), module)
        originals = [f"1.parametrizations.w.original{i}" for i in range(3)]
        self.assertEqual(list(module.state_dict()), ["0.weight", "0.bias", *originals])
        self.assertTrue(all(type(module.state_dict()[name]) is torch.Tensor for name in originals))
        self.assertIsInstance(module[1].w, Two)
        for found, expected in zip((module[1].w.a.a, module[1].w.a.b, module[1].w.b), (a, b, c), strict=True):
            self.assertTrue(torch.equal(found, expected))


class Parts(unittest.TestCase):
    def test_vmap_in_parts(self):
        for chunks in (1, 2, 3, 9):
            self.assertTrue(torch.equal(chunk_vmap(lambda x, y: x * y, (1, None), chunks=chunks)(X, torch.ones(2)), X.t()))
        with self.assertRaisesRegex(ValueError, "1 chunk or more, got 0"):
            chunk_vmap(torch.sin, chunks=0)


if __name__ == "__main__":
    unittest.main()
