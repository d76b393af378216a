"""Graphs in which all calls have one form."""

import operator

import cresset as torch

from ..interpreter import Transformer
from ..node import map_aggregate
from ..operator_schemas import create_type_hint, normalize_function, normalize_module
from .schema_type_annotation import AnnotateTypesWithSchema

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Gives functions and modules all their arguments by name, with their defaults, where a single signature fits.

    Args:
        module: the GraphModule. ShapeProp has noted the types of values where overloads are to be told apart.
        normalize_to_only_use_kwargs: name all arguments.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.nn.functional.max_pool2d(x, 2))
    >>> NormalizeArgs = torch.fx.experimental.normalize.NormalizeArgs
    >>> sorted(list(NormalizeArgs(traced).transform().graph.nodes)[1].kwargs)
    ['ceil_mode', 'dilation', 'input', 'kernel_size', 'padding', 'return_indices', 'stride']
    """

    def __init__(self, module, normalize_to_only_use_kwargs=True):
        super().__init__(module)
        self.node_map = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n):
        """The proxy of a node, with its arguments in the common form."""
        if n.op == "call_function":
            hints = tuple(map(_hint, n.args)), {name: _hint(value) for name, value in n.kwargs.items()}
            made = self.call_function(n.target, *self.fetch_args_kwargs_from_env(n), *hints)
        else:
            made = super().run_node(n)
        if n.op != "output":
            self.node_map[made] = n
            made.node.meta, made.node.type = n.meta, n.type
        return made

    def call_function(self, target, args, kwargs, arg_types=None, kwarg_types=None):
        """The proxy of a function's result."""
        try:
            found = normalize_function(target, args, kwargs, arg_types, kwarg_types, self.normalize_to_only_use_kwargs)
        except RuntimeError:
            found = None
        return super().call_function(target, *(found or (args, kwargs)))

    def call_module(self, target, args, kwargs):
        """The proxy of a module's result."""
        found = normalize_module(self.module, target, args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(found or (args, kwargs)))


def _hint(value):
    """The type of an argument, with the types that ShapeProp has noted for the nodes in it."""
    return create_type_hint(map_aggregate(value, lambda leaf: leaf.meta.get("type") if isinstance(leaf, torch.fx.Node) else type(leaf)))


class NormalizeOperators(AnnotateTypesWithSchema):
    """Calls functions of `operator` where a graph calls those of torch that do the same, with two arguments by position, and notes types.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.add(x, 1))
    >>> list(torch.fx.experimental.normalize.NormalizeOperators(traced).transform().graph.nodes)[1].target.__name__
    'add'
    """

    binary_magic_method_remap = {
        getattr(torch, name): getattr(operator, name, None) or getattr(operator, other)
        for name, other in (("add", ""), ("mul", ""), ("sub", ""), ("div", "truediv"), ("floor_divide", "floordiv"), ("remainder", "mod"),
                            ("eq", ""), ("ne", ""), ("lt", ""), ("le", ""), ("gt", ""), ("ge", ""))
    }  # fmt: skip

    def call_function(self, target, args, kwargs):
        """The proxy of a function's result."""
        plain = len(args) == 2 and not kwargs
        return super().call_function(self.binary_magic_method_remap.get(target, target) if plain else target, args, kwargs)
