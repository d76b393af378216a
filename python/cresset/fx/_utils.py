"""Graphs as text, for logs."""


def _format_graph_code(name, filename, graph_str):
    return f"TRACED GRAPH\n {name} {filename} {graph_str}\n"


class _Later:
    """Text that is made when it is asked for."""

    def __init__(self, make):
        self._make = make

    def __str__(self):
        return self._make()


def lazy_format_graph_code(name, gm, maybe_id=None, **kwargs):
    """The code of a module under a title, as an object whose text is made when it is asked for.

    >>> "add" in str(torch.fx._utils.lazy_format_graph_code("mine", torch.fx.symbolic_trace(lambda x: x + 1)))
    True
    """
    title = f"{name} {maybe_id}" if maybe_id is not None else name
    return _Later(lambda: _format_graph_code(f"===== {title} =====\n", gm.forward.__code__.co_filename, gm.print_readable(print_output=False, **kwargs)))


def first_call_function_nn_module_stack(graph):
    """The `nn_module_stack` of the first call of a function that has one; None where there is none."""
    for node in graph.nodes:
        if node.op == "call_function" and "nn_module_stack" in node.meta:
            return node.meta["nn_module_stack"]
    return None


def get_node_context(node, num_nodes=2):
    """A node and those before it as lines of text."""
    lines, current = [], node
    for _ in range(num_nodes):
        if current.op == "root":
            break
        lines.append(current.format_node() or "")
        current = current.prev
    return "\n".join(reversed(lines))
