"""The report of `draft_export`: assumptions by which a program was captured, and why they may be wrong for other arguments."""

import copy
import dataclasses
import enum

import _cresset_graph

import cresset as torch

from ..utils import _pytree as pytree
from ..utils._python_dispatch import TorchDispatchMode

_ITEM = torch.ops.aten._local_scalar_dense.default


class FailureType(enum.IntEnum):
    """The kinds of things that an export would have refused.

    >>> from cresset.export._draft_export import FailureType
    >>> print(FailureType.DATA_DEPENDENT_ERROR)
    DATA_DEPENDENT_ERROR
    """

    MISSING_FAKE_KERNEL = 1
    DATA_DEPENDENT_ERROR = 2
    GUARD_ADDED = 3
    MISMATCHED_FAKE_KERNEL = 4

    def __str__(self):
        return self.name


@dataclasses.dataclass
class FailureReport:
    """One of them. `data`: the condition, where it was asked, and what was taken for true.

    >>> from cresset.export._draft_export import FailureReport, FailureType
    >>> print(FailureReport(FailureType.GUARD_ADDED, {"reason": "b = a"}).print({}))
    GUARD_ADDED: reason: b = a
    """

    failure_type: FailureType
    data: dict
    xfail: bool = False

    def print(self, str_to_filename):
        """It as text."""
        return f"{self.failure_type.name}: " + ", ".join(f"{name}: {value}" for name, value in self.data.items())


@dataclasses.dataclass
class DraftExportReport:
    """All that stands between a draft and a program that `export` would give.

    >>> from cresset.export._draft_export import DraftExportReport
    >>> DraftExportReport([]).successful()
    True
    """

    failures: list
    str_to_filename: dict = dataclasses.field(default_factory=dict)
    expressions_created: dict = dataclasses.field(default_factory=dict)
    op_profiles: dict = dataclasses.field(default_factory=dict)

    def successful(self):
        """Whether nothing had to be assumed."""
        return all(failure.xfail for failure in self.failures)

    def __str__(self):
        if not self.failures:
            return "draft_export: nothing had to be assumed"
        lines = [f"  {i + 1}. {failure.print(self.str_to_filename)}" for i, failure in enumerate(self.failures)]
        return f"draft_export: {len(lines)} assumptions, which may be wrong for other arguments:\n" + "\n".join(lines)

    __repr__ = __str__


class _Items(TorchDispatchMode):
    """Notes the numbers that a program takes out of tensors, in order."""

    def __init__(self):
        super().__init__()
        self.values = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func is _ITEM:
            self.values.append(out)
        return out


def _is_like(fake, real):
    """Whether a fake tensor has the dtype of a real one, its number of dimensions, and its sizes where they are numbers."""
    if not isinstance(fake, torch.Tensor) or (fake.dtype, fake.dim()) != (real.dtype, real.dim()):
        return False
    return all(type(size) is not int or size == number for size, number in zip(fake.shape, real.shape, strict=True))


class Draft:
    """The numbers of one real run, by which conditions on data are decided, and the report."""

    def __init__(self, module, args, kwargs):
        self.report, self.values, self.seen, self.made = DraftExportReport([]), {}, set(), 0
        args, kwargs = pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), (tuple(args), dict(kwargs or {})))
        with torch.no_grad(), _Items() as items:
            copy.deepcopy(module)(*args, **kwargs)
        self.real = items.values

    def begin(self, run):
        """A new run of the module on fake tensors."""
        self.made, self.run = 0, run

    def note(self, expr):
        """The next symbol of the data."""
        self.made += 1
        self.values[expr.symbols[0]] = self.made - 1

    def value(self, env, expr, error):
        """The number of the real run. Errors: `error` where that has none."""
        bound = {name: hint for name, hint, *_ in env._env.symbols if hint is not None}
        for name, i in self.values.items():
            if i < len(self.real):
                bound[name] = int(self.real[i]) if isinstance(self.real[i], bool) else self.real[i]
        found = expr.evaluate(bound)
        if found is None:
            found = expr.evaluate({**self._lengths(), **bound})
        if found is None:
            raise error
        return found

    def without_kernel(self, recorder, func, args, kwargs):
        """The result of an operator that knows nothing of fake tensors: that of the example, with sizes that only the data tells."""
        found = self._called(recorder, func, args, kwargs)
        return self._unlike(recorder, func, found, FailureType.MISSING_FAKE_KERNEL, "it has no kernel for fake tensors")

    def compared(self, recorder, func, args, kwargs, result):
        """The result on fake tensors of a program's own operator; that of the example where the kernel gives another dtype, or other sizes that are numbers."""
        if func._schema.is_mutable:
            return result
        found = self._called(recorder, func, args, kwargs)
        pairs = list(zip(pytree.tree_leaves(result), pytree.tree_leaves(found), strict=True))
        if all(_is_like(fake, real) for fake, real in pairs if isinstance(real, torch.Tensor)):
            return result
        return self._unlike(recorder, func, found, FailureType.MISMATCHED_FAKE_KERNEL, "its kernel for fake tensors gives something else")

    def _called(self, recorder, func, args, kwargs):
        """The result of the example."""
        values = self._example()[1]
        args, kwargs = pytree.tree_map_only(torch.Tensor, lambda t: values[recorder.node_of(t)], (args, kwargs))
        with recorder.innermost().paused(), torch.no_grad():
            return func(*args, **kwargs)

    def _unlike(self, recorder, func, found, kind, reason):
        if str(func) not in self.seen:
            self.seen.add(str(func))
            self.report.failures.append(FailureReport(kind, {"op": str(func), "reason": reason}))

        def unknown(tensor):
            sizes = [recorder.env.wrap(recorder.env._env.create_unbacked("size")) for _ in tensor.shape]
            return torch.empty(sizes, dtype=tensor.dtype, device=tensor.device)

        return pytree.tree_map_only(torch.Tensor, unknown, found)

    def _lengths(self):
        """The numbers of all symbols that stand in the graph so far, from running it on the example."""
        return self._example()[0]

    def _example(self):
        """The numbers of all symbols that stand in the graph so far, and the value of each node, from running it on the example."""
        recorder, bound, values = self.run.recorder, {}, {}
        given = {node: what[2] if isinstance(what, tuple) and len(what) == 3 else what for node, what in self.run.inputs}
        given.update({node: recorder.constants[name] for name in recorder.constants for node in recorder.graph.find_nodes(op="placeholder")
                      if node.target == "c_" + name.replace(".", "_")})  # fmt: skip

        def symbols_of(stands, value):
            expr = getattr(getattr(stands, "node", None), "_expr", None)
            if expr is not None and expr.is_symbol:
                bound[expr.symbols[0]] = int(value) if isinstance(value, bool) else value
            elif isinstance(stands, torch.Tensor):
                for size, number in zip(stands.shape, value.shape, strict=True):
                    symbols_of(size, number)
            elif isinstance(stands, (list, tuple)):
                for part, number in zip(stands, value, strict=True):
                    symbols_of(part, number)

        with recorder.innermost().paused(), torch.no_grad():
            for node in recorder.graph.nodes:
                if node.op == "call_function":
                    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
                    values[node] = node.target(*args, **kwargs)
                elif node in given:
                    values[node] = given[node].detach().clone() if isinstance(given[node], torch.Tensor) else given[node]
                elif node.op == "get_attr":
                    values[node] = getattr(recorder.root, node.target)
                if node in values and "val" in node.meta:
                    symbols_of(node.meta["val"], values[node])
        return bound, values

    def assume(self, env, expr, error):
        """The answer of the real run to a condition, or its number; it is asserted where the program runs."""
        found = self.value(env, expr, error)
        held = _cresset_graph.apply("eq", expr, found) if expr.kind != "bool" else expr if found else _cresset_graph.apply("not", expr)
        env._env.expect(held, f"draft_export assumed {held}")
        if str(held) not in self.seen:
            self.seen.add(str(held))
            self.report.failures.append(FailureReport(FailureType.DATA_DEPENDENT_ERROR, {"expr": str(expr), "assumed": str(held), "reason": str(error)}))
        return found
