"""Types of tensors with open sizes: checked through a graph, and found from what operators imply."""

import unittest

import pytest
from cresset.fx.experimental.graph_gradual_typechecker import GraphTypeChecker
from cresset.fx.experimental.refinement_types import Equality, Refine
from cresset.fx.experimental.unify_refinements import infer_symbolic_types
from cresset.fx.tensor_type import Dyn
from cresset.fx.tensor_type import TensorType as T

import cresset as torch
from cresset import fx, nn


def checked(function, *types):
    """The types of the nodes after the placeholders, of a function or module."""
    traced = fx.symbolic_trace(function)
    for node, kind in zip(traced.graph.find_nodes(op="placeholder"), types):
        node.type = kind
    assert GraphTypeChecker({}, traced).type_check()
    return [n.type for n in traced.graph.nodes if n.op.startswith("call")]


class Checker(unittest.TestCase):
    def test_sums_broadcast(self):
        for a, b, result in (
            (T((1, 2, 3, Dyn)), T((2, 3, 4)), T((1, 2, 3, Dyn))),
            (T((2, 1)), T((2, 3)), T((2, 3))),
            (T((2, Dyn)), T((Dyn, 3)), T((2, Dyn))),
            (T((2, 1, Dyn)), T((Dyn, 3)), T((2, Dyn, Dyn))),
            (T((1, 2, Dyn)), Dyn, Dyn),
            (int, T((2, 3)), T((2, 3))),
        ):
            self.assertEqual(checked(lambda x, y: torch.add(x, y), a, b), [result])
        with self.assertRaisesRegex(TypeError, "1, 2, 4"):
            checked(lambda x, y: x + y, T((1, 2, 3)), T((1, 2, 4)))

    def test_layers(self):
        block = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d((1, None)))
        for given, results in (
            (T((2, 3, 8, 9)), [T((2, 6, 8, 9))] * 3 + [T((2, 6, 4, 4)), T((2, 6, 1, 4))]),
            (T((2, Dyn, Dyn, 9)), [T((2, 6, Dyn, 9))] * 3 + [T((2, 6, Dyn, 4)), T((2, 6, 1, 4))]),
            (Dyn, [T((Dyn, 6, Dyn, Dyn))] * 4 + [T((Dyn, 6, 1, Dyn))]),
        ):
            self.assertEqual(checked(block, given), results)
        for wrong in (T((2, 4, 8, 8)), T((2, 2))):
            self.assertRaises(TypeError, checked, block, wrong)
        self.assertEqual(checked(nn.Sequential(nn.Linear(4, 5)), T((2, Dyn))), [T((2, 5))])
        self.assertRaises(TypeError, checked, nn.Sequential(nn.Linear(4, 5)), T((2, 3)))

    def test_shapes_changed(self):
        for function, given, result in (
            (lambda x: torch.flatten(x, 1), T((2, 3, 4)), T((2, 12))),
            (lambda x: torch.flatten(x, 1), T((2, Dyn, 4)), T((2, Dyn))),
            (lambda x: torch.transpose(x, 0, 1), T((1, 2, 3)), T((2, 1, 3))),
            (lambda x: torch.reshape(x, [3, -1]), T((2, 6)), T((3, 4))),
            (lambda x: x.reshape(1, 4), T((Dyn, 2)), T((1, 4))),
        ):
            self.assertEqual(checked(function, given), [result])
        self.assertRaises(TypeError, checked, lambda x: torch.transpose(x, 0, 1), T((1,)))
        self.assertRaises(TypeError, checked, lambda x: torch.reshape(x, [5, 2]), T((2, 6)))
        self.assertRaises(TypeError, checked, lambda x: torch.reshape(x, [1, 2, -1]), T((Dyn, 5)))
        with self.assertRaisesRegex(RuntimeError, "No inference rule.*register_inference_rule"):
            checked(lambda x: torch.cos(x), Dyn)


class Channels(unittest.TestCase):
    def test_the_declared_result_of_a_normalisation_has_its_channels(self):
        traced = fx.symbolic_trace(nn.Sequential(nn.BatchNorm2d(1)))
        list(traced.graph.nodes)[1].type = T((2, 2, Dyn, 4))
        self.assertRaises(TypeError, GraphTypeChecker({}, traced).type_check)


class Refinement(unittest.TestCase):
    def test_open_sizes_are_found(self):
        traced = fx.symbolic_trace(nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU()))
        x, conv, relu, _ = traced.graph.nodes
        x.type, relu.type = T((Dyn, 3, 8, 8)), T((2, Dyn, Dyn, Dyn))
        conv.type = T((Dyn, 6, 6, 6))
        infer_symbolic_types(traced)
        self.assertEqual([n.type for n in (x, conv, relu)], [T((2, 3, 8, 8)), T((2, 6, 6, 6)), T((2, 6, 6, 6))])

    def test_what_stays_open_is_one_variable(self):
        traced = fx.symbolic_trace(lambda x, y: torch.flatten(x + y, 1))
        x, y, add, flat, _ = traced.graph.nodes
        for node in (x, y, add):
            node.type = T((Dyn, 3, 4))
        flat.type = T((Dyn, 12))
        infer_symbolic_types(traced)
        self.assertEqual(str(flat.type.__args__[0]), str(add.type.__args__[0]))
        self.assertEqual([str(n.type.__args__[0]) for n in (x, y)], ["~0", "~1"])  # each may be 1, and widened

    def test_sizes_that_both_summands_have_are_those_of_the_sum(self):
        traced = fx.symbolic_trace(lambda x, y: x + y)
        for node, kind in zip(traced.graph.nodes, (T((1, 2, 3, Dyn)), T((2, 3, 4)), T((1, 2, 3, Dyn)))):
            node.type = kind
        refined = Refine(traced)
        refined.refine()
        self.assertEqual(refined.constraints, [Equality(1, 1), Equality(2, 2), Equality(3, 3)])

    def test_sizes_after_convolutions_are_expressions(self):
        sympy = pytest.importorskip("sympy")
        traced = fx.symbolic_trace(nn.Sequential(nn.Conv2d(3, 6, 5)))
        for node, kind in zip(traced.graph.nodes, (T((4, 3, Dyn, Dyn)), T((4, 6, Dyn, Dyn)))):
            node.type = kind
        infer_symbolic_types(traced)
        self.assertEqual(list(traced.graph.nodes)[1].type, T((4, 6, *(sympy.floor(sympy.Symbol(f"~{i}") - 4) for i in (0, 1)))))


if __name__ == "__main__":
    unittest.main()
