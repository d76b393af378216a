"""A module split into submodules, by the number that a function gives to every node."""

from operator import getitem

from .._compatibility import compatibility
from .._paths import _get_attr
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import map_arg

__all__ = ["Partition", "split_module", "split_module_simple"]


@compatibility(is_backward_compatible=True)
class Partition:
    """One of the parts: its nodes, the values that it takes and gives, and the parts before and after it.

    >>> torch.fx.passes.split_module.Partition("0").submod_name
    'submod_0'
    """

    def __init__(self, name):
        self.name, self.submod_name = name, f"submod_{name}"
        self.node_names, self.inputs, self.outputs = [], {}, {}
        self.dependencies, self.dependents = {}, {}
        self.graph, self.environment, self.targets = Graph(), {}, {}

    def __repr__(self):
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {list(self.inputs)},\n outputs: {list(self.outputs)},\n "
            f"partitions depended on: {list(self.dependencies)},\n partition dependents: {list(self.dependents)}"
        )


@compatibility(is_backward_compatible=True)
def split_module(
    m, root_m, split_callback, qualname_map=None, keep_original_order=False, keep_original_node_name=False, keep_original_input_name=True, *,
    partition_affix=None, tuple_return=False,
):  # fmt: skip
    """A module of submodules, each of which has the nodes that a function gives one number.

    Args:
        m: the GraphModule to split.
        root_m: the module that it was traced from; unused.
        split_callback: the number, or name, of a node's part.
        qualname_map: a dictionary to fill: {path in the new module: path in the old one}.
        keep_original_order: call the parts in the order of their first nodes.
        keep_original_node_name: let nodes keep their names, also those of the parts' inputs.
        keep_original_input_name: let the inputs of parts keep the names of the nodes that give them.
        partition_affix: a word in the names of parts: "submod_WORD_0".
        tuple_return: let every part return a tuple.

    Errors: RuntimeError for parts that need each other's values in a circle.

    >>> split_module = torch.fx.passes.split_module.split_module
    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> split = split_module(traced, None, lambda node: 0 if node.name == "add" else 1)
    >>> print(split.code.strip())
    def forward(self, x):
        submod_0 = self.submod_0(x);  x = None
        submod_1 = self.submod_1(submod_0);  submod_0 = None
        return submod_1
    """
    splitter = _Splitter(m, split_callback, partition_affix, keep_original_node_name)
    splitter.assign()
    order = splitter.first_order() if keep_original_order else splitter.sorted()
    return splitter.built(order, {} if qualname_map is None else qualname_map, keep_original_order, keep_original_input_name, tuple_return)


class _Splitter:
    def __init__(self, m, split_callback, affix, keep_node_names):
        self.m, self.callback, self.affix, self.keep_node_names = m, split_callback, affix, keep_node_names
        self.parts, self.owner = {}, {}

    def assign(self):
        """Puts every node that computes into a part, and finds what parts take and give."""
        for node in self.m.graph.nodes:
            if node.op in ("placeholder", "get_attr", "output"):
                continue
            name = str(self.callback(node))
            title = f"{self.affix}_{name}" if self.affix is not None else name
            part = self.parts.get(title)
            if part is None:
                part = self.parts[title] = Partition(title)
            part.node_names.append(node.name)
            self.owner[node] = part
        for node in self.m.graph.nodes:
            for used in node._input_nodes:
                self._note(used, node)

    def _note(self, used, user):
        source, target = self.owner.get(used), self.owner.get(user)
        if source is target:
            return
        if source is not None:
            source.outputs.setdefault(used)
        if target is not None:
            target.inputs.setdefault(used)
            if source is not None:
                source.dependents.setdefault(target.name)
                target.dependencies.setdefault(source.name)

    def first_order(self):
        return list(self.parts.values())

    def sorted(self):
        waiting = {name: len(part.dependencies) for name, part in self.parts.items()}
        ready, found = [name for name, count in waiting.items() if count == 0], []
        while ready:
            part = self.parts[ready.pop()]
            found.append(part)
            for name in part.dependents:
                waiting[name] -= 1
                if waiting[name] == 0:
                    ready.append(name)
        if len(found) != len(self.parts):
            raise RuntimeError(f"cycle exists between partitions! They are {sorted(set(self.parts) - {p.name for p in found})}")
        return found

    def built(self, order, paths, lazily, keep_names, tuple_return):
        base, env, attributes = Graph(tracer_cls=self.m.graph._tracer_cls), {}, {}

        def attribute(node):
            attributes[node.target] = _get_attr(self.m, node.target)
            env[node] = base.get_attr(node.target, node.type)
            env[node].meta = node.meta.copy()

        for node in self.m.graph.nodes:
            if node.op == "placeholder":
                env[node] = base.node_copy(node)
            elif node.op == "get_attr" and not lazily:
                attribute(node)
        for part in order:
            for used in part.inputs:
                if used not in env and used.op == "get_attr":
                    attribute(used)
            self._fill(part, attributes, paths, keep_names, tuple_return)
            self._call(part, base, env, tuple_return)
        output = self.m.graph.output_node()
        for used in output._input_nodes:
            if used not in env:
                attribute(used)
        base.output(map_arg(output.args[0], env.__getitem__)).meta.update(output.meta)
        made = GraphModule(attributes, base)
        made.meta = dict(getattr(self.m, "meta", {}))
        return made

    def _fill(self, part, attributes, paths, keep_names, tuple_return):
        """Makes the graph and module of a part."""
        targets = {}
        for i, used in enumerate(part.inputs):
            part.environment[used] = part.graph.placeholder(used.name if keep_names else f"arg_{i}", type_expr=used.type)
            part.environment[used].meta = used.meta.copy()
        for node in self.m.graph.nodes:
            if self.owner.get(node) is not part:
                continue
            target = node.target
            if node.op == "call_module":
                target = node.target.replace(".", "_")
                targets[target] = _get_attr(self.m, node.target)
                paths[f"{part.submod_name}.{target}"] = node.target
            args, kwargs = map_arg(node.args, part.environment.__getitem__), map_arg(node.kwargs, part.environment.__getitem__)
            made = part.graph.create_node(node.op, target, args, dict(kwargs), node.name if self.keep_node_names else None, node.type)
            made.meta = node.meta.copy()
            part.environment[node] = made
        results = tuple(part.environment[node] for node in part.outputs)
        part.graph.output(results[0] if len(results) == 1 and not tuple_return else results)
        part.targets = targets
        attributes[part.submod_name] = GraphModule(targets, part.graph)

    def _call(self, part, base, env, tuple_return):
        called = base.call_module(part.submod_name, tuple(env[used] for used in part.inputs))
        if len(part.outputs) == 1 and not tuple_return:
            env[next(iter(part.outputs))] = called
            return
        for i, node in enumerate(part.outputs):
            env[node] = base.call_function(getitem, (called, i))


@compatibility(is_backward_compatible=False)
def split_module_simple(m, node_to_partition, *, partition_affix=None):
    """`split_module` by a table.

    Args:
        m: the GraphModule to split.
        node_to_partition: {node: the number of its part}, of the nodes that compute something.
        partition_affix: a word in the names of parts.

    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> x, add, relu, output = traced.graph.nodes
    >>> split = torch.fx.passes.split_module.split_module_simple(traced, {add: 0, relu: 1})
    >>> [name for name, _ in split.named_children()]
    ['submod_0', 'submod_1']
    """
    return split_module(m, None, node_to_partition.__getitem__, partition_affix=partition_affix)
