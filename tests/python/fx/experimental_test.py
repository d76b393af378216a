"""Experimental passes of graphs: source changed before tracing, products merged, types noted, partitions for devices, unification."""

import operator
import unittest

from cresset.fx.experimental import debug, merge_matmul
from cresset.fx.experimental.accelerator_partitioner import Partitioner
from cresset.fx.experimental.normalize import NormalizeOperators
from cresset.fx.experimental.partitioner_utils import Device, NodeLatency, Partition, PartitionerConfig, PartitionMode, get_latency_of_one_partition
from cresset.fx.experimental.rewriter import RewritingTracer
from cresset.fx.experimental.schema_type_annotation import AnnotateTypesWithSchema
from cresset.fx.experimental.unification.multipledispatch import AmbiguityWarning, Dispatcher, MDNotImplementedError, dispatch
from cresset.fx.passes.graph_manipulation import get_size_of_all_nodes

import cresset as torch
from cresset import fx, nn

X = torch.arange(6.0).reshape(2, 3)
LIMIT = 3


def bounded(x):
    assert x.sum() < LIMIT, "too large"
    return x + 1


class Checked(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, bound=20):
        y: torch.Tensor = self.linear(x)
        assert x.sum() < bound
        return y


def rewritten(root):
    tracer = RewritingTracer()
    graph = tracer.trace(root)
    return fx.GraphModule(tracer.root, graph)


class Rewriting(unittest.TestCase):
    def test_asserts_are_nodes(self):
        traced = rewritten(bounded)
        self.assertEqual(len(traced.graph.find_nodes(op="call_function", target=torch._assert)), 1)
        self.assertEqual(traced(torch.ones(2)).tolist(), [2, 2])
        with self.assertRaisesRegex(AssertionError, "too large"):
            traced(X)

    def test_modules_keep_their_parameters_and_paths(self):
        module = Checked()
        traced = rewritten(module)
        self.assertIs(traced.linear.weight, module.linear.weight)
        (node,) = traced.graph.find_nodes(op="call_module")
        self.assertEqual((node.target, node.type), ("linear", torch.Tensor))
        self.assertRaises(AssertionError, traced, X, 3)
        self.assertEqual(traced(X).shape, (2, 3))
        self.assertIs(type(module), Checked)

    def test_modules_within_modules(self):
        traced = rewritten(nn.Sequential(nn.ReLU(), Checked()))
        self.assertEqual([n.target for n in traced.graph.find_nodes(op="call_module")], ["0", "1.linear"])
        self.assertEqual(len(traced.graph.find_nodes(op="call_function", target=torch._assert)), 1)

    def test_texts_of_several_lines_keep_them(self):
        class Module(nn.Module):
            def forward(self, x):
                message = """
too
  large"""
                assert x.sum() < LIMIT, message
                return x

        with self.assertRaisesRegex(AssertionError, "^\ntoo\n  large$"):
            rewritten(Module())(X)

    def test_outer_variables(self):
        limit = torch.tensor(4.0)

        def small(x):
            assert x.sum() < limit
            return x * limit

        self.assertEqual(rewritten(small)(torch.ones(1)).tolist(), [4])
        self.assertRaises(AssertionError, rewritten(small), X)


class MergedProducts(unittest.TestCase):
    def count(self, module):
        return len(module.graph.find_nodes(op="call_function", target=torch.matmul))

    def test_one_right_side(self):
        class Module(nn.Module):
            def __init__(self):
                super().__init__()
                self.right = torch.arange(12.0).reshape(3, 4)

            def forward(self, x, y, z):
                return torch.matmul(x, self.right).sum() + torch.matmul(y, self.right).sum(), torch.matmul(z, z)

        module = Module()
        merged = merge_matmul.merge_matmul(module)
        self.assertEqual(self.count(merged), 2)
        given = (X, torch.ones(5, 3), torch.eye(2))
        for a, b in zip(merged(*given), module(*given)):
            self.assertTrue(torch.equal(a, b))

    def test_products_that_need_each_other_stay(self):
        def chained(x, m):
            return torch.matmul(torch.relu(torch.matmul(x, m)), m)

        self.assertEqual(self.count(merge_matmul.merge_matmul(fx.symbolic_trace(chained))), 2)


class Types(unittest.TestCase):
    def test_results_and_attributes(self):
        class Module(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(3))

            def forward(self, x):
                return torch.add(nn.functional.relu(x * self.weight), 1)

        annotated = AnnotateTypesWithSchema(fx.symbolic_trace(Module())).transform()
        kinds = {node.name: node.type for node in annotated.graph.nodes}
        self.assertEqual((kinds["weight"], kinds["relu"], kinds["add"]), (torch.Tensor, torch.Tensor, None))
        without = AnnotateTypesWithSchema(fx.symbolic_trace(Module()), annotate_functionals=False, annotate_get_attrs=False).transform()
        self.assertEqual({node.type for node in without.graph.nodes}, {None})
        self.assertTrue(torch.equal(annotated(X), X + 1))

    def test_layers(self):
        annotated = AnnotateTypesWithSchema(fx.symbolic_trace(nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.LSTM(3, 3)))).transform()
        self.assertEqual([n.type for n in annotated.graph.find_nodes(op="call_module")], [torch.Tensor, torch.Tensor, None])

    def test_operators_of_python(self):
        def f(x, y):
            return torch.add(x, y, alpha=2) + torch.mul(x, y) + torch.div(x, 2)

        made = NormalizeOperators(fx.symbolic_trace(f)).transform()
        self.assertEqual([n.target for n in made.graph.nodes if n.op == "call_function"][:2], [torch.add, operator.mul])
        self.assertEqual(len(made.graph.find_nodes(op="call_function", target=operator.truediv)), 1)
        self.assertTrue(torch.equal(made(X, X), f(X, X)))


class Debugging(unittest.TestCase):
    def test_the_code_stops_first(self):
        traced = debug.set_trace(fx.symbolic_trace(lambda x: -x))
        self.assertIn("pdb.set_trace()", traced.code.strip().splitlines()[1])


class Dispatching(unittest.TestCase):
    def test_the_most_special_implementation_is_called(self):
        join = Dispatcher("join")
        join.add((object, object), lambda a, b: "any")
        join.add((int, (int, float)), lambda a, b: "numbers")

        @join.register(bool, int)
        def _(a, b):
            if b == 0:
                raise MDNotImplementedError
            return "truth"

        self.assertEqual([join(*given) for given in (("a", 1), (1, 2.0), (True, 1), (True, 0))], ["any", "numbers", "truth", "numbers"])
        with self.assertRaisesRegex(NotImplementedError, "join: no implementation.*int"):
            join(1)

    def test_equally_special_implementations_warn(self):
        unclear = Dispatcher("unclear")
        unclear.add((int, object), lambda a, b: 1)
        unclear.add((object, int), lambda a, b: 2)
        with self.assertWarnsRegex(AmbiguityWarning, "unclear"):
            unclear(1, 1)
        self.assertRaises(TypeError, unclear.add, ("int",), len)

    def test_methods(self):
        space = {}

        class Printer:
            @dispatch(int, namespace=space)
            def text(self, x):
                return f"int {x}"

            @dispatch(str, namespace=space)
            def text(self, x):  # noqa: F811
                return f"str {x}"

        self.assertEqual((Printer().text(1), Printer().text("a")), ("int 1", "str a"))


class Partitions(unittest.TestCase):
    """Modules split over devices: their results stay, and no device holds more than its memory."""

    def module(self):
        class Module(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(4, 4)
                self.c = torch.ones(4)

            def forward(self, a, b):
                return self.linear(a + b) + self.c

        return Module()

    def split(self, devices, args=(torch.ones(4), torch.ones(4)), module=None, **config):
        module = module or self.module()
        traced = fx.symbolic_trace(module)
        get_size_of_all_nodes(traced, args)
        partitioner = Partitioner()
        config = {key: value(traced) if callable(value) else value for key, value in config.items()}
        result = partitioner.partition_graph(traced, module, PartitionerConfig([Device(f"dev_{i}", m, i) for i, m in enumerate(devices)], **config))
        self.assertTrue(torch.equal(result.module_with_submodules(*args), module(*args)))
        for partition in partitioner.partitions:
            for number in partition.logical_device_ids:
                self.assertLessEqual(partition.used_mem_bytes, devices[number])
        return result.dag.nodes

    def test_one_device_suffices(self):
        (node,) = self.split([1000])
        self.assertEqual(node.logical_device_ids, [0])

    def test_by_size(self):
        nodes = self.split([125, 125, 125])
        self.assertEqual([node.logical_device_ids for node in nodes], [[0], [1], [2]])

    def test_devices_are_too_small(self):
        for devices in ([], [10], [60, 60, 60, 60]):
            self.assertRaises(RuntimeError, self.split, devices)

    def test_as_given(self):
        numbers = {"add": 0, "linear": 1, "add_1": 0}
        nodes = self.split([50, 50, 50], node_to_partition_mapping=lambda g: {n: 1 if n.name == "linear" else 0 for n in g.graph.nodes},
                           partition_to_logical_device_mapping={0: [0], 1: [1]}, mode=PartitionMode.aot_based,
                           module=nn.Sequential(nn.ReLU(), nn.Tanh()), args=(torch.ones(4),))  # fmt: skip
        self.assertEqual(len(nodes), 1, numbers)

    def test_by_latency(self):
        def latency(traced):
            return {n: NodeLatency(1.0, 2.0) for n in traced.graph.nodes}

        for mode in (PartitionMode.cost_aware, PartitionMode.kl_based):
            nodes = self.split([125, 125, 125], mode=mode, node_to_latency_mapping=latency, transfer_rate_bytes_per_sec=0.5)
            self.assertLessEqual(len(nodes), 3)

    def test_embeddings_apart(self):
        class Recommender(nn.Module):
            def __init__(self):
                super().__init__()
                self.tables = nn.ModuleList(nn.EmbeddingBag(100, 4, mode="sum") for _ in range(3))
                self.top = nn.Linear(12, 1)

            def forward(self, index):
                return self.top(torch.cat([table(index) for table in self.tables], 1))

        nodes = self.split([2000] * 4, (torch.ones(2, 3, dtype=torch.int64),), Recommender(), mode=PartitionMode.sparse_nn)
        self.assertEqual(len(nodes), 4)

    def test_spare_devices_run_copies(self):
        nodes = self.split([125] * 7, saturate_host=True)
        self.assertEqual([len(node.logical_device_ids) for node in nodes], [2, 2, 2])

    def test_latency_of_a_graph(self):
        traced = fx.symbolic_trace(lambda x: ((x + 1).relu(), (x * 2).neg()))
        get_size_of_all_nodes(traced, [torch.ones(4)])
        times = {n: NodeLatency(1.0, 2.0) if n.name in ("add", "relu") else NodeLatency(3.0, 0.5) for n in traced.graph.nodes}
        partition = Partition(0)
        for node in traced.graph.nodes:
            if node.op.startswith("call"):
                partition.add_node(node)
        self.assertEqual(get_latency_of_one_partition(partition, times), (6.0, 1.0, 6.0))
        with self.assertRaisesRegex(RuntimeError, "size_bytes"):
            Partition(1).add_node(next(iter(fx.symbolic_trace(lambda x: x + 1).graph.nodes)))


if __name__ == "__main__":
    unittest.main()
