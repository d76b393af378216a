"""Partitions by capability: each option, against sets of nodes written down by hand and over random graphs."""

import operator
import random
import unittest

from cresset.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from cresset.fx.passes.operator_support import create_op_support

import cresset as torch
from cresset import fx

X = torch.linspace(-1, 1, 6).reshape(2, 3)
SUPPORTED = (operator.add, torch.relu, torch.clone, operator.getitem, torch.chunk)
SUPPORT = create_op_support(lambda modules, node: node.target in SUPPORTED)


def copies(x):
    a = torch.clone(torch.relu(torch.clone(x)))
    return torch.relu(torch.clone(torch.sin(a))).cos() + 1


def apart(x, y):
    return torch.relu(x) + 1, torch.relu(y) + 2


def items(x):
    a, b = torch.chunk(x, 2)
    return torch.relu(a).sin() + b


def found(function, bookends=True, **options):
    partitioner = CapabilityBasedPartitioner(fx.symbolic_trace(function), SUPPORT, **options)
    partitions = partitioner.propose_partitions()
    if not bookends:
        partitioner.remove_bookend_non_compute_ops(partitions)
    return sorted(sorted(n.name for n in p.nodes) for p in partitions)


class Options(unittest.TestCase):
    first, second = ["clone", "clone_1", "relu"], ["clone_2", "relu_1"]

    def test_single_nodes(self):
        self.assertEqual(found(copies), [self.first, self.second])
        self.assertEqual(found(copies, allows_single_node_partition=True), [["add"], self.first, self.second])
        self.assertEqual(found(copies, allowed_single_node_partition_ops=["_operator.add"]), [["add"], self.first, self.second])

    def test_functions_that_compute_nothing(self):
        free = {"non_compute_ops": ["torch.clone"]}
        self.assertEqual(found(copies, **free), [])
        self.assertEqual(found(copies, **free, allows_single_node_partition=True), [["add"], self.first, self.second])
        self.assertEqual(found(copies, **free, allowed_single_node_partition_ops=["torch.relu"]), [self.first, self.second])

    def test_functions_that_compute_nothing_are_taken_off_the_ends(self):
        free = {"non_compute_ops": ["torch.clone"], "bookends": False}
        self.assertEqual(found(copies, **free, allowed_single_node_partition_ops=["torch.relu"]), [["relu"], ["relu_1"]])

        def between(x):
            return torch.clone(torch.relu(torch.clone(torch.relu(torch.clone(x))))) * 2

        self.assertEqual(found(between, **free), [["clone_1", "relu", "relu_1"]])

    def test_nodes_that_do_not_need_each_other(self):
        self.assertEqual(found(apart), [["add", "add_1", "relu", "relu_1"]])
        self.assertEqual(found(apart, skip_horizontal_fusion=True), [["add", "relu"], ["add_1", "relu_1"]])

    def test_items_stay_with_what_they_are_taken_from(self):
        self.assertEqual(found(items), [["chunk", "getitem", "getitem_1", "relu"]])

    def test_partitions_do_not_need_each_other(self):
        def crossed(x):
            turned, wave = torch.neg(torch.neg(torch.relu(x))), torch.sin(x)
            first, single, second = torch.relu(turned), torch.relu(x), torch.relu(wave)
            late = torch.sin(second)
            return first, single, late + late

        # The first relu is needed by {relu_1, relu_3}, which the sum needs: no partition may have both.
        self.assertEqual(found(crossed, allows_single_node_partition=True), [["add", "relu_2"], ["relu"], ["relu_1", "relu_3"]])
        fused = CapabilityBasedPartitioner(fx.symbolic_trace(crossed), SUPPORT, allows_single_node_partition=True).partition_and_fuse()
        self.assertTrue(all(map(torch.equal, fused(X), crossed(X))))

    def test_names_of_parts(self):
        fused = CapabilityBasedPartitioner(fx.symbolic_trace(copies), SUPPORT).partition_and_fuse(prefix="mine_")
        self.assertEqual([name for name, _ in fused.named_children()], ["mine_0", "mine_1"])
        self.assertTrue(torch.equal(fused(X), copies(X)))


class Partitions(unittest.TestCase):
    def test_nodes_come_and_go(self):
        x, relu, _ = fx.symbolic_trace(lambda x: torch.relu(x)).graph.nodes
        partition = Partition(3, [x])
        partition.add_node(relu, 1)
        self.assertEqual((partition.id, partition.size(), repr(partition)), (3, 2, "[x, relu]"))
        partition.remove_node(x)
        self.assertEqual(partition.nodes, {relu: 1})
        with self.assertRaisesRegex(AssertionError, "got 1 nodes and 2 places"):
            Partition(0, [x], [1, 2])


class RandomGraphs(unittest.TestCase):
    def test_all_options_leave_the_values(self):
        for seed in range(60):
            chance = random.Random(seed)
            graph = fx.Graph()
            values = [graph.placeholder("x"), graph.placeholder("y")]
            for _ in range(chance.randint(2, 14)):
                target = chance.choice([operator.add, torch.relu, torch.clone, torch.neg, torch.sin])
                values.append(graph.call_function(target, tuple(chance.choices(values, k=2 if target is operator.add else 1))))
            graph.output(tuple(values[-3:]))
            module = fx.GraphModule({}, graph)
            expected = module(X, -X)
            partitioner = CapabilityBasedPartitioner(
                module, SUPPORT, allows_single_node_partition=chance.random() < 0.5, skip_horizontal_fusion=chance.random() < 0.5,
                non_compute_ops=chance.choice([None, ["torch.clone"]]), allowed_single_node_partition_ops=chance.choice([None, ["torch.relu"]]),
            )  # fmt: skip
            partitions = partitioner.propose_partitions()
            inside = [n for p in partitions for n in p.nodes]
            self.assertEqual(len(inside), len(set(inside)), seed)
            self.assertTrue(all(n.target in SUPPORTED for n in inside), seed)
            if chance.random() < 0.5:
                partitioner.remove_bookend_non_compute_ops(partitions)
                partitions = [p for p in partitions if p.nodes]
            fused = partitioner.fuse_partitions(partitions)
            fused.recompile()
            fused.graph.lint()
            self.assertTrue(all(map(torch.equal, fused(X, -X), expected)), seed)


if __name__ == "__main__":
    unittest.main()
