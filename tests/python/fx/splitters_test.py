"""Splitters into parts for an accelerator and for the host: each setting, what splits return, values over random graphs."""

import io
import operator
import random
import unittest
from contextlib import redirect_stdout

from cresset.fx.passes import splitter_base
from cresset.fx.passes.operator_support import OperatorSupport
from cresset.fx.passes.shape_prop import ShapeProp

import cresset as torch
from cresset import fx

X = torch.linspace(-1, 1, 6).reshape(2, 3)
SUPPORT = OperatorSupport({"torch.relu": None, "_operator.add": None})
SIZES = OperatorSupport({"torch.relu": None, "_operator.add": None, "_operator.sub": None, "size": None, "_operator.getitem": None})


def f(x):
    return torch.relu(x + 1).sin() + torch.relu(x)


def reshaped(x):
    return torch.relu(x).reshape(x.size()[0] + 1 - 1, -1)


def traced(function, *args):
    module = fx.symbolic_trace(function)
    ShapeProp(module).propagate(*args)
    return module


def splitter(function=f, support=SUPPORT, options=None, kind=splitter_base._SplitterBase, **settings):
    return kind(traced(function, X), (X,), support, splitter_base._SplitterSettingBase(**settings), **(options or {}))


def names(module):
    return [name for name, _ in module.named_children()]


class Settings(unittest.TestCase):
    def homes(self, function=f, support=SUPPORT, **settings):
        made = splitter(function, support, **settings)
        self.assertTrue(torch.equal(made()(X), function(X)))
        homes = {}
        for node, part in made.get_node_submodule_map().items():
            homes.setdefault(part, set()).add(node)
        return homes

    def test_small_parts_run_on_the_host(self):
        accelerated = {"add", "relu", "relu_1"}
        self.assertEqual(self.homes(), {"_run_on_acc_0": accelerated, "_run_on_cpu_1": {"sin"}, "_run_on_acc_2": {"add_1"}})
        for least in (2, 3):
            self.assertEqual(self.homes(min_acc_module_size=least), {"_run_on_acc_0": accelerated, "_run_on_cpu_1": {"sin", "add_1"}})
        self.assertEqual(self.homes(min_acc_module_size=4), {"_run_on_cpu_0": {"sin", "add_1", *accelerated}})

    def test_values_that_are_no_tensors_cross_where_they_may(self):
        numbers = {"size", "getitem", "add", "sub"}
        apart = {"_run_on_cpu_0": numbers, "_run_on_acc_1": {"relu"}, "_run_on_cpu_2": {"reshape"}}
        self.assertEqual(self.homes(reshaped, SIZES), apart)
        self.assertEqual(self.homes(reshaped, SIZES, skip_fusion=True), apart)
        self.assertEqual(self.homes(reshaped, SIZES, allow_non_tensor=True), apart)
        together = {"_run_on_acc_0": {"relu", *numbers}, "_run_on_cpu_1": {"reshape"}}
        self.assertEqual(self.homes(reshaped, SIZES, allow_non_tensor=True, skip_fusion=True), together)

    def test_the_number_of_parts_is_bounded(self):
        for most in (-1, 2, 3):
            splitter(max_acc_splits=most)()
        for most in (0, 1):
            with self.assertRaisesRegex(ValueError, f"found 2 parts for the accelerator, allowed are {most}"):
                splitter(max_acc_splits=most)()


class Results(unittest.TestCase):
    def test_names_and_tuples(self):
        split = splitter(options={"non_acc_submodule_name": "_host_", "return_tuple": True})()
        self.assertEqual(names(split), ["_run_on_acc_0", "_host_1", "_run_on_acc_2"])
        self.assertTrue(all(isinstance(part.graph.output_node().args[0], tuple) for part in split.children()))
        self.assertTrue(torch.equal(split(X), f(X)))

    def test_inputs_of_all_parts_come_along(self):
        split, inputs, prefix = splitter().generate_split_results()
        self.assertEqual(prefix, "_run_on_cpu_")
        self.assertEqual({name: len(given) for name, given in inputs.items()}, {"_run_on_acc_0": 1, "_run_on_cpu_1": 1, "_run_on_acc_2": 2})
        (sine,) = inputs["_run_on_cpu_1"]
        self.assertTrue(torch.equal(sine, torch.relu(X + 1)))
        self.assertTrue(torch.equal(split(X), f(X)))

    def test_inputs_are_copied_on_request(self):
        class Writing(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = torch.nn.Identity()

            def forward(self, x):
                return self.inner(x).add_(1)

        for copied, seen in ((False, 1.0), (True, 0.0)):
            found = splitter_base.generate_inputs_for_submodules(Writing(), (torch.zeros(1),), ["inner"], deepcopy=copied)
            self.assertEqual(found["inner"][0].item(), seen)

    def test_an_own_choice_of_nodes(self):
        module = traced(f, X)
        settings = splitter_base._SplitterSettingBase()
        chosen = splitter_base._SplitterBase(module, (X,), SUPPORT, settings, nodes_finder=lambda: {n for n in module.graph.nodes if n.name == "sin"})
        self.assertTrue(torch.equal(chosen()(X), f(X)))
        homes = chosen.get_node_submodule_map()
        self.assertEqual({name for name, part in homes.items() if "acc" in part}, {"sin"})

    def test_tags_are_taken_off(self):
        made = splitter()
        made.tag(made.remove_small_acc_subgraphs(made.put_nodes_into_subgraphs()))
        split = made.split(remove_tag=True)
        self.assertEqual(names(split), ["_run_on_acc_0", "_run_on_cpu_1", "_run_on_acc_2"])
        self.assertFalse(any(hasattr(node, "tag") for node in made.module.graph.nodes))
        made()
        with self.assertRaisesRegex(splitter_base.FxNetSplitterInternalError, r"the nodes \[.*relu_1.*\] have tags of an earlier split"):
            made()

    def test_previews(self):
        with redirect_stdout(io.StringIO()) as out:
            support = splitter().node_support_preview()
            parts = splitter(min_acc_module_size=2).split_preview()
        self.assertEqual(out.getvalue(), f"{support}\n{parts}\n")
        for line in ("_operator.add: 2", "torch.relu: 2", "sin: 1"):
            self.assertIn(line, support.splitlines())
        self.assertEqual(parts.splitlines(), ["2 parts: 1 for the accelerator, 1 for the host", "_run_on_acc_0: 3 node(s)", "_run_on_cpu_1: 2 node(s)"])

    def test_what_is_no_module_is_refused(self):
        with self.assertRaisesRegex(AssertionError, "expected a GraphModule and an OperatorSupportBase, got function and OperatorSupport"):
            splitter_base._SplitterBase(f, (X,), SUPPORT, splitter_base._SplitterSettingBase())


class RandomGraphs(unittest.TestCase):
    def test_values_stay_and_no_part_follows_one_of_its_kind(self):
        for seed in range(40):
            chance = random.Random(seed)
            graph = fx.Graph()
            values = [graph.placeholder("x"), graph.placeholder("y")]
            for _ in range(chance.randint(1, 14)):
                target = chance.choice([operator.add, torch.relu, torch.sin, torch.neg])
                values.append(graph.call_function(target, tuple(chance.choices(values, k=2 if target is operator.add else 1))))
            graph.output(tuple(values[-2:]))
            module = fx.GraphModule({}, graph)
            least = chance.randint(1, 3)
            expected = module(X, -X)
            settings = splitter_base._SplitterSettingBase(min_acc_module_size=least)
            made = splitter_base._SplitterBase(module, (X, -X), SUPPORT, settings)
            split = made()
            self.assertTrue(all(map(torch.equal, split(X, -X), expected)), seed)
            kinds = ["acc" in part for part in made.tags]
            self.assertTrue(all(a != b for a, b in zip(kinds, kinds[1:], strict=False)), (seed, made.tags))
            homes = made.get_node_submodule_map()
            self.assertEqual(homes.keys(), {n.name for n in graph.nodes if n.op == "call_function"})
            for part in made.tags:
                inside = [n for n in graph.nodes if homes.get(n.name) == part]
                if "acc" in part:
                    self.assertGreaterEqual(len(inside), least)
                    self.assertTrue(all(n.target in (operator.add, torch.relu) for n in inside))


if __name__ == "__main__":
    unittest.main()
