"""Joins pointwise operators of a graph, and reductions of the last dimension between them: each group becomes one node, a kernel that runs them tile
after tile, or block of rows after block."""

import functools
import operator

import _cresset_compile
from _cresset import Tensor

import cresset as torch

from .. import fx
from .._functorch.partitioners import is_random
from .._modes import stack as _stack

#: Elements below which a group does not pay.
MIN_ELEMENTS = 512
MAX_STEPS = 48


#: Columns below which rows are too short to be run one by one.
MIN_COLUMNS = 64


class Kernel:
    """A fused kernel, by its number; it lives as long as this object."""

    def __init__(self, number):
        self.number = number

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
        self.reductions = {}  # node -> (name of its row, its input, further arguments)
        self.narrow = {}  # node -> its step, where it has one column
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
                    narrow = self._step(node, metas, narrow=True)
                    if narrow is not None:
                        self.narrow[node] = narrow
                    if found is not None or narrow is not None:
                        continue
                    found = self._reduction(node)
                    if found is not None:
                        self.reductions[node] = found

    def _reduction(self, node):
        """The reduction of the last dimension that a node is: each row gives one number."""
        schema, val = getattr(node.target, "_schema", None), node.meta.get("val")
        inputs = node.all_input_nodes
        if schema is None or len(inputs) != 1 or not isinstance(val, Tensor) or node.args[0] is not inputs[0]:
            return None
        x = inputs[0].meta.get("val")
        if not (_plain(val) and _plain(x) and x.is_contiguous() and x.dim() and all(isinstance(n, int) for n in x.shape)) or x.dtype is not val.dtype:
            return None
        if x.shape[-1] < MIN_COLUMNS or x.numel() < MIN_ELEMENTS or tuple(val.shape) != (*x.shape[:-1], 1) or not x.is_floating_point():
            return None
        given = {**dict(zip((a.name for a in schema.arguments), node.args)), **node.kwargs}
        dim = given.get("dim")
        dim = dim[0] if isinstance(dim, (list, tuple)) and len(dim) == 1 else dim
        if not isinstance(dim, int) or dim % x.dim() != x.dim() - 1 or given.get("keepdim") is not True or given.get("dtype") is not None:
            return None
        rest = []
        for argument in schema.arguments[1:]:
            value = given.get(argument.name, getattr(argument, "default_value", None))
            rest.append(([-1] if isinstance(value, (list, tuple)) else -1) if argument.name == "dim" else value)
        return node.target._entry, inputs[0], tuple(rest)

    def _step(self, node, metas, narrow=False):
        val = node.meta.get("val")
        schema = getattr(node.target, "_schema", None)
        if schema is None or node.kwargs.get("out") is not None or not _plain(val) or not val.is_contiguous() or getattr(schema, "is_mutable", True):
            return None
        if not all(isinstance(size, int) for size in val.shape) or (val.numel() < MIN_ELEMENTS and not narrow) or str(node.target).startswith("aten._to_copy"):
            return None
        inputs = node.all_input_nodes
        values = [n.meta.get("val") for n in inputs]
        if not inputs or not all(map(_plain, values)):
            return None
        if not any(v.shape == val.shape for v in values):
            return None
        if narrow and (not val.dim() or val.shape[-1] != 1 or any(v.shape != val.shape and v.numel() != 1 for v in values)):
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

    def _fits(self, node, group):
        """Whether a node is of the shape of a group, or of one column of it."""
        shape, own = self.shapes[group], tuple(node.meta["val"].shape)
        if own == shape:
            return node in self.steps
        is_column = bool(shape) and own == (*shape[:-1], 1) and shape[-1] >= MIN_COLUMNS
        return is_column and (node in self.narrow or node in self.reductions)

    def _is_wide(self, node, group):
        return node in self.steps and tuple(node.meta["val"].shape) == self.shapes[group]

    def join(self):
        """Puts each step into a group that it reads, or that reads the same, where nothing in between must run first."""
        latest, self.shapes = {}, []
        for node in self.graph.nodes:
            if node not in self.steps and node not in self.reductions and node not in self.narrow:
                continue
            shape = tuple(node.meta["val"].shape)
            units = {self.unit(n) for n in node.all_input_nodes}
            candidates = [g for g in units if isinstance(g, int)]
            if node in self.steps:
                candidates += [g for g in latest.get(shape, ())[-4:] if g not in candidates]
            for group in sorted(candidates, reverse=True):
                members = self.groups[group]
                if not self._fits(node, group) or len(members) >= MAX_STEPS:
                    continue
                related = group in units or any(n in other.all_input_nodes for other in members for n in node.all_input_nodes)
                if related and not self._reaches(units - {group}, group):
                    members.append(node)
                    self.group_of[node] = group
                    break
            else:
                if node in self.narrow and node not in self.steps:
                    continue
                whole = shape if node in self.steps else tuple(node.all_input_nodes[0].meta["val"].shape)
                self.group_of[node] = len(self.groups)
                self.groups.append([node])
                self.shapes.append(whole)
                latest.setdefault(whole, []).append(len(self.groups) - 1)

    # ---- the new graph ----------------------------------------------------------------------------------------------------

    def rewrite(self):
        """The module with a node for each group of two steps or more; the kernels, which it needs."""
        chosen = {g for g, members in enumerate(self.groups) if self._pays(g, members)}
        if not chosen:
            return self.module, []
        graph, made, kernels = fx.Graph(), {}, []
        done, self.after = set(), self._ordered()

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

        # A group runs where its last member stood, or before what reads it: so operators stay near what they read, which is in cache.
        for node in self.graph.nodes:
            unit = self.group_of.get(node)
            if unit not in chosen:
                emit(node)
            elif self.groups[unit][-1] is node:
                emit(unit)
        return fx.GraphModule(self.module, graph), kernels

    def _pays(self, group, members):
        """Whether a group is worth a kernel. One of rows needs something to read in full, and arguments that are rows, columns or numbers."""
        if len(members) < 2:
            return False
        if all(self._is_wide(node, group) for node in members):
            return True
        if not any(self._is_wide(node, group) for node in members):
            return False
        kinds = [self._kind(n, group) for n in self._arguments(members, group)]
        return 0 in kinds and None not in kinds

    def _read(self, node, group):
        """The tensors that a member's loop or reduction reads: not all of an operator's, some of which keep nothing here."""
        if node in self.reductions:
            return [self.reductions[node][1]]
        return [n for n in (self.steps if self._is_wide(node, group) else self.narrow)[node][1] if n is not None]

    def _arguments(self, members, group):
        inside, found = set(members), []
        for node in members:
            found += [n for n in self._read(node, group) if n not in inside and n not in found]
        return found

    def _kind(self, node, group):
        """All of the rows (0), one column (1), one row (2), one number (3); None for other shapes."""
        value, shape = node.meta["val"], self.shapes[group]
        own = tuple(value.shape)
        if own == shape:
            return 0
        if value.numel() == 1:
            return 3
        if own == (*shape[:-1], 1):
            return 1
        return 2 if own == shape[-1:] or (len(own) <= len(shape) and own[-1] == shape[-1] and value.numel() == shape[-1]) else None

    def _ordered(self):
        """For each node that draws random numbers or writes: the one before, which runs first."""
        after, last = {}, None
        for node in self.graph.nodes:
            if node.op != "call_function" or node in self.steps or node in self.reductions:
                continue
            if getattr(getattr(node.target, "_schema", None), "is_mutable", True) or is_random(node):
                if last is not None:
                    after[node] = last
                last = node
        return after

    def _inputs_chosen(self, unit, chosen):
        nodes = self.groups[unit] if isinstance(unit, int) else (unit,)
        found = []
        for node in nodes:
            for n in (*node.all_input_nodes, *([self.after[node]] if node in self.after else [])):
                other = self.group_of.get(n)
                other = other if other in chosen else n
                if other != unit and other not in found:
                    found.append(other)
        return found

    def _emit_group(self, graph, made, kernels, group):
        members = self.groups[group]
        numbers = {node: i for i, node in enumerate(members)}
        arguments = self._arguments(members, group)

        def which(nodes):
            return tuple(None if n is None else -1 - numbers[n] if n in numbers else arguments.index(n) for n in nodes)

        outputs = [node for node in members if any(user not in numbers for user in node.users)]
        examples, results = tuple(_meta(n.meta["val"]) for n in arguments), tuple(numbers[node] for node in outputs)
        if all(self._is_wide(node, group) for node in members):
            number = _cresset_compile.fuse(examples, [(self.steps[node][0], which(self.steps[node][1])) for node in members], results)
        else:
            steps = []
            for node in members:
                if node in self.reductions:
                    name, source, rest = self.reductions[node]
                    steps.append((name, which([source]), False, rest, _cresset_compile.dtype(_meta(node.meta["val"]))))
                else:
                    wide = self._is_wide(node, group)
                    step, nodes = (self.steps if wide else self.narrow)[node]
                    steps.append((step, which(nodes), wide, (), 0))
            number = _cresset_compile.fuse_rows(examples, tuple(self._kind(n, group) for n in arguments), steps, results)
        kernel = Kernel(number)
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


def _geometry(value):
    return value.shape, value.stride(), value.storage_offset(), value.dtype, value.is_conj(), value.is_neg()


def without_idle_views(module):
    """The module without views that lie as what they are views of, such as a transpose of a transpose."""
    for node in list(module.graph.nodes):
        source = node
        while source.op == "call_function" and getattr(source.target, "is_view", False) and isinstance(source.args[0], fx.Node):
            source = source.args[0]
            ours, theirs = node.meta.get("val"), source.meta.get("val")
            if _plain(ours) and _plain(theirs) and _geometry(ours) == _geometry(theirs):
                node.replace_all_uses_with(source)
                break
    module.graph.eliminate_dead_code()
    return module


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
