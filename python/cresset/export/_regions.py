"""Parts of a graph that ran with gradients or autocast switched become graphs of their own, called with the switch."""

import operator

import cresset as torch

from .._higher_order_ops.wrap import wrap_with_autocast, wrap_with_set_grad_enabled


def wrap(recorder, run):
    """Moves every stretch of calls that ran under another autocast or grad mode than the whole into a submodule."""
    whole = torch.is_grad_enabled()
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None
    stretches = [
        *_stretches(recorder.graph, lambda n: recorder.casts.get(n) if n in recorder.grad_modes else dtype, dtype),
        *_stretches(recorder.graph, lambda n: recorder.grad_modes.get(n, whole) if recorder.casts.get(n) is dtype else whole, whole),
    ]
    # Names are PyTorch's, where a graph is split into numbered parts before and after each stretch, and results are taken out of calls one by one.
    parts, taken = 2 * len(stretches) + 1, 0
    for index, (nodes, state) in enumerate(stretches):
        cast = not isinstance(state, bool)
        switch = ("cpu", state, state is not None, True) if cast else (state,)
        names = f"submod_{2 * index + 1}", f"submod_{parts + index}", f"getitem_{taken}" if taken else "getitem"
        taken += _move(recorder.graph, run.root, nodes, wrap_with_autocast if cast else wrap_with_set_grad_enabled, switch, names)


def _stretches(graph, state_of, whole):
    """(calls, state) of each stretch that ran in another state than the whole."""
    found, current = [], None
    for node in graph.nodes:
        state = state_of(node) if node.op == "call_function" else whole
        if state == whole:
            current = None
        elif current is None or current[1] != state:
            current = ([node], state)
            found.append(current)
        else:
            current[0].append(node)
    return found


def _move(graph, root, nodes, operation, switch, names):
    """Makes a submodule of nodes and calls it. `names`: of the submodule, of its node, and of the one result that a call may have. Returns how many results
    it has."""
    name, of_module, of_result = names
    inside, outside = set(nodes), {}
    for node in nodes:
        for used in node.all_input_nodes:
            if used not in inside:
                outside.setdefault(used)
    results = [n for n in nodes if any(user not in inside for user in n.users)]
    part, mapped = torch.fx.Graph(), {}
    for i, node in enumerate(outside):
        title = f"arg{i}_1" if operation is wrap_with_autocast else node.name
        mapped[node] = part.create_node("placeholder", title, name=title)
        mapped[node].meta = {"val": node.meta.get("val")}
    for node in nodes:
        mapped[node] = part.node_copy(node, mapped.__getitem__)
    part.output(tuple(mapped[n] for n in results))
    setattr(root, name, torch.fx.GraphModule(torch.nn.Module(), part))
    with graph.inserting_before(nodes[0]):
        body = graph.create_node("get_attr", name, name=of_module)
        call = graph.create_node("call_function", operation, (*switch, body, *outside), name=operation.name())
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
    if len(results) == 1:
        others = {n.name for n in graph.nodes if n not in (call, replaced[results[0]])}
        free = (name for name in (of_result, *(f"getitem_{i}" for i in range(1, len(others) + 2))) if name not in others)
        call.name, replaced[results[0]].name = results[0].name, next(free)
    return len(results)
