"""Shapes checked before a program runs: types may leave sizes open, and what is known has to fit."""

import itertools
import math
import operator

import cresset as torch
from cresset import nn

from ..node import Node
from ..tensor_type import Dyn, TensorType, is_consistent, is_more_precise
from .refinement_types import Refine

__all__ = ["GraphTypeChecker", "Refine", "broadcast_types", "calculate_out_dimension", "expand_to_tensor_dim", "get_greatest_upper_bound",
           "register_inference_rule"]  # fmt: skip

_INFERENCE_RULES = {}


def register_inference_rule(call_target):
    """A decorator that adds the rule of a function, a name of a method or attribute, or a class of modules: (node) or (node, module) -> type.

    >>> @torch.fx.experimental.graph_gradual_typechecker.register_inference_rule(torch.sin)
    ... def _(n):
    ...     return n.args[0].type
    """

    def add(rule):
        if call_target in _INFERENCE_RULES:
            raise RuntimeError(f"register_inference_rule: {call_target} has a rule already")
        _INFERENCE_RULES[call_target] = rule
        return rule

    return add


# ---- types ----------------------------------------------------------------------------------------------------------------


def expand_to_tensor_dim(t, n):
    """A type as one of `n` sizes. Errors: TypeError for a type of another number of sizes, or that is none of tensors.

    >>> torch.fx.experimental.graph_gradual_typechecker.expand_to_tensor_dim(torch.fx.tensor_type.Dyn, 2)
    TensorType[(Dyn, Dyn)]
    """
    if t == Dyn:
        return TensorType((Dyn,) * n)
    if isinstance(t, TensorType) and len(t.__args__) == n:
        return t
    raise TypeError(f"Cannot extend {t} to a tensor of {n} dimensions")


def broadcast_types(t1, t2):
    """Two types after broadcasting. Errors: TypeError for sizes that do not fit.

    >>> TensorType = torch.fx.tensor_type.TensorType
    >>> torch.fx.experimental.graph_gradual_typechecker.broadcast_types(TensorType((2, 1)), TensorType((3,)))
    (TensorType[(2, 3)], TensorType[(2, 3)])
    """
    if Dyn in (t1, t2) or not (isinstance(t1, TensorType) and isinstance(t2, TensorType)):
        return t1, t2
    pairs = list(itertools.zip_longest(reversed(t1.__args__), reversed(t2.__args__)))
    if any(not is_consistent(a, b) and 1 not in (a, b) and None not in (a, b) for a, b in pairs):
        raise TypeError(f"Cannot broadcast the tensors {t1} and {t2}")

    def widened(size, other):
        return other if size is None or (size == 1 and other is not None) else size

    first, second = [widened(a, b) for a, b in pairs], [widened(b, a) for a, b in pairs]
    return TensorType(tuple(first[::-1])), TensorType(tuple(second[::-1]))


def get_greatest_upper_bound(type1, type2):
    """The type that says what both types say. Errors: TypeError where they contradict each other.

    >>> TensorType, Dyn = torch.fx.tensor_type.TensorType, torch.fx.tensor_type.Dyn
    >>> torch.fx.experimental.graph_gradual_typechecker.get_greatest_upper_bound(TensorType((1, Dyn)), TensorType((Dyn, 2)))
    TensorType[(1, 2)]
    """
    if not is_consistent(type1, type2):
        raise TypeError(f"Inconsistent types {type1}, {type2}")
    if Dyn in (type1, type2):
        return type2 if type1 == Dyn else type1
    if not isinstance(type1, TensorType):
        return type1
    return TensorType(tuple(b if a == Dyn else a for a, b in zip(type1.__args__, type2.__args__)))


def _tensor_type(node):
    """The type of a node that is a tensor's, or open."""
    if node.type != Dyn and not isinstance(node.type, TensorType):
        raise TypeError(f"{node} has the type {node.type}, expected that of a tensor")
    return node.type


# ---- rules of functions -----------------------------------------------------------------------------------------------------


@register_inference_rule(torch.add)
@register_inference_rule(operator.add)
def add_inference_rule(n):
    """The sum of two tensors or numbers: the less precise of both types after broadcasting."""
    kinds = [a.type if isinstance(a, Node) else type(a) for a in n.args]
    numbers = [kind in (int, float) for kind in kinds]
    if any(numbers):
        return kinds[numbers.index(False)] if not all(numbers) else float if float in kinds else int
    one, other = broadcast_types(*kinds)
    n.meta["broadcast"] = [one, other] != kinds
    if n.meta["broadcast"]:
        n.meta.update({str(n.args[0]): one, str(n.args[1]): other})
    if not is_consistent(one, other):
        raise TypeError(f"Cannot add {n.args[0]} ({kinds[0]}) and {n.args[1]} ({kinds[1]}) in node {n}")
    return other if is_more_precise(one, other) else one


@register_inference_rule(torch.transpose)
def transpose_inference_rule(n):
    """Two dimensions exchanged."""
    kind, (a, b) = _tensor_type(n.args[0]), n.args[1:]
    if kind == Dyn:
        return Dyn
    sizes = list(kind.__args__)
    if not all(-len(sizes) <= d < len(sizes) for d in (a, b)):
        raise TypeError(f"Cannot transpose {a} and {b} in type {kind} for node {n}")
    sizes[a], sizes[b] = sizes[b], sizes[a]
    return get_greatest_upper_bound(n.type, TensorType(tuple(sizes)))


@register_inference_rule(torch.reshape)
@register_inference_rule("reshape")
def reshape_inference_rule(n):
    """The sizes that are given; the number of elements has to fit where all is known."""
    kind, wanted = _tensor_type(n.args[0]), n.args[1:]
    wanted = tuple(wanted[0]) if len(wanted) == 1 and isinstance(wanted[0], (list, tuple)) else wanted
    result = TensorType(tuple(Dyn if size == -1 else size for size in wanted))
    if kind == Dyn:
        return result
    known = [math.prod(s for s in t.__args__ if s != Dyn) for t in (kind, result)]
    holes = [sum(s == Dyn for s in t.__args__) for t in (kind, result)]
    fits = known[0] == known[1] if holes == [0, 0] else all(h or known[i] % max(known[1 - i], 1) == 0 for i, h in enumerate(holes))
    # With open sizes on both sides the known parts are multiples of each other, one way or the other.
    fits = fits and (0 in holes or 0 in known or max(known) % min(known) == 0)
    if not fits:
        raise TypeError(f"Cannot reshape in node {n} from {kind} to {result}")
    return TensorType(tuple(known[0] // known[1] if s == Dyn else s for s in result.__args__)) if holes == [0, 1] else result


@register_inference_rule(torch.flatten)
def flatten_inference_rule(n):
    """Neighbouring dimensions joined."""
    from .refinement_types import _span

    kind = _tensor_type(n.args[0])
    if kind == Dyn:
        return n.type
    sizes, (start, end) = kind.__args__, _span(n, len(kind.__args__))
    if start > end:
        raise TypeError(f"Incompatible dimensions {start} and {end} to flatten in type {kind}")
    joined = sizes[start : end + 1]
    return get_greatest_upper_bound(TensorType((*sizes[:start], Dyn if Dyn in joined else math.prod(joined), *sizes[end + 1 :])), n.type)


@register_inference_rule(getattr)
def get_attr_inference_rule(n, traced):
    """An attribute, whose type stays open."""
    return Dyn


# ---- rules of modules -------------------------------------------------------------------------------------------------------


def calculate_out_dimension(d_in, module_instance, index):
    """The size of a dimension after a convolution or pooling; open for an open one.

    >>> torch.fx.experimental.graph_gradual_typechecker.calculate_out_dimension(8, nn.Conv2d(1, 1, 3), 0)
    6
    """
    if d_in == Dyn:
        return Dyn
    m = module_instance
    padding, kernel, stride, dilation = (v[index] if isinstance(v, tuple) else v for v in (m.padding, m.kernel_size, m.stride, m.dilation))
    reach = d_in + 2 * padding - dilation * (kernel - 1) - 1
    if isinstance(d_in, int):
        return reach // stride + 1
    import sympy  # of which symbols are

    return sympy.floor(reach / stride + 1)


def _fit(n, size, expected, module):
    if not is_consistent(size, expected):
        raise TypeError(f"Cannot apply {module} in node {n}: expected the size {expected}, got {size} in the type {n.args[0].type}")


@register_inference_rule(nn.Conv2d)
def conv2d_inference_rule(n, module_instance):
    """A convolution: other channels, and other heights and widths."""
    given = n.args[0].type = get_greatest_upper_bound(n.args[0].type, expand_to_tensor_dim(n.args[0].type, 4))
    batch, channels, *image = given.__args__
    _fit(n, channels, module_instance.in_channels, module_instance)
    made = (calculate_out_dimension(size, module_instance, i) for i, size in enumerate(image))
    return get_greatest_upper_bound(TensorType((batch, module_instance.out_channels, *made)), expand_to_tensor_dim(n.type, 4))


@register_inference_rule(nn.BatchNorm2d)
def bn2d_inference_rule(n, module_instance):
    """Normalisation, which keeps all sizes."""
    given = n.args[0].type = expand_to_tensor_dim(n.args[0].type, 4)
    result = expand_to_tensor_dim(n.type, 4)
    for kind in (given, result):
        _fit(n, kind.__args__[1], module_instance.num_features, module_instance)
    return get_greatest_upper_bound(given, result)


@register_inference_rule(nn.ReLU)
def relu_inference_rule(n, module_instance):
    """An activation, which keeps all sizes."""
    return get_greatest_upper_bound(_tensor_type(n.args[0]), n.type)


def _pooled(n, module_instance, size_of):
    kind = _tensor_type(n.args[0])
    if kind == Dyn:
        return n.type
    if len(kind.__args__) not in (3, 4):
        raise TypeError(f"Cannot apply {module_instance} in node {n} to the type {kind}")
    *before, height, width = kind.__args__
    return get_greatest_upper_bound(TensorType((*before, size_of(height, 0), size_of(width, 1))), n.type)


@register_inference_rule(nn.MaxPool2d)
def maxpool2d_inference_rule(n, module_instance):
    """Pooling, which changes height and width."""
    return _pooled(n, module_instance, lambda size, i: calculate_out_dimension(size, module_instance, i))


@register_inference_rule(nn.AdaptiveAvgPool2d)
def adaptiveavgpool2d_inference_rule(n, module_instance):
    """Pooling to a height and width; None keeps the one that is there."""
    wanted = module_instance.output_size
    wanted = wanted if isinstance(wanted, tuple) else (wanted, wanted)
    return _pooled(n, module_instance, lambda size, i: size if wanted[i] is None else wanted[i])


@register_inference_rule(nn.Linear)
def linear_inference_rule(n, module_instance):
    """A linear map of the last dimension."""
    kind = _tensor_type(n.args[0])
    if kind == Dyn:
        return n.type
    _fit(n, kind.__args__[-1], module_instance.in_features, module_instance)
    return get_greatest_upper_bound(TensorType((*kind.__args__[:-1], module_instance.out_features)), n.type)


# ---- the checker ------------------------------------------------------------------------------------------------------------


class GraphTypeChecker:
    """Finds the type of every node of a GraphModule from those of its placeholders.

    Args:
        env: values that rules may look up by name.
        traced: the module. Annotations such as `x: TensorType((2, Dyn))` are the types of placeholders.

    >>> def f(x: torch.fx.tensor_type.TensorType((2, 3)), y: torch.fx.tensor_type.TensorType((3,))):
    ...     return x + y
    >>> traced = torch.fx.symbolic_trace(f)
    >>> torch.fx.experimental.graph_gradual_typechecker.GraphTypeChecker({}, traced).type_check()
    True
    >>> list(traced.graph.nodes)[2].type
    TensorType[(2, 3)]
    """

    def __init__(self, env, traced):
        self.env, self.traced = env, traced

    def type_check(self):
        """Put the types on the nodes; returns True. Errors: TypeError for shapes that do not fit, RuntimeError for what has no rule."""
        for node in self.traced.graph.nodes:
            self.type_check_node(node)
        return True

    def type_check_node(self, n):
        """Find the type of one node, and return it."""
        n.type = Dyn if n.type is None else n.type
        match n.op:
            case "get_attr":
                value = torch.fx._paths.found_at(self.traced, n.target, None)
                n.type = TensorType(tuple(value.shape)) if isinstance(value, torch.Tensor) else n.type
            case "call_module":
                module = self.traced.get_submodule(n.target)
                n.type = self._rule(n, type(module))(n, module)
            case "call_function" | "call_method":
                rule = self._rule(n, n.target)
                n.type = rule(n, self.traced) if n.target is getattr else rule(n)
            case "output":
                n.type = torch.fx.map_arg(n.args[0], lambda used: used.type)
        return n.type

    def _rule(self, n, target):
        rule = _INFERENCE_RULES.get(target)
        if rule is None:
            raise RuntimeError(f"No inference rule registered for {target} of node {n}; register_inference_rule adds one")
        return rule
