"""The search for nodes on which two ways to run a module disagree: its settings, its methods against every node tried by itself, its errors."""

import copy
import io
import random
import unittest
from contextlib import redirect_stdout

from cresset.fx.passes import net_min_base

import cresset as torch
from cresset import fx

X = torch.linspace(-1, 1, 6).reshape(2, 3)


class Minimizer(net_min_base._MinimizerBase):
    """The second way computes `tanh` for `sigmoid`."""

    def run_a(self, mod, inputs, report_idx=-1):
        return mod(*inputs)

    def run_b(self, mod, inputs, report_idx=-1):
        changed = copy.deepcopy(mod)
        for node in changed.graph.nodes:
            if node.target is torch.sigmoid:
                node.target = torch.tanh
        changed.recompile()
        return changed(*inputs)


class Failing(Minimizer):
    def run_b(self, mod, inputs, report_idx=-1):
        if any(node.target is torch.sigmoid for node in mod.graph.nodes):
            raise NotImplementedError("no sigmoid here")
        return mod(*inputs)


def branches(x):
    a = torch.sin(x)
    b, c = torch.sigmoid(a), torch.cos(a)
    return torch.relu(torch.sigmoid(c) + torch.neg(b))


class Case(unittest.TestCase):
    def setUp(self):
        self.log = []

    def compare(self, a, b, names):
        a, b = (v if isinstance(v, tuple) else (v,) for v in (a, b))
        self.log.append((list(names), len(a)))
        return max(float((p - q).abs().max()) for p, q in zip(a, b, strict=True)), all(map(torch.equal, a, b))

    def search(self, function=branches, kind=Minimizer, **settings):
        return kind(fx.symbolic_trace(function), (X,), self.compare, net_min_base._MinimizerSettingBase(**settings))

    def found(self, method, arguments=None, **settings):
        return sorted(n.name for n in self.search(traverse_method=method, **settings).minimize(**(arguments or {})))


class Settings(Case):
    def test_every_node_is_found_on_request(self):
        self.assertEqual(self.found("sequential"), ["sigmoid"])
        for method in ("sequential", "binary"):
            self.assertEqual(self.found(method, find_all=True, all_outputs=True), ["sigmoid", "sigmoid_1"], method)

    def test_errors_add_up(self):
        found = self.found("sequential", find_all=True, accumulate_error=True)
        self.assertEqual(found, ["add", "neg", "relu", "sigmoid", "sigmoid_1"])

    def test_the_last_node_is_compared_or_all_results(self):
        self.found("accumulate")
        self.assertEqual(self.log, [(["sin"], 1), (["sigmoid"], 1)])
        self.log.clear()
        self.assertEqual(self.found("accumulate", all_outputs=True), ["sigmoid"])
        self.assertEqual(self.log, [(["sin"], 1), (["sigmoid"], 2)])

    def test_a_run_compares_the_results_or_every_value(self):
        for every, seen in ((False, ([], 2)), (True, (["sin", "sigmoid", "cos", "sigmoid_1", "neg"], 5))):
            self.log.clear()
            with redirect_stdout(io.StringIO()) as out:
                self.search(return_intermediate=every).run_nodes("sin", "neg")
            self.assertEqual(self.log, [seen])
            self.assertIn("Result mismatch", out.getvalue())
        with redirect_stdout(io.StringIO()) as out:
            self.search().run_nodes("cos", "cos")
        self.assertIn("agree", out.getvalue())

    def test_a_stretch_ends_at_its_first_and_last_node(self):
        stretch = {"start": "sin", "end": "neg"}
        for last, nodes in ((None, ["sigmoid"]), (True, ["sigmoid", "sin"]), (False, ["neg", "sigmoid_1"])):
            self.assertEqual(self.found("block", {**stretch, "find_last_node": last}, all_outputs=True), nodes)
        self.assertEqual(self.found("sequential", {"start": "cos"}), ["sigmoid_1"])
        self.assertEqual(self.found("sequential", {"end": "sin"}), [])

    def test_stretches_between_nodes_to_leave_out(self):
        self.assertEqual(self.found("skip", {"skip_nodes": ["sigmoid", "cos"]}), ["add", "neg", "relu", "sigmoid_1"])
        self.assertEqual(self.found("skip", {"skip_nodes": ["sigmoid", "sigmoid_1"]}), [])

    def test_nodes_are_taken_out(self):
        def without_the_first(nodes, first, last):
            self.assertEqual((first, last), (0, len(nodes)))
            nodes[:] = [n for n in nodes if n.name != "sigmoid"]

        search = Minimizer(fx.symbolic_trace(branches), (X,), self.compare, net_min_base._MinimizerSettingBase(), exclusion_fn=without_the_first)
        self.assertEqual([n.name for n in search.minimize()], ["sigmoid_1"])

    def test_parts_that_disagree_are_handed_out(self):
        parts = []

        def export(inputs, part, name):
            parts.append((name, len(inputs), [n.name for n in part.graph.nodes if n.op == "call_function"]))

        Minimizer(fx.symbolic_trace(branches), (X,), self.compare, net_min_base._MinimizerSettingBase(), export).minimize()
        self.assertEqual(parts, [("sigmoid_cpu", 1, ["sigmoid"])])


class Errors(Case):
    def test_a_way_that_fails_disagrees(self):
        search = self.search(kind=Failing, find_all=True)
        self.assertEqual(sorted(n.name for n in search.minimize()), ["sigmoid", "sigmoid_1"])

    def test_names_that_are_none(self):
        for names in ({"start": "nothing"}, {"end": "nothing"}, {"start": "x"}):
            with self.assertRaisesRegex(ValueError, "names of nodes that call something, got '(nothing|x)'"):
                self.search().minimize(**names)

    def test_ways_that_are_not_defined_and_modules_that_are_none(self):
        search = self.search(kind=net_min_base._MinimizerBase)
        for way in (search.run_a, search.run_b):
            with self.assertRaisesRegex(RuntimeError, r"_MinimizerBase.run_[ab] is not defined"):
                way(None, ())
        with self.assertRaisesRegex(AssertionError, "expected a GraphModule, got function"):
            Minimizer(branches, (X,), self.compare, net_min_base._MinimizerSettingBase())


class RandomGraphs(Case):
    def test_the_methods_agree_with_every_node_tried_by_itself(self):
        for seed in range(25):
            chance = random.Random(seed)
            graph = fx.Graph()
            values = [graph.placeholder("x")]
            for _ in range(chance.randint(2, 12)):
                target = chance.choice([torch.sin, torch.cos, torch.sigmoid, torch.add])
                values.append(graph.call_function(target, tuple(chance.choices(values, k=2 if target is torch.add else 1))))
            graph.output(tuple(n for n in values if not n.users) or values[-1])
            module = fx.GraphModule({}, graph)
            bad = [n.name for n in graph.nodes if n.target is torch.sigmoid]

            def search(method, find_all, module=module):
                settings = net_min_base._MinimizerSettingBase(traverse_method=method, find_all=find_all, all_outputs=True)
                return sorted(n.name for n in Minimizer(module, (X,), self.compare, settings).minimize())

            for method in ("sequential", "binary"):
                self.assertEqual(search(method, True), sorted(bad), (seed, method))
            for method in ("sequential", "accumulate"):
                self.assertEqual(search(method, False), bad[:1], (seed, method))
            self.assertEqual(len(search("binary", False)), min(len(bad), 1), seed)


if __name__ == "__main__":
    unittest.main()
