"""Operators that write into their first argument, in the place of those that make a new tensor."""

import cresset as torch

from .._compatibility import compatibility
from ..interpreter import Interpreter
from ..node import _is_operator_of_torch

__all__ = ["reinplace"]


class _Storages(Interpreter):
    """Runs a graph and notes for every node the storages of its tensors."""

    def __init__(self, module):
        super().__init__(module, garbage_collect_values=False)  # else a storage could take the place of another
        self.storages, self.values = {}, {}

    def run_node(self, n):
        result = super().run_node(n)
        tensors = [t for t in torch.utils._pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
        self.storages[n] = {t.untyped_storage().data_ptr() for t in tensors}
        self.values[n] = result
        return result


def _in_place(target):
    """The overload that writes into `self` where `target` makes a new tensor; None where there is none."""
    packet = getattr(target, "overloadpacket", None)
    if packet is None or packet.__name__.endswith("_"):
        return None
    other = getattr(torch.ops.aten, packet.__name__ + "_", None)
    return getattr(other, target.__name__.rpartition(".")[2], None) if other is not None else None


@compatibility(is_backward_compatible=True)
def reinplace(gm, *sample_args):
    """Let operators of torch.ops write into their first argument where nothing uses it, or a view of it, afterwards.

    Args:
        gm: the module, whose parameters are left alone; it is changed and compiled anew.
        sample_args: arguments of a call, which tell which tensors share memory.

    Returns the module.

    >>> aten = torch.ops.aten
    >>> traced = torch.fx.symbolic_trace(lambda x: aten.add.Tensor(aten.mul.Tensor(x, x), x))
    >>> [str(n.target) for n in torch.fx.passes.reinplace.reinplace(traced, torch.ones(2)).graph.nodes if n.op == "call_function"]
    ['aten.mul.Tensor', 'aten.add_.Tensor']
    """
    noted = _Storages(gm)
    with torch.no_grad():
        noted.run(*sample_args)
    storages = noted.storages
    kept = set().union(*(storages[n] for n in gm.graph.nodes if n.op in ("placeholder", "get_attr", "output")))
    order = list(gm.graph.nodes)
    for i, node in enumerate(order):
        if node.op != "call_function" or not _is_operator_of_torch(node.target) or not node.args or node.args[0] not in storages:
            continue
        changed, other = node.args[0], _in_place(node.target)
        if other is None or not _fits(noted.values[changed], noted.values[node]):
            continue
        memory = storages[changed]
        if memory & kept or memory & storages[node] or any(memory & storages[used] for later in order[i + 1 :] for used in later.all_input_nodes):
            continue
        if any(used is not changed and memory & storages[used] for used in node.all_input_nodes) or node.all_input_nodes.count(changed) != 1:
            continue
        node.target = other
        for later in order[i:]:  # from now on the result has this memory
            if storages[later] & storages[node]:
                storages[later] = storages[later] | memory
    gm.recompile()
    return gm


def _fits(written, result):
    same = isinstance(written, torch.Tensor) and isinstance(result, torch.Tensor)
    return same and written.shape == result.shape and written.dtype == result.dtype and written.device == result.device and written.is_contiguous()
