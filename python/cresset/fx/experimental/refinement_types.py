"""Open sizes of types as variables, and the equalities between them that operators imply."""

import itertools
import operator

import cresset as torch
from cresset import nn

from ..node import Node
from ..tensor_type import Dyn, TensorType
from .unification import Var

__all__ = ["Equality", "Refine"]


class Equality:
    """Two sizes, or types, that are one.

    >>> torch.fx.experimental.refinement_types.Equality(1, "a")
    1 = a
    """

    def __init__(self, lhs, rhs):
        self.lhs, self.rhs = lhs, rhs

    def __repr__(self):
        return f"{self.lhs} = {self.rhs}"

    def __eq__(self, other):
        return isinstance(other, Equality) and (self.lhs, self.rhs) == (other.lhs, other.rhs)

    __hash__ = None


def _equal(one, other, places):
    """Equalities of the sizes of two types in some places."""
    if not isinstance(one, TensorType) or not isinstance(other, TensorType):
        return []
    return [Equality(one.__args__[i], other.__args__[i]) for i in places(len(one.__args__), len(other.__args__))]


def _all(rank, rank_of_result):
    return range(rank) if rank == rank_of_result else ()


def _channels_too(rank, _):
    return range(rank - 2)


def _first(*_):
    return (0,)


_KEPT = {nn.Conv2d: _first, nn.Linear: _first, nn.ReLU: _all, nn.BatchNorm2d: _all, nn.MaxPool2d: _channels_too, nn.AdaptiveAvgPool2d: _channels_too}


class Refine:
    """Gives every open size of a GraphModule's types a variable, and collects in `constraints` the equalities between them.

    >>> traced = torch.fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    >>> for node in traced.graph.nodes:
    ...     node.type = torch.fx.tensor_type.TensorType((2, torch.fx.tensor_type.Dyn))
    >>> refined = torch.fx.experimental.refinement_types.Refine(traced)
    >>> refined.refine()
    >>> len(refined.constraints)
    2
    """

    def __init__(self, traced):
        self.traced, self.constraints = traced, []
        self._numbers = itertools.count()

    def refine(self):
        """Walk through the graph."""
        modules = dict(self.traced.named_modules())
        for node in self.traced.graph.nodes:
            if node.op == "output":
                node.type = torch.fx.map_arg(node.args[0], lambda used: used.type)
            node.type = self.replace_dyn_with_fresh_var(node.type)
            self.constraints += self._implied(node, modules)

    def replace_dyn_with_fresh_var(self, typ):
        """A type whose open sizes are new variables."""
        if typ is Dyn:
            return Var(next(self._numbers))
        if isinstance(typ, TensorType):
            return TensorType(tuple(self.replace_dyn_with_fresh_var(size) for size in typ.__args__))
        return type(typ)(map(self.replace_dyn_with_fresh_var, typ)) if isinstance(typ, (list, tuple)) else typ

    def _implied(self, node, modules):
        given = [a.type for a in node.args if isinstance(a, Node)]
        match node.op, node.target:
            case "call_module", target:
                kept = _KEPT.get(type(modules[target]))
                return [] if kept is None else _equal(given[0], node.type, kept)
            case "call_function", (torch.add | operator.add) if len(given) == 2:
                return _of_sum(node, *given)
            case "call_function", torch.flatten if isinstance(given[0], TensorType):
                return _equal(given[0], node.type, lambda rank, _: range(*_span(node, rank)[:1]))
        return []


def _of_sum(node, one, other):
    """Sizes that both summands have are those of the result; one that is open may still be widened."""
    kinds = one, other, node.type
    if not all(isinstance(kind, TensorType) for kind in kinds):
        return []
    columns = list(itertools.zip_longest(*(reversed(kind.__args__) for kind in kinds), fillvalue=1))[::-1]
    return [Equality(a if b == 1 else b, c) for a, b, c in columns if a == b or 1 in (a, b)]


def _span(node, rank):
    """The first and last dimension that a call of torch.flatten joins."""
    ends = [*node.args[1:], node.kwargs.get("start_dim", 0) if len(node.args) < 2 else None, node.kwargs.get("end_dim", -1)]
    start, end = [e for e in ends if e is not None][:2]
    return start % rank, end % rank
