"""Open sizes of types found from the equalities that operators imply."""

import contextlib

import cresset as torch
from cresset import nn

from ..tensor_type import TensorType
from .graph_gradual_typechecker import calculate_out_dimension
from .refinement_types import Refine
from .unification import Var, unify

__all__ = ["check_for_type_equality", "convert_eq", "infer_symbolic_types", "infer_symbolic_types_single_pass", "substitute_all_types",
           "substitute_solution_one_type", "unify_eq"]  # fmt: skip


def infer_symbolic_types_single_pass(traced):
    """Put variables in the place of open sizes, and what the operators imply in theirs.

    >>> traced = torch.fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    >>> x, relu, output = traced.graph.nodes
    >>> x.type, relu.type = torch.fx.tensor_type.TensorType((2, 3)), torch.fx.tensor_type.TensorType((2, torch.fx.tensor_type.Dyn))
    >>> torch.fx.experimental.unify_refinements.infer_symbolic_types_single_pass(traced)
    >>> relu.type
    TensorType[(2, 3)]
    """
    found = Refine(traced)
    found.refine()
    substitute_all_types(traced.graph, unify_eq(found.constraints))


def infer_symbolic_types(traced):
    """`infer_symbolic_types_single_pass` until nothing changes, which broadcasting may need two rounds for; sizes that stay open are symbols of sympy.

    >>> traced = torch.fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    >>> next(iter(traced.graph.nodes)).type = torch.fx.tensor_type.TensorType((2, 3))
    >>> torch.fx.experimental.unify_refinements.infer_symbolic_types(traced)
    """
    for _ in range(2):
        infer_symbolic_types_single_pass(traced)
    with contextlib.suppress(ImportError):  # without sympy variables stay what they are
        _put_symbols(traced)


def _put_symbols(traced):
    """Makes the variables symbols of sympy, and writes the sizes after convolutions as expressions of those before them."""
    import sympy

    def symbolic(size):
        return sympy.Symbol(str(size)) if isinstance(size, Var) else size

    for node in traced.graph.nodes:
        if isinstance(node.type, TensorType):
            node.type = TensorType(tuple(map(symbolic, node.type.__args__)))
        elif isinstance(node.type, (list, tuple)):
            node.type = type(node.type)(symbolic(part) for part in node.type)
        module = traced.get_submodule(node.target) if node.op == "call_module" else None
        if isinstance(module, nn.Conv2d) and isinstance(node.args[0].type, TensorType) and isinstance(node.type, TensorType):
            image = (calculate_out_dimension(size, module, i) for i, size in enumerate(node.args[0].type.__args__[2:]))
            node.type = TensorType((*node.type.__args__[:2], *image))
        if node.op == "output":
            node.type = torch.fx.map_arg(node.args[0], lambda used: used.type)


def convert_eq(list_of_eq):
    """Equalities as two terms for `unify`: all left sides, all right sides.

    >>> Equality = torch.fx.experimental.refinement_types.Equality
    >>> torch.fx.experimental.unify_refinements.convert_eq([Equality(1, 2), Equality(3, 4)])
    ((1, 3), (2, 4))
    """
    return tuple(_term(e.lhs) for e in list_of_eq), tuple(_term(e.rhs) for e in list_of_eq)


def _term(side):
    return tuple(side.__args__) if isinstance(side, TensorType) else side


def unify_eq(list_of_eq):
    """The values of the variables in equalities; False where they contradict each other.

    >>> x = torch.fx.experimental.unification.var("x")
    >>> torch.fx.experimental.unify_refinements.unify_eq([torch.fx.experimental.refinement_types.Equality(x, 3)])
    {~x: 3}
    """
    return unify(*convert_eq(list_of_eq))


def substitute_solution_one_type(mapping, t):
    """A type with the values of its variables; numbers and what is open stay.

    >>> x = torch.fx.experimental.unification.var("x")
    >>> torch.fx.experimental.unify_refinements.substitute_solution_one_type({x: 3}, torch.fx.tensor_type.TensorType((x, 2)))
    TensorType[(3, 2)]
    """
    if isinstance(t, TensorType):
        return TensorType(tuple(substitute_solution_one_type(mapping, size) for size in t.__args__))
    if isinstance(t, (list, tuple)):
        return type(t)(substitute_solution_one_type(mapping, part) for part in t)
    while isinstance(t, Var) and t in mapping:
        t = mapping[t]
    return t


def substitute_all_types(graph, mapping):
    """`substitute_solution_one_type` of all types of a graph. A False in place of a mapping, of contradictory equalities, changes nothing.

    >>> graph = torch.fx.symbolic_trace(lambda x: x).graph
    >>> next(iter(graph.nodes)).type = torch.fx.experimental.unification.var("t")
    >>> torch.fx.experimental.unify_refinements.substitute_all_types(graph, {next(iter(graph.nodes)).type: int})
    >>> next(iter(graph.nodes)).type
    <class 'int'>
    """
    for node in graph.nodes:
        node.type = substitute_solution_one_type(mapping or {}, node.type)


def check_for_type_equality(g1, g2):
    """Whether the nodes of two graphs have the same types.

    >>> graph = torch.fx.Graph()
    >>> torch.fx.experimental.unify_refinements.check_for_type_equality(graph, graph)
    True
    """
    return len(g1.nodes) == len(g2.nodes) and all(a.type == b.type for a, b in zip(g1.nodes, g2.nodes))
