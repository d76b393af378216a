"""Joins pointwise operators of a graph: each group becomes one node, a kernel that runs them tile after tile."""

import functools
import operator

import _cresset_compile
from _cresset import Tensor

import cresset as torch

from .. import fx
from .._modes import stack as _stack

#: Elements below which a group does not pay.
MIN_ELEMENTS = 512
MAX_STEPS = 48


class Kernel:
    """A fused kernel, which lives as long as this object."""

    def __init__(self, examples, steps, outputs):
        self.number = _cresset_compile.fuse(examples, steps, outputs)

    def __del__(self):
        _cresset_compile.drop(self.number)


def _plain(value):
    return isinstance(value, Tensor) and value.layout is torch.strided and value.device.type == "cpu" and not value.is_conj() and not value.is_neg()


def _meta(value):
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


class _Fuser:
    def __init__(self, module):
        self.module, self.graph = module, module.graph
        self.order = {node: i for i, node in enumerate(self.graph.nodes)}
        self.steps = {}  # node -> (step, [its tensor inputs, nodes, None for numbers])
        self.groups = []  # lists of nodes
        self.group_of = {}

    # ---- which nodes are single loops -------------------------------------------------------------------------------------

    def look(self):
        """Finds the loop of each pointwise node."""
        metas = {}
        with _stack.none_active(), torch.no_grad():
            for node in self.graph.nodes:
                if node.op == "call_function":
                    found = self._step(node, metas)
                    if found is not None:
                        self.steps[node] = found

    def _step(self, node, metas):
        val = node.meta.get("val")
        schema = getattr(node.target, "_schema", None)
        if schema is None or node.kwargs.get("out") is not None or not _plain(val) or not val.is_contiguous() or getattr(schema, "is_mutable", True):
            return None
        if not all(isinstance(size, int) for size in val.shape) or val.numel() < MIN_ELEMENTS or str(node.target).startswith("aten._to_copy"):
            return None
        inputs = node.all_input_nodes
        values = [n.meta.get("val") for n in inputs]
        if not inputs or not all(map(_plain, values)):
            return None
        if not any(v.shape == val.shape for v in values):
            return None
        for n, value in zip(inputs, values, strict=True):
            if n not in metas:
                metas[n] = _meta(value)
        args = fx.map_arg(node.args, lambda n: metas[n])
        kwargs = fx.map_arg(node.kwargs, lambda n: metas[n])
        try:
            found = _cresset_compile.probe(functools.partial(node.target, *args, **kwargs), tuple(metas[n] for n in inputs))
        except Exception:  # it has no rule for tensors without data
            return None
        if found is None:
            return None
        step, which = found
        return step, [None if i is None else inputs[i] for i in which]

    # ---- groups -----------------------------------------------------------------------------------------------------------

    def unit(self, node):
        """The group of a node, by number; the node itself without one."""
        return self.group_of.get(node, node)

    def _inputs(self, unit):
        nodes = self.groups[unit] if isinstance(unit, int) else (unit,)
        return {self.unit(n) for node in nodes for n in node.all_input_nodes} - {unit}

    def _reaches(self, starts, group):
        """Whether what these units are computed from holds the group."""
        first = self.order[self.groups[group][0]]
        todo, seen = list(starts), set(starts)
        while todo:
            unit = todo.pop()
            if unit == group:
                return True
            for other in self._inputs(unit):
                last = self.order[self.groups[other][-1]] if isinstance(other, int) else self.order[other]
                if other not in seen and last >= first:
                    seen.add(other)
                    todo.append(other)
        return False

    def join(self):
        """Puts each step into a group of its shape that it reads, or that reads the same, where nothing in between must run first."""
        latest = {}
        for node in self.steps:
            shape = tuple(node.meta["val"].shape)
            units = {self.unit(n) for n in node.all_input_nodes}
            candidates = [g for g in units if isinstance(g, int)]
            candidates += [g for g in latest.get(shape, ())[-4:] if g not in candidates]
            for group in sorted(candidates, reverse=True):
                members = self.groups[group]
                if tuple(members[0].meta["val"].shape) != shape or len(members) >= MAX_STEPS:
                    continue
                related = group in units or any(n in other.all_input_nodes for other in members for n in node.all_input_nodes)
                if related and not self._reaches(units - {group}, group):
                    members.append(node)
                    self.group_of[node] = group
                    break
            else:
                self.group_of[node] = len(self.groups)
                self.groups.append([node])
                latest.setdefault(shape, []).append(len(self.groups) - 1)

    # ---- the new graph ----------------------------------------------------------------------------------------------------

    def rewrite(self):
        """The module with a node for each group of two steps or more; the kernels, which it needs."""
        chosen = {g for g, members in enumerate(self.groups) if len(members) > 1}
        if not chosen:
            return self.module, []
        graph, made, kernels = fx.Graph(), {}, []
        done = set()

        def emit(unit):
            todo = [(unit, False)]
            while todo:
                one, ready = todo.pop()
                if one in done:
                    continue
                inputs = [u for u in self._inputs_chosen(one, chosen) if u not in done]
                if not ready and inputs:
                    todo.append((one, True))
                    todo += [(u, False) for u in inputs]
                    continue
                done.add(one)
                if isinstance(one, int):
                    self._emit_group(graph, made, kernels, one)
                else:
                    made[one] = graph.node_copy(one, lambda n: made[n])

        for node in self.graph.nodes:
            unit = self.group_of.get(node)
            emit(unit if unit in chosen else node)
        return fx.GraphModule(self.module, graph), kernels

    def _inputs_chosen(self, unit, chosen):
        nodes = self.groups[unit] if isinstance(unit, int) else (unit,)
        found = []
        for node in nodes:
            for n in node.all_input_nodes:
                other = self.group_of.get(n)
                other = other if other in chosen else n
                if other != unit and other not in found:
                    found.append(other)
        return found

    def _emit_group(self, graph, made, kernels, group):
        members = self.groups[group]
        numbers = {node: i for i, node in enumerate(members)}
        arguments, steps = [], []
        for node in members:
            step, inputs = self.steps[node]
            which = []
            for n in inputs:
                if n is None:
                    which.append(None)
                elif n in numbers:
                    which.append(-1 - numbers[n])
                else:
                    if n not in arguments:
                        arguments.append(n)
                    which.append(arguments.index(n))
            steps.append((step, tuple(which)))
        outputs = [node for node in members if any(user not in numbers for user in node.users)]
        kernel = Kernel(tuple(_meta(n.meta["val"]) for n in arguments), steps, tuple(numbers[node] for node in outputs))
        kernels.append(kernel)
        call = graph.call_function(_operator(), (kernel.number, [made[n] for n in arguments]))
        call.meta["val"] = [node.meta["val"] for node in outputs]
        call.meta["fused"] = [str(node.target) for node in members]
        for i, node in enumerate(outputs):
            made[node] = graph.call_function(operator.getitem, (call, i))
            made[node].meta["val"] = node.meta["val"]


@functools.cache
def _operator():
    return torch.ops._overload_of("cresset_fused::run")


#: Nanoseconds for an element below which a value is computed again rather than kept: about the time that memory takes to store and load it.
CHEAP = 0.25


def recomputed(module):
    """Nodes of a joint graph that backward may compute again: views, and pointwise operators whose loops cost less than memory."""
    fuser = _Fuser(module)
    fuser.look()
    return {node for node, (step, _) in fuser.steps.items() if _cresset_compile.cost(step) < CHEAP}


def fuse(module):
    """A module that computes the same with fewer passes over memory, and the kernels that it calls.

    >>> from cresset._inductor.fusion import fuse
    >>> from cresset.fx.experimental.proxy_tensor import make_fx
    >>> x = torch.linspace(-1, 1, 1024)
    >>> fused, kernels = fuse(make_fx(lambda x: x.sin() * x + 1)(x))
    >>> len(kernels), torch.equal(fused(x), x.sin() * x + 1)
    (1, True)
    """
    fuser = _Fuser(module)
    fuser.look()
    fuser.join()
    return fuser.rewrite()
