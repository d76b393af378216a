"""Parts of a graph that ran with gradients switched become graphs of their own, called with the switch."""

import operator

import cresset as torch

from .._higher_order_ops.wrap import wrap_with_set_grad_enabled


def wrap(recorder, run):
    """Moves every stretch of calls that ran with another grad mode than the whole into a submodule."""
    graph, whole = recorder.graph, torch.is_grad_enabled()
    stretches, current = [], []
    for node in graph.nodes:
        if node.op == "call_function" and recorder.grad_modes.get(node, whole) is not whole:
            current.append(node)
        elif current:
            stretches.append(current)
            current = []
    for index, nodes in enumerate(stretches):
        _move(graph, run.root, nodes, not whole, f"submod_{2 * index + 1}")


def _move(graph, root, nodes, enabled, name):
    inside, outside = set(nodes), {}
    for node in nodes:
        for used in node.all_input_nodes:
            if used not in inside:
                outside.setdefault(used)
    results = [n for n in nodes if any(user not in inside for user in n.users)]
    part, mapped = torch.fx.Graph(), {}
    for node in outside:
        mapped[node] = part.create_node("placeholder", node.name, name=node.name)
        mapped[node].meta = {"val": node.meta.get("val")}
    for node in nodes:
        mapped[node] = part.node_copy(node, mapped.__getitem__)
    part.output(tuple(mapped[n] for n in results))
    setattr(root, name, torch.fx.GraphModule(torch.nn.Module(), part))
    with graph.inserting_before(nodes[0]):
        body = graph.create_node("get_attr", name)
        call = graph.create_node("call_function", wrap_with_set_grad_enabled, (enabled, body, *outside), name="wrap_with_set_grad_enabled")
        call.meta["val"] = tuple(n.meta["val"] for n in results)
        replaced = {}
        for i, result in enumerate(results):
            replaced[result] = graph.create_node("call_function", operator.getitem, (call, i), name=result.name)
            replaced[result].meta = dict(result.meta)
    for result, new in replaced.items():
        result.replace_all_uses_with(new, delete_user_cb=lambda user: user not in inside)
    for node in reversed(nodes):
        graph.erase_node(node)
    for result, new in replaced.items():
        new.name = result.name
