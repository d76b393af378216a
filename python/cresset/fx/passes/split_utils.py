"""A module split into submodules, by the tags of its nodes."""

import copy
from collections import deque
from dataclasses import dataclass, field
from operator import getitem

from .._compatibility import compatibility
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import map_arg
from .tools_common import CALLABLE_NODE_OPS, is_node_output_tensor
from .utils.common import HolderModule, lift_subgraph_as_module

__all__ = ["getattr_recursive", "setattr_recursive", "Component", "split_by_tags", "move_non_tensor_nodes_on_boundary"]


@compatibility(is_backward_compatible=False)
def getattr_recursive(obj, name):
    """The attribute at a path.

    >>> torch.fx.passes.split_utils.getattr_recursive(nn.Sequential(nn.Linear(2, 3)), "0.out_features")
    3
    """
    for part in name.split("."):
        obj = obj[part] if isinstance(obj, dict) else getattr(obj, part)
    return obj


@compatibility(is_backward_compatible=False)
def setattr_recursive(obj, attr, value):
    """Set the attribute at a path.

    >>> model = nn.Sequential(nn.Dropout(0.5))
    >>> torch.fx.passes.split_utils.setattr_recursive(model, "0.p", 0.1)
    >>> model[0].p
    0.1
    """
    *prefix, last = attr.split(".")
    for part in prefix:
        obj = obj[part] if isinstance(obj, dict) else getattr(obj, part)
    setattr(obj, last, value)


@compatibility(is_backward_compatible=False)
@dataclass
class Component:
    """The part of a tag: its graph, its place among the parts, and the nodes whose values it takes and gives, in the old graph and in its own.

    >>> torch.fx.passes.split_utils.Component(torch.fx.Graph(), 0, "left").name
    'left'
    """

    graph: Graph
    order: int
    name: str
    input_placeholders: list = field(default_factory=list)
    orig_inputs: list = field(default_factory=list)
    orig_outputs: list = field(default_factory=list)
    getattr_maps: dict = field(default_factory=dict)
    constructor_args: list = field(default_factory=list)
    gm: GraphModule | None = None


@compatibility(is_backward_compatible=False)
def split_by_tags(gm, tags, return_fqn_mapping=False, return_tuple=False, GraphModuleCls=GraphModule):  # noqa: N803
    """A module of submodules, each of which has the nodes of one tag.

    Args:
        gm: the module, whose nodes have their tag as the attribute `tag`.
        tags: the tags, in the order in which the parts are to run.
        return_fqn_mapping: return {path in the old module: path in the new one} too.
        return_tuple: let every part return a tuple.
        GraphModuleCls: the class of the new module.

    Errors: AssertionError for a node without a tag, or that uses a value of a later part.

    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> for node in traced.graph.nodes:
    ...     node.tag = "left" if node.name == "add" else "right"
    >>> split = torch.fx.passes.split_utils.split_by_tags(traced, ["left", "right"])
    >>> [name for name, _ in split.named_children()]
    ['left', 'right']
    """
    parts = {tag: Component(Graph(), i, str(tag)) for i, tag in enumerate(tags)}
    main, main_env, owner, inner = Graph(), {}, {}, {}
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            main_env[node] = main.node_copy(node)
        elif node.op != "output" and node.op != "get_attr":
            if getattr(node, "tag", None) not in parts:
                raise AssertionError(f"split_by_tags: node {node} has the tag {getattr(node, 'tag', None)!r}, expected one of {list(tags)}")
            _place(node, parts[node.tag], owner, inner)
    output = gm.graph.output_node()
    for used in output._input_nodes:
        if used in owner and used not in owner[used].orig_outputs:
            owner[used].orig_outputs.append(used)
    root, paths = HolderModule({}), {}
    for part in parts.values():
        if not part.graph.nodes:
            continue
        _finish(part, gm, inner, return_tuple, paths)
        root.add_module(part.name, part.gm)
        called = main.call_module(part.name, tuple(main_env[n] for n in part.orig_inputs))
        if len(part.orig_outputs) == 1 and not return_tuple:
            main_env[part.orig_outputs[0]] = called
        else:
            main_env.update({n: main.call_function(getitem, (called, i)) for i, n in enumerate(part.orig_outputs)})
    for used in output._input_nodes:
        if used.op == "get_attr":
            setattr(root, used.target, getattr_recursive(gm, used.target))
            main_env[used] = main.get_attr(used.target)
    main.output(map_arg(output.args[0], main_env.__getitem__))
    main._codegen = copy.deepcopy(gm.graph._codegen)
    made = GraphModuleCls(root, main)
    return (made, paths) if return_fqn_mapping else made


def _place(node, part, owner, inner):
    """Copies a node into its part."""
    owner[node] = part

    def remap(used):
        if (part.name, used) in inner:
            return inner[part.name, used]
        if used.op == "get_attr":
            made = part.graph.get_attr(used.target, type_expr=used.type)
        else:
            source = owner.get(used)
            if source is not None and source.order > part.order:
                raise AssertionError(f"split_by_tags: {node} of {part.name} uses {used} of the later {source.name}")
            if source is not None and used not in source.orig_outputs:
                source.orig_outputs.append(used)
            first = next((n for n in part.graph.nodes if n.op != "placeholder"), None)
            with part.graph.inserting_before(first if first is not None else part.graph._root):
                made = part.graph.placeholder(used.name, type_expr=used.type)
            part.orig_inputs.append(used)
            part.input_placeholders.append(made)
        made.meta = copy.copy(used.meta)
        inner[part.name, used] = made
        return made

    inner[part.name, node] = part.graph.node_copy(node, remap)


def _finish(part, gm, inner, return_tuple, paths):
    results = tuple(inner[part.name, node] for node in part.orig_outputs)
    part.graph.output(results[0] if len(results) == 1 and not return_tuple else results)
    part.gm, part.getattr_maps = lift_subgraph_as_module(gm, part.graph, comp_name=part.name)
    paths.update({old: f"{part.name}.{old}" for old in part.getattr_maps})


@compatibility(is_backward_compatible=False)
def move_non_tensor_nodes_on_boundary(subgraphs):
    """Move nodes whose value is no tensor out of parts for an accelerator, into the part that uses them.

    A node moves with those of its part that depend on it, if all their users outside are in one other part. Nodes before it follow by the same rule.

    Args:
        subgraphs: the parts in order, with `nodes` and `is_acc`; their nodes have the types that ShapeProp notes.

    >>> traced = torch.fx.symbolic_trace(lambda x: x.reshape(x.size(0), -1))
    >>> _ = torch.fx.passes.shape_prop.ShapeProp(traced).propagate(torch.ones(2, 3))
    >>> x, size, reshape, output = traced.graph.nodes
    >>> Subgraph = torch.fx.passes.splitter_base.Subgraph
    >>> parts = [Subgraph(True, [size]), Subgraph(False, [reshape])]
    >>> torch.fx.passes.split_utils.move_non_tensor_nodes_on_boundary(parts)
    >>> [part.nodes for part in parts]
    [[], [size, reshape]]
    """
    homes = {node: i for i, part in enumerate(subgraphs) for node in part.nodes}

    def is_number(node):
        return node.op in CALLABLE_NODE_OPS and not is_node_output_tensor(node)

    for i, part in enumerate(subgraphs):
        outward = [n for n in part.nodes if is_number(n) and any(homes.get(user, i) != i for user in n.users)]
        todo = deque(outward if part.is_acc else ())
        while todo:
            group, targets = _with_dependents(todo.popleft(), i, homes)
            if len(targets) != 1 or not group:
                continue
            (target,) = targets
            part.nodes[:] = [n for n in part.nodes if n not in group]
            subgraphs[target].nodes[:] = [*sorted(group), *subgraphs[target].nodes]
            homes.update(dict.fromkeys(group, target))
            todo.extend(n for node in group for n in node.all_input_nodes if homes.get(n) == i and is_number(n))


def _with_dependents(node, home, homes):
    """A node with those of its part that depend on it, and the parts of their other users."""
    group, todo, targets = set(), [node], set()
    while todo:
        current = todo.pop()
        if homes.get(current) == home and current not in group:
            group.add(current)
            todo += current.users
        elif current in homes and current not in group:
            targets.add(homes[current])
    return group, targets
