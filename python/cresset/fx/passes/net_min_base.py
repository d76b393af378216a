"""The search for the nodes of a module on which two ways to run it disagree."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cresset as torch

from .._compatibility import compatibility
from ..node import Node
from .shape_prop import ShapeProp
from .split_utils import split_by_tags
from .splitter_base import generate_inputs_for_submodules
from .tools_common import CALLABLE_NODE_OPS, FxNetAccFusionsFinder

__all__ = ["FxNetMinimizerBadModuleError", "FxNetMinimizerRunFuncError", "FxNetMinimizerResultMismatchError"]


@compatibility(is_backward_compatible=False)
class FxNetMinimizerBadModuleError(Exception):
    """A part of the module could not be made."""


@compatibility(is_backward_compatible=False)
class FxNetMinimizerRunFuncError(Exception):
    """One of the two ways to run a part failed."""


@compatibility(is_backward_compatible=False)
class FxNetMinimizerResultMismatchError(Exception):
    """The two ways to run a part gave different results."""


@dataclass
class _MinimizerSettingBase:
    """How to search.

    `accumulate_error`: give parts the results of the second way rather than those of the first. `traverse_method`: "sequential" (each node),
    "binary" (halves, down to single nodes), "block" (the shortest beginning or end that disagrees), "accumulate" (growing beginnings) or "skip" (what lies
    between the nodes to leave out). `find_all`: let "sequential" and "binary" go on after what is found first. `return_intermediate`: let `run_nodes` compare the values of all
    nodes. `all_outputs`: compare all results of a part, not that of its last node alone.
    """

    accumulate_error: bool = False
    traverse_method: str = "sequential"
    find_all: bool = False
    return_intermediate: bool = False
    all_outputs: bool = False


class _MinimizerBase:
    """Runs parts of a module in two ways, `run_a` and `run_b`, and finds the nodes on which they disagree. Subclasses define the two.

    Args:
        module: the module.
        sample_input: arguments of a call.
        compare_fn: (result of a, result of b, names) -> (a number, whether they agree).
        settings: a _MinimizerSettingBase.
        module_exporter: called with (inputs, part, name) of a part that disagrees.
        exclusion_fn: (nodes, first, last), takes nodes out of the search.
    """

    def __init__(self, module, sample_input, compare_fn: Callable[..., tuple[Any, bool]], settings, module_exporter=None, exclusion_fn=None):
        if not isinstance(module, torch.fx.GraphModule):
            raise AssertionError(f"minimizer: expected a GraphModule, got {type(module).__name__}")
        self.module, self.sample_input, self.compare_fn, self.settings = module, sample_input, compare_fn, settings
        self.module_exporter, self.exclusion_fn = module_exporter, exclusion_fn
        self.a_outputs, self.b_outputs, self.results, self.reports, self.iteration = {}, {}, {}, [], 0
        self.run_shape_prop()
        self.fusions = FxNetAccFusionsFinder(module, set(module.graph.nodes.of(*CALLABLE_NODE_OPS)))()
        for node, value in zip(module.graph.nodes.of("placeholder"), sample_input, strict=False):
            self.a_outputs[node.name] = self.b_outputs[node.name] = value

    def run_shape_prop(self):
        """Note shapes on the nodes."""
        run = ShapeProp(self.module)
        run.propagate(*self.sample_input)

    def run_a(self, mod, inputs, report_idx=-1):
        """The result of a part in the first way, which subclasses define."""
        raise RuntimeError(f"{type(self).__name__}.run_a is not defined")

    def run_b(self, mod, inputs, report_idx=-1):
        """The result of a part in the second way, which subclasses define."""
        raise RuntimeError(f"{type(self).__name__}.run_b is not defined")

    # ---- one part -----------------------------------------------------------------------------------------------------------

    def _tag_nodes(self, selected_nodes):
        after = set(selected_nodes)
        for step in self.module.graph.nodes.of(*CALLABLE_NODE_OPS):
            chosen, depends = step in selected_nodes, not after.isdisjoint(step.all_input_nodes)
            step.tag = "minimize" if chosen else "main_1" if depends else "main_0"
            if depends:
                after.add(step)

    def _build_submodule(self, nodes):
        """The module with the nodes as its part "minimize"."""
        self._tag_nodes(nodes)
        made = split_by_tags(self.module, ["main_0", "minimize", "main_1"])
        names = [name for name, _ in made.named_children() if "minimize" in name]
        if len(names) != 1:
            raise FxNetMinimizerBadModuleError(f"minimizer: the nodes {nodes} make up the parts {names}, expected a single one")
        return made, names[0]

    def _run_and_compare(self, split_module, submod_name, output_names, report_idx=-1):
        part, settings = getattr(split_module, submod_name), self.settings
        inputs = generate_inputs_for_submodules(split_module, self.sample_input, [submod_name])[submod_name]
        known = self.b_outputs if settings.accumulate_error else {}
        given = tuple(known.get(n.name, value) for n, value in zip(part.graph.nodes.of("placeholder"), inputs, strict=True))
        try:
            a_result = self.run_a(part, inputs, report_idx)
            b_result = self.run_b(part, given, report_idx)
        except Exception as error:
            raise FxNetMinimizerRunFuncError(f"running {submod_name} failed: {error}") from error
        self._store_outputs(a_result, b_result, part)
        if not settings.all_outputs and len(output_names) == 1:
            a_result, b_result = (self._result_of(output_names[0], part, result) for result in (a_result, b_result))
        number, agrees = self.compare_fn(a_result, b_result, output_names)
        self.results[output_names[0] if output_names else submod_name] = number
        self.reports.append([f"Result mismatch for {output_names}" if not agrees else f"{output_names} agree", f"Numerical result: {number}"])
        if not agrees:
            if self.module_exporter:
                self.module_exporter(inputs, part, f"{output_names[0] if output_names else submod_name}_cpu")
            raise FxNetMinimizerResultMismatchError(f"Result mismatch for {output_names}: {number}")

    @staticmethod
    def _result_of(name, part, result):
        """Of the results of a part that of a node; all of them where it is none of these."""
        values = part.graph.output_node().args[0]
        places = [i for i, node in enumerate(values if isinstance(values, (tuple, list)) else ()) if isinstance(node, Node) and node.name == name]
        return result[places[0]] if places else result

    def _return_all(self, part):
        """Makes a part return the values of all its nodes, which are the result."""
        output = part.graph.output_node()
        nodes = tuple(n for n in part.graph.nodes.of(*CALLABLE_NODE_OPS) if "tensor_meta" in n.meta)
        output.args = (nodes,)
        part.recompile()
        return nodes

    def _store_outputs(self, a_result, b_result, submodule):
        values = submodule.graph.output_node().args[0]
        values, a_result, b_result = (v if isinstance(v, (tuple, list)) else (v,) for v in (values, a_result, b_result))
        for node, a, b in zip(values, a_result, b_result, strict=False):
            if isinstance(node, Node):
                self.a_outputs[node.name], self.b_outputs[node.name] = a, b

    def _disagrees(self, nodes):
        """Whether the two ways disagree on nodes."""
        self.iteration += 1
        made, name = self._build_submodule(set(nodes))
        return self._differs(made, name, [n.name for n in nodes][-1:])

    def _differs(self, made, name, output_names):
        try:
            self._run_and_compare(made, name, output_names)
        except (FxNetMinimizerRunFuncError, FxNetMinimizerResultMismatchError):
            return True
        return False

    # ---- the search ---------------------------------------------------------------------------------------------------------

    def _with_groups(self, nodes):
        """Nodes with those that have to stay with them, in order."""
        chosen = set(nodes).union(*(self.fusions[n] for n in nodes if n in self.fusions))
        return [n for n in self.module.graph.nodes if n in chosen]

    def _sequential_traverse(self, nodes):
        groups = (self._with_groups([node]) for node in nodes)
        bad = filter(self._disagrees, groups)
        return {node for group in (bad if self.settings.find_all else itertools.islice(bad, 1)) for node in group}

    def _binary_traverse(self, nodes):
        todo, culprits, find_all = [list(nodes)], set(), self.settings.find_all
        while todo and (find_all or not culprits):
            part = self._with_groups(todo.pop())
            if not part or not self._disagrees(part):
                continue
            middle = len(part) // 2
            halves = [part[:middle], part[middle:]]
            # Where the halves agree alone the node cannot be told.
            whole = len(part) == 1 or self._with_groups(halves[0]) == part
            if whole or (not find_all and not any(self._disagrees(self._with_groups(half)) for half in halves)):
                culprits.update(part)
            else:
                todo += reversed(halves)
        return culprits

    def _accumulate_traverse(self, nodes):
        for end in range(1, len(nodes) + 1):
            if self._disagrees(self._with_groups(nodes[:end])):
                return {nodes[end - 1]}
        return set()

    def _block_traverse(self, nodes, find_last_node):
        """The nodes from the first to the last that are needed for the two ways to disagree."""
        if not nodes or not self._disagrees(self._with_groups(nodes)):
            return set()
        first, last = 0, len(nodes)
        if find_last_node is not False:
            low = 1
            while low < last:
                middle = (low + last) // 2
                last, low = (middle, low) if self._disagrees(self._with_groups(nodes[:middle])) else (last, middle + 1)
        if find_last_node is not True:
            high = last - 1
            while first < high:
                middle = (first + high + 1) // 2
                first, high = (middle, high) if self._disagrees(self._with_groups(nodes[middle:last])) else (first, middle - 1)
        return set(nodes[first:last])

    def _skip_traverse(self, nodes, skip_nodes):
        """The stretches between the nodes to leave out on which the two ways disagree."""
        culprits = set()
        for skipped, stretch in itertools.groupby(nodes, key=lambda node: node.name in skip_nodes):
            part = list(stretch)
            if not skipped and self._disagrees(part):
                culprits.update(part)
        return culprits

    def _collect_nodes(self, start, end):
        steps = self.module.graph.nodes.of(*CALLABLE_NODE_OPS)
        places = {step.name: i for i, step in enumerate(steps)}
        if missing := {start, end} - places.keys() - {None}:
            raise ValueError(f"minimizer: expected names of nodes that call something, got {', '.join(map(repr, sorted(missing)))}")
        return steps[places.get(start, 0) : places.get(end, len(steps)) + 1]

    def run_nodes(self, start=None, end=None):
        """Compare all results of the nodes from one name to another in the two ways; the outcome is in `reports`."""
        made, name = self._build_submodule(set(self._collect_nodes(start, end)))
        part, names = getattr(made, name), []
        if self.settings.return_intermediate:
            names = [node.name for node in self._return_all(part)]
        self._differs(made, name, names)
        self.print_reports()

    def print_report(self, report):
        """Print one report."""
        for line in report:
            print("=>", line)

    def print_reports(self):
        """Print all reports."""
        for report in self.reports:
            self.print_report(report)

    def minimize(self, start=None, end=None, skip_nodes=None, find_last_node=None):
        """The nodes on which the two ways disagree, as a set.

        Args:
            start, end: names of the first and last nodes to search.
            skip_nodes: names of nodes to leave out; of "skip".
            find_last_node: of "block": search the last node alone (True) or the first (False).

        Errors: RuntimeError for another method, ValueError for a first or last node that is none.
        """
        nodes = self._collect_nodes(start, end)
        if self.exclusion_fn is not None and nodes:
            self.exclusion_fn(nodes, 0, len(nodes))
        methods = {
            "sequential": self._sequential_traverse,
            "binary": self._binary_traverse,
            "accumulate": self._accumulate_traverse,
            "block": lambda found: self._block_traverse(found, find_last_node),
            "skip": lambda found: self._skip_traverse(found, set(skip_nodes or ())),
        }
        if self.settings.traverse_method not in methods:
            raise RuntimeError(f"Unknown traverse method {self.settings.traverse_method}: expected one of {', '.join(methods)}")
        return methods[self.settings.traverse_method](nodes)
