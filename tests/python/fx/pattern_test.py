"""Patterns in graphs: places that are like them, and their replacement."""

import unittest

from cresset.fx.passes.utils.common import compare_graphs
from cresset.fx.passes.utils.matcher_utils import SubgraphMatcher
from cresset.fx.passes.utils.matcher_with_name_node_map_utils import SubgraphMatcherWithNameNodeMap, _split_to_graph_and_name_node_map
from cresset.fx.subgraph_rewriter import replace_pattern_with_filters

import cresset as torch
from cresset import fx, nn

X = torch.linspace(-1, 1, 6).reshape(2, 3)


def calls(module):
    return [n.target if isinstance(n.target, str) else n.target.__name__ for n in module.graph.nodes if n.op.startswith("call")]


class Replacing(unittest.TestCase):
    def test_all_places(self):
        traced = fx.symbolic_trace(lambda x, w: torch.cat([x, w]).sum() + torch.cat([w, x]).sum() * 2)
        matches = fx.replace_pattern(traced, lambda a, b: torch.cat([a, b]).sum(), lambda a, b: torch.stack([a, b]).mean())
        self.assertEqual(len(matches), 2)
        self.assertEqual(calls(traced), ["stack", "mean", "mul", "stack", "mean", "add"])
        self.assertTrue(torch.equal(traced(X, X), X.mean() * 3))

    def test_modules_bring_their_own(self):
        class Pattern(nn.Module):
            def forward(self, x):
                return torch.relu(x) + 1

        class Replacement(nn.Module):
            def __init__(self):
                super().__init__()
                self.act, self.shift = nn.Tanh(), nn.Parameter(torch.ones(3))

            def forward(self, x):
                return self.act(x) + self.shift

        traced = fx.symbolic_trace(lambda x: (torch.relu(x) + 1) * 2)
        self.assertEqual(len(fx.replace_pattern(traced, Pattern(), Replacement())), 1)
        self.assertTrue(torch.equal(traced(X), (X.tanh() + 1) * 2))
        self.assertEqual([name for name, _ in traced.named_parameters()], ["shift"])

    def test_replacements_in_a_row(self):
        traced = fx.symbolic_trace(lambda x: x.relu().relu().relu())
        self.assertEqual(len(fx.replace_pattern(traced, lambda v: v.relu(), lambda v: v.exp().log())), 3)
        traced.graph.lint()
        self.assertEqual(calls(traced), ["exp", "log"] * 3)

    def test_values_used_elsewhere_stay(self):
        traced = fx.symbolic_trace(lambda x: (x.relu().neg(), x.relu()))
        self.assertEqual(len(fx.replace_pattern(traced, lambda v: v.relu().neg(), lambda v: v)), 1)

        def shared(x):
            y = x.relu()
            return y.neg() + y

        traced = fx.symbolic_trace(shared)
        self.assertEqual(len(fx.replace_pattern(traced, lambda v: v.relu().neg(), lambda v: v)), 0)

    def test_filters_and_callbacks(self):
        def f(x):
            return torch.add(x, 1).relu() + torch.add(x, 2).relu()

        traced = fx.symbolic_trace(f)
        found = replace_pattern_with_filters(
            traced, lambda a, k: torch.add(a, k).relu(), lambda a, k: torch.sub(a, k), [lambda m, g, p: m.placeholder_nodes[1] == 2]
        )
        self.assertEqual([[n.target.__name__ for n in m.replacements] for m in found], [["sub"]])
        self.assertTrue(torch.equal(traced(X), (X + 1).relu() + (X - 2)))
        traced = fx.symbolic_trace(f)
        made = fx.symbolic_trace(lambda a, k: a * k).graph
        found = replace_pattern_with_filters(traced, lambda a, k: torch.add(a, k).relu(), replacement_callback=lambda m, g, p: made)
        self.assertTrue(torch.equal(traced(X), X + X * 2))
        self.assertEqual(len(found), 2)

    def test_constants(self):
        for ignore, count in ((False, 1), (True, 2)):
            traced = fx.symbolic_trace(lambda x: torch.add(x, 1) * torch.add(x, 2))
            found = replace_pattern_with_filters(traced, lambda a: torch.add(a, 1), lambda a: a, ignore_literals=ignore)
            self.assertEqual(len(found), count)

    def test_parameters_have_to_fit(self):
        with self.assertRaisesRegex(AssertionError, "2 parameters and the replacement 1"):
            fx.replace_pattern(fx.symbolic_trace(lambda x, y: x + y), lambda a, b: a + b, lambda a: a)


class Matching(unittest.TestCase):
    def test_places(self):
        pattern = fx.symbolic_trace(lambda a, b: torch.add(a, b).relu()).graph
        graph = fx.symbolic_trace(lambda x, y: (torch.add(x, y).relu(), torch.add(y, x).relu())).graph
        matches = SubgraphMatcher(pattern).match(graph)
        self.assertEqual([[n.name for n in m.returning_nodes] for m in matches], [["relu"], ["relu_1"]])
        self.assertEqual([[n.name for n in m.placeholder_nodes] for m in matches], [["x", "y"], ["y", "x"]])
        with self.assertRaises(ValueError):
            SubgraphMatcher(fx.Graph())

    def test_one_value_in_two_places(self):
        pattern = fx.symbolic_trace(lambda a: a.sin() * a.cos()).graph
        for function, count in ((lambda x, y: x.sin() * x.cos(), 1), (lambda x, y: x.sin() * y.cos(), 0)):
            self.assertEqual(len(SubgraphMatcher(pattern).match(fx.symbolic_trace(function).graph)), count)

    def test_graphs_are_compared(self):
        one, same, other = (fx.symbolic_trace(f).graph for f in (lambda x: x + 1, lambda y: y + 1, lambda x: x + 2))
        self.assertTrue(compare_graphs(one, same))
        self.assertFalse(compare_graphs(one, other))


class NamedNodes(unittest.TestCase):
    def test_patterns_of_exported_programs_name_nodes(self):
        class Pattern(nn.Module):
            def forward(self, x):
                act = torch.relu(x)
                return act.neg(), {"act": act}

        class Program(nn.Module):
            def forward(self, x):
                return torch.relu(x + 1).neg() * 2

        pattern, program = (torch.export.export(module(), (X,)).module() for module in (Pattern, Program))
        (match,) = SubgraphMatcherWithNameNodeMap(pattern).match(program.graph)
        self.assertEqual({name: str(node.target) for name, node in match.name_node_map.items()}, {"act": "aten.relu.default"})
        split, names = _split_to_graph_and_name_node_map(pattern)
        self.assertEqual(list(names), ["act"])
        self.assertTrue(torch.equal(split(X)[0], X.relu().neg()))


class Arguments(unittest.TestCase):
    def test_defaults_of_the_schema_stand_for_arguments_not_given(self):
        aten = torch.ops.aten
        pattern = fx.symbolic_trace(lambda x, size, step, pad: aten.max_pool2d_with_indices.default(x, size, step, pad)).graph
        for program in (lambda x: aten.max_pool2d_with_indices.default(x, [2, 2]), lambda x: aten.max_pool2d_with_indices.default(x, [2, 2], padding=[1, 1])):
            self.assertEqual(len(SubgraphMatcher(pattern).match(fx.symbolic_trace(program).graph)), 1)

    def test_lists_of_other_lengths_differ(self):
        aten = torch.ops.aten
        graph = fx.symbolic_trace(lambda x, y: aten._reshape_alias_copy.default(x, [1, y.shape[0]], [y.shape[1], y.shape[1]])).graph
        pattern = fx.symbolic_trace(lambda x, y, b: aten._reshape_alias_copy.default(x, [b, y.shape[0], y.shape[1]], [y.shape[1]])).graph
        self.assertEqual(SubgraphMatcher(pattern).match(graph), [])
        strided = aten._reshape_alias_copy.default(X, [2, 2], [3, 1])
        self.assertEqual((strided.tolist(), strided.stride()), (X[:, :2].tolist(), (2, 1)))


if __name__ == "__main__":
    unittest.main()
