"""The smallest part of a graph that still fails: for reports of errors of compilers."""

import copy

import cresset as torch

from .. import fx

__all__ = ["minifier"]


def minifier(fail_f, inps, module_fails, dump_state=None, *, save_dir=None, offload_to_disk=False, skip_offload=False, skip_sanity=False, max_granularity=None):
    """A smaller graph for which `module_fails(graph_module, inputs)` holds: without its last calls, with values as inputs in place of calls, and with
    fewer results.

    Args:
        fail_f: a GraphModule that fails.
        inps: its inputs, tensors.
        module_fails: says of a graph and inputs whether they fail in the same way.
        dump_state: called with each smaller graph and its inputs.
        skip_sanity: do not check first that the graph fails.
        max_granularity: the most calls that are tried together: a power of two.
        save_dir, offload_to_disk, skip_offload: not supported, inputs stay in memory.

    Returns the graph and its inputs. Errors: RuntimeError for a graph that does not fail, NotImplementedError for `save_dir` and `offload_to_disk`.

    >>> from cresset.functorch.compile import minifier
    >>> graph = torch.fx.symbolic_trace(lambda x: torch.cos(torch.sin(torch.exp(x)) + 1))
    >>> smaller, inputs = minifier(graph, [torch.ones(2)], lambda module, _: any(node.target is torch.sin for node in module.graph.nodes))
    >>> [node.name for node in smaller.graph.nodes if node.op == "call_function"]
    ['sin']
    """
    if save_dir is not None or offload_to_disk:
        raise NotImplementedError("minifier: save_dir and offload_to_disk are not supported: inputs stay in memory")
    if max_granularity is not None and (max_granularity < 1 or max_granularity & (max_granularity - 1)):
        raise RuntimeError(f"minifier: expected max_granularity to be a power of two, got {max_granularity}")
    state = _State(fx.GraphModule(fail_f, copy.deepcopy(fail_f.graph)), list(inps), module_fails, dump_state)
    if not skip_sanity and not state.fails(state.module, state.inputs):
        raise RuntimeError("minifier: expected a graph that fails, module_fails does not hold for it")
    most = max_granularity or 1 << len(state.module.graph.nodes).bit_length()
    while state.truncate() or state.replace(most) or state.drop_results(most):
        pass
    return state.module, state.inputs


class _State:
    """The smallest failing graph so far, with its inputs."""

    def __init__(self, module, inputs, module_fails, dump_state):
        self.module, self.inputs, self.module_fails, self.dump_state = module, inputs, module_fails, dump_state

    def fails(self, module, inputs):
        """Whether a graph fails; inputs are copies, which it may write."""
        return bool(self.module_fails(copy.deepcopy(module), [t.clone() if isinstance(t, torch.Tensor) else t for t in inputs]))

    def values(self):
        """The value of each node."""
        found = {}

        class Recording(fx.Interpreter):
            def run_node(self, node):
                found[node.name] = super().run_node(node)
                return found[node.name]

        Recording(self.module).run(*self.inputs)
        return found

    def keep(self, graph, inputs):
        """Takes a graph in place of the present one if it is smaller and fails; whether it was."""
        given = list(zip(graph.find_nodes(op="placeholder"), inputs, strict=True))
        inputs = [value for node, value in given if node.users]
        for node, _ in given:
            if not node.users:
                graph.erase_node(node)
        module = fx.GraphModule(self.module, graph)
        size = lambda g: (sum(n.op not in ("placeholder", "output") for n in g.nodes), len(g.nodes))  # noqa: E731
        if size(graph) >= size(self.module.graph) or not self.fails(module, inputs):
            return False
        self.module, self.inputs = module, inputs
        if self.dump_state is not None:
            self.dump_state(module, self.inputs)
        return True

    def calls(self):
        return [node.name for node in self.module.graph.nodes if node.op not in ("placeholder", "output", "get_attr")]

    def truncate(self):
        """Ends the graph at an earlier call, the earliest that fails by halves."""
        for name in self.calls():
            graph = copy.deepcopy(self.module.graph)
            end = next(node for node in graph.nodes if node.name == name)
            graph.output_node().args = ((end,),)
            graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output"))
            if self.keep(graph, self.inputs):
                return True
        return False

    def replace(self, most):
        """Makes inputs of the values of a group of calls, of half as many at a time."""
        values, names, count = self.values(), self.calls(), most
        while count:
            for start in range(0, len(names), count):
                group = [n for n in names[start : start + count] if isinstance(values[n], torch.Tensor)]
                if group and self.keep(*self._with_inputs(group, values)):
                    return True
            count //= 2
        return False

    def drop_results(self, most):
        """Returns fewer of several results, without a group of them, of half as many at a time."""
        results = self.module.graph.output_node().args[0]
        count = most if isinstance(results, (tuple, list)) else 0
        while count:
            for start in range(0, len(results), count) if count < len(results) else ():
                graph = copy.deepcopy(self.module.graph)
                end = graph.output_node()
                end.args = ((*end.args[0][:start], *end.args[0][start + count :]),)
                graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output"))
                if self.keep(graph, self.inputs):
                    return True
            count //= 2
        return False

    def _with_inputs(self, names, values):
        graph, inputs = copy.deepcopy(self.module.graph), list(self.inputs)
        first = next(iter(graph.nodes))
        before = next((node for node in graph.nodes if node.op != "placeholder"), first)
        for node in [node for node in graph.nodes if node.name in names]:
            with graph.inserting_before(before):
                given = graph.create_node("placeholder", f"{node.name}_given")
            node.replace_all_uses_with(given)
            inputs.append(values[node.name])
        graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output"))
        return graph, inputs
