"""Graphs whose calls with effects stand in their order by tokens: put in where a graph is functional, taken out where it runs again."""

import operator
import re

from .. import fx
from .._subclasses.fake_tensor import maybe_get_fake_mode
from .effects import has_effects, new_token_tensor, with_effects

_GETITEM = re.compile(r"getitem(?:_(\d+))?")


class _Threader:
    """Writes `with_effects` in place of calls, in one graph. Parts of results have names with numbers in the order of the graph, those of tokens among them."""

    def __init__(self, graph):
        self.graph, self.names, self.replaced, self.seen, self.added = graph, {}, {}, 0, 0
        mode = next((m for m in (maybe_get_fake_mode(n.meta.get("val")) for n in graph.nodes) if m is not None), None)
        if mode is None:
            self.empty = new_token_tensor()
        else:
            with mode:
                self.empty = new_token_tensor()

    def placeholder(self, name, before):
        """A token that comes in."""
        with self.graph.inserting_before(before):
            node = self.graph.create_node("placeholder", name, name=name)
        node.name = name
        node.meta["val"] = self.empty
        return node

    def run(self, nodes, token):
        """Chains the calls that `nodes` has; the token that goes out."""
        for node in nodes:
            known = _GETITEM.fullmatch(node.name) if node.target is operator.getitem else None
            if known is not None:
                self.seen = int(known[1] or 0) + 1
                self.names[node] = self.seen - 1 + self.added
            elif node.op == "call_function" and has_effects(node.target):
                token = self._threaded(node, token)
        return token

    def _threaded(self, node, token):
        """The token that goes out of one call."""
        count, value = _num_results(node.target), node.meta.get("val")
        with self.graph.inserting_before(node):
            call = self.graph.create_node("call_function", with_effects, (token, node.target, *node.args), node.kwargs, name="with_effects")
            call.meta = {**node.meta, "val": (self.empty, *value) if count > 1 else (self.empty, value)}
            out = self._part(call, 0, self.empty)
            result = self._part(call, 1, value) if count == 1 and node.users else None
        if result is not None:
            node.replace_all_uses_with(result)
            self.replaced[node] = result
        for part in list(node.users):
            part.args = (call, part.args[1] + 1)
        self.added += 1 if count > 1 else 2  # results that nothing uses have had a number, too
        self.graph.erase_node(node)
        return out

    def _part(self, call, index, value):
        node = self.graph.create_node("call_function", operator.getitem, (call, index), name="getitem")
        node.meta = {**call.meta, "val": value}
        self.names[node] = self.seen + self.added + index
        return node

    def rename(self):
        """Gives parts of results their names."""
        for node, number in self.names.items():
            node.name = f"getitem_{number}" if number else "getitem"
            self.graph._graph_namespace.create_name(node.name, None)  # which is taken now


def thread(graph, *, name="token", first_backward=None):
    """Puts tokens into a graph: a first input and a first result for its calls with effects, and a last input `tangents_token` and a last result for those of
    backward.

    Args:
        graph: whose output is a tuple or list.
        name: of the first input.
        first_backward: how many calls with effects are those of forward; all by default.

    Returns how many tokens forward has, and backward, 0 or 1; and the nodes of results that others stand for now.
    """
    effects = [node for node in graph.nodes if node.op == "call_function" and has_effects(node.target)]
    if not effects:
        return 0, 0, {}
    border = effects[first_backward] if first_backward is not None and first_backward < len(effects) else None
    nodes = list(graph.nodes)
    cut = nodes.index(border) if border is not None else len(nodes)
    threader, inputs = _Threader(graph), graph.find_nodes(op="placeholder")
    first = next(iter(graph.nodes))
    with_forward = border is None or effects[0] is not border
    forward = threader.run(nodes[:cut], threader.placeholder(name, first) if with_forward else None)
    backward = None
    if border is not None:
        backward = threader.run(nodes[cut:], threader.placeholder("tangents_token", inputs[-1].next if inputs else first))
    threader.rename()
    output = graph.output_node()
    results = [*([forward] if with_forward else []), *output.args[0], *([backward] if border is not None else [])]
    output.args = (type(output.args[0])(results),)
    return int(with_forward), int(border is not None), threader.replaced


def unthread(graph):
    """Takes tokens out of a graph: calls stand by themselves again. Inputs that are tokens stay, without users; results that are tokens are None. Returns what stands
    for values that have been parts of results, by their names."""
    ordered = [node for node in graph.nodes if node.target is with_effects]
    calls, renamed = [_call(graph, node) for node in ordered], {}
    for node, call in zip(reversed(ordered), reversed(calls), strict=True):
        for part in list(node.users):
            _take(graph, part, call, renamed)
        graph.erase_node(node)
    return renamed


def _call(graph, node):
    _, target, *args = node.args
    with graph.inserting_before(node):
        call = graph.create_node("call_function", target, tuple(args), node.kwargs)
    value = node.meta.get("val")
    call.meta = {**node.meta, **({} if value is None else {"val": tuple(value[1:]) if _num_results(target) > 1 else value[1]})}
    return call


def _take(graph, part, call, renamed):
    """Puts what a part of the results stands for in its place."""
    index = part.args[1]
    if index and _num_results(call.target) > 1:
        part.args = (call, index - 1)
        return
    if index:
        part.replace_all_uses_with(call)
        renamed[part.name] = call
    output = graph.output_node()
    output.args = fx.map_arg(output.args, lambda n: None if n is part else n)
    graph.erase_node(part)


def _num_results(target):
    return len(target._schema.returns) if hasattr(target, "_schema") else 0
