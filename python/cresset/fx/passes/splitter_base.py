"""A module split into parts that run on an accelerator and parts that run on the host."""

import copy
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._compatibility import compatibility
from ..graph_module import GraphModule
from .operator_support import OperatorSupportBase, get_node_target
from .split_utils import move_non_tensor_nodes_on_boundary, split_by_tags
from .tools_common import CALLABLE_NODE_OPS, FxNetAccFusionsFinder, is_node_output_tensor

__all__ = ["FxNetAccNodesFinder", "FxNetSplitterInternalError", "Subgraph", "SplitResult", "generate_inputs_for_submodules"]


class _SplitterSettingBase:
    """How to split.

    Args:
        min_acc_module_size: parts with fewer nodes run on the host.
        skip_fusion: do not keep nodes together between which a value is no tensor.
        allow_non_tensor: let parts of the accelerator take and give values that are no tensors.
        max_acc_splits: the largest number of parts on the accelerator; -1 for any.
        move_non_tensor_nodes_on_boundary: let nodes whose value is no tensor run where it is used.
    """

    def __init__(self, min_acc_module_size=1, skip_fusion=False, allow_non_tensor=False, max_acc_splits=-1, move_non_tensor_nodes_on_boundary=False):
        self.min_acc_module_size, self.skip_fusion, self.allow_non_tensor = min_acc_module_size, skip_fusion, allow_non_tensor
        self.max_acc_splits, self.move_non_tensor_nodes_on_boundary = max_acc_splits, move_non_tensor_nodes_on_boundary


def _steps(module):
    """The nodes of a module that call something."""
    return module.graph.nodes.of(*CALLABLE_NODE_OPS)


@compatibility(is_backward_compatible=False)
class FxNetAccNodesFinder:
    """Finds the nodes that an accelerator can run: those that are supported, but, unless it may, no values that are no tensors cross to it or from it.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1))
    >>> _ = torch.fx.passes.shape_prop.ShapeProp(traced).propagate(torch.ones(1))
    >>> support = torch.fx.passes.operator_support.OperatorSupport({"torch.relu": None})
    >>> torch.fx.passes.splitter_base.FxNetAccNodesFinder(traced, support, False)()
    {relu}
    """

    def __init__(self, module, operator_support, allow_non_tensor):
        self.module, self.operator_support, self.allow_non_tensor = module, operator_support, allow_non_tensor

    def reduce_acc_nodes_non_tensor_input(self):
        """Take nodes away that use a value of the host which is no tensor."""
        # In the order of the graph one walk suffices: what a node uses is settled before it.
        for node in self.module.graph.nodes:
            if any(n.op in CALLABLE_NODE_OPS and n not in self.acc_nodes and not is_node_output_tensor(n) for n in node.all_input_nodes):
                self.acc_nodes.discard(node)

    def reduce_acc_nodes_non_tensor_output(self):
        """Take nodes away whose value is no tensor and is used on the host."""
        while True:
            leaving = [n for n in self.acc_nodes if not is_node_output_tensor(n) and any(user not in self.acc_nodes for user in n.users)]
            if not leaving:
                return
            self.acc_nodes.difference_update(leaving)

    def __call__(self):
        modules = dict(self.module.named_modules())
        self.acc_nodes = {n for n in _steps(self.module) if self.operator_support.is_node_supported(modules, n)}
        reductions = (self.reduce_acc_nodes_non_tensor_input, self.reduce_acc_nodes_non_tensor_output)
        for reduce in () if self.allow_non_tensor else reductions:
            reduce()
        return self.acc_nodes


@compatibility(is_backward_compatible=False)
class FxNetSplitterInternalError(Exception):
    """A module could not be split."""


@compatibility(is_backward_compatible=False)
@dataclass
class Subgraph:
    """Nodes that run in one place.

    >>> torch.fx.passes.splitter_base.Subgraph(is_acc=True, nodes=[]).is_acc
    True
    """

    is_acc: bool
    nodes: list
    device_ordinal: int | None = None


@compatibility(is_backward_compatible=False)
class SplitResult(NamedTuple):
    """The split module, {part: its inputs}, and the beginning of the names of the host's parts.

    >>> torch.fx.passes.splitter_base.SplitResult(None, {}, "_run_on_cpu_").submodule_inputs
    {}
    """

    split_module: GraphModule
    submodule_inputs: dict[str, Any]
    non_acc_submodule_prefix: str


@compatibility(is_backward_compatible=False)
def generate_inputs_for_submodules(model, inputs, target_submodules, deepcopy=False):
    """{path: the arguments of a submodule in a run of the model}.

    Args:
        model, inputs: the model and its arguments.
        target_submodules: the paths.
        deepcopy: copy the arguments, since the model may change them.

    >>> model = nn.Sequential(nn.Identity(), nn.ReLU())
    >>> torch.fx.passes.splitter_base.generate_inputs_for_submodules(model, [torch.ones(1)], ["1"])
    {'1': (tensor([1.]),)}
    """
    found, handles = {}, []
    paths = {module: path for path, module in model.named_modules()}

    def note(module, args):
        found[paths[module]] = copy.deepcopy(args) if deepcopy else args

    try:
        handles = [module.register_forward_pre_hook(note) for path, module in model.named_modules() if path in set(target_submodules)]
        model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found


class _SplitterBase:
    """Splits a module into parts for an accelerator and for the host. Subclasses say how a part is lowered, and may change each step.

    Args:
        module: the module, on which ShapeProp has run.
        sample_input: arguments of a call.
        operator_support: says which nodes the accelerator can run.
        settings: a _SplitterSettingBase.
        non_acc_submodule_name: the beginning of the names of the host's parts.
        return_tuple: let parts return tuples.
        nodes_finder: finds the accelerator's nodes in place of FxNetAccNodesFinder.
    """

    PCIe_BW = 100 * 2**30

    def __init__(self, module, sample_input, operator_support, settings, non_acc_submodule_name="_run_on_cpu_", return_tuple=False, nodes_finder=None):
        if not isinstance(module, GraphModule) or not isinstance(operator_support, OperatorSupportBase):
            raise AssertionError(
                f"splitter: expected a GraphModule and an OperatorSupportBase, got {type(module).__name__} and {type(operator_support).__name__}"
            )
        from .shape_prop import ShapeProp

        self.module, self.sample_input, self.operator_support, self.settings = module, sample_input, operator_support, settings
        if not all("type" in n.meta for n in module.graph.nodes):
            ShapeProp(module).propagate(*sample_input)
        self.acc_nodes = (nodes_finder or FxNetAccNodesFinder(module, operator_support, settings.allow_non_tensor))()
        self.fusions = {} if settings.skip_fusion else FxNetAccFusionsFinder(module, self.acc_nodes)()
        self.non_acc_submodule_name, self._return_tuple = non_acc_submodule_name, return_tuple
        self.tags, self._node_submodule_map = [], {}

    def get_node_submodule_map(self):
        """{name of a node: the part that has it}."""
        return self._node_submodule_map

    def _lower_model_to_backend(self, mod, inputs):
        return mod

    def node_support_preview(self, dump_graph=False):
        """The supported and other kinds of nodes, as text."""
        modules = dict(self.module.named_modules())
        kinds = {True: defaultdict(int), False: defaultdict(int)}
        for step in _steps(self.module):
            kinds[step in self.acc_nodes][get_node_target(modules, step)] += 1
        lines = []
        for supported, title in ((True, "Kinds of nodes for the accelerator:"), (False, "Kinds of nodes for the host:")):
            lines += ["", title, *(f"{name}: {count}" for name, count in sorted(kinds[supported].items()))]
        text = "\n".join(lines) + "\n"
        print(text)
        return text

    def split_preview(self, dump_graph=False):
        """The parts and their sizes, as text."""
        subgraphs = self.remove_small_acc_subgraphs(self.put_nodes_into_subgraphs())
        acc = [s for s in subgraphs if s.is_acc]
        lines = [f"{len(subgraphs)} parts: {len(acc)} for the accelerator, {len(subgraphs) - len(acc)} for the host"]
        for i, part in enumerate(subgraphs):
            lines.append(f"{'_run_on_acc_' if part.is_acc else self.non_acc_submodule_name}{i}: {len(part.nodes)} node(s)")
        text = "\n".join(lines) + "\n"
        print(text)
        return text

    def put_nodes_into_subgraphs(self):
        """Groups of nodes in the order in which they can run: as many nodes of one place as are ready, then those of the other."""
        nodes = _steps(self.module)
        waiting = {node: {n for n in self._needed(node) if n.op in CALLABLE_NODE_OPS} for node in nodes}
        order, subgraphs, is_acc = list(nodes), [], None
        done = set()
        while order:
            ready = [n for n in order if waiting[n] <= done]
            if not ready:
                raise FxNetSplitterInternalError("Couldn't create subgraphs: nodes need each other's values in a circle")
            is_acc = (any(n in self.acc_nodes for n in ready) and all(n in self.acc_nodes for n in ready)) if is_acc is None else not is_acc
            part = []
            progress = True
            while progress:
                progress = False
                for node in order:
                    if node in done or (node in self.acc_nodes) != is_acc or not self._is_ready(node, waiting, done, order, is_acc):
                        continue
                    for member in [n for n in order if n in self.fusions.get(node, (node,)) and n not in done]:
                        part.append(member)
                        done.add(member)
                    progress = True
            order = [n for n in order if n not in done]
            if part:
                subgraphs.append(Subgraph(is_acc=is_acc, nodes=part))
        return subgraphs

    def _needed(self, node):
        return node.all_input_nodes

    def _is_ready(self, node, waiting, done, order, is_acc):
        """Whether all that a node's group needs from outside is there."""
        group = self.fusions.get(node, {node})
        return all(n in done or n in group for member in group for n in waiting.get(member, ()))

    def remove_small_acc_subgraphs(self, subgraphs):
        """The groups, in which small ones of the accelerator belong to the host's."""
        found = []
        for part in subgraphs:
            is_acc = part.is_acc and len(part.nodes) >= self.settings.min_acc_module_size
            if found and not is_acc and not found[-1].is_acc:
                found[-1].nodes.extend(part.nodes)
            else:
                found.append(Subgraph(is_acc, list(part.nodes), part.device_ordinal))
        return found

    def tag(self, subgraphs):
        """Give nodes the name of their part as `tag`."""
        self.tags = []
        for part in subgraphs:
            tag = f"_run_on_acc_{len(self.tags)}" if part.is_acc else f"{self.non_acc_submodule_name}{len(self.tags)}"
            self.tags.append(tag)
            if tagged := [node for node in part.nodes if hasattr(node, "tag")]:
                raise FxNetSplitterInternalError(f"tag: the nodes {tagged} have tags of an earlier split; split(remove_tag=True) takes them off")
            for node in part.nodes:
                node.tag = tag
            self._node_submodule_map.update((node.name, tag) for node in part.nodes)

    def split(self, remove_tag=False):
        """The split module; `remove_tag` takes the tags off the nodes."""
        made = split_by_tags(self.module, self.tags, return_tuple=self._return_tuple)
        for node in self.module.graph.nodes if remove_tag else ():
            vars(node).pop("tag", None)
        return made

    def __call__(self):
        subgraphs = self.remove_small_acc_subgraphs(self.put_nodes_into_subgraphs())
        if self.settings.move_non_tensor_nodes_on_boundary:
            move_non_tensor_nodes_on_boundary(subgraphs)
            subgraphs = [part for part in subgraphs if part.nodes]
        count = sum(part.is_acc for part in subgraphs)
        if 0 <= self.settings.max_acc_splits < count:
            raise ValueError(f"splitter: found {count} parts for the accelerator, allowed are {self.settings.max_acc_splits}")
        self.tag(subgraphs)
        return self.split()

    def generate_split_results(self):
        """The split module with the inputs of its parts, as a SplitResult."""
        made = self()
        names = [name for name, _ in made.named_children()]
        return SplitResult(made, generate_inputs_for_submodules(made, self.sample_input, names), self.non_acc_submodule_name)
