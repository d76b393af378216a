"""Types of values, noted on the nodes of a graph from what functions and modules say they return."""

import inspect
import types

import cresset as torch
from cresset import nn

from .._paths import found_at
from ..interpreter import Transformer

__all__ = ["AnnotateTypesWithSchema"]

_OF_SEVERAL = (nn.RNNBase, nn.LSTMCell, nn.MultiheadAttention, nn.AdaptiveLogSoftmaxWithLoss, nn.ModuleList, nn.ModuleDict, nn.Sequential)


class AnnotateTypesWithSchema(Transformer):
    """Gives nodes the type of their value where the function or module that they call says it, or the attribute that they get has one.

    Args:
        module: the GraphModule.
        annotate_functionals, annotate_modules, annotate_get_attrs: of which kinds of nodes.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.nn.functional.relu(x))
    >>> annotated = torch.fx.experimental.schema_type_annotation.AnnotateTypesWithSchema(traced).transform()
    >>> [node.type for node in annotated.graph.nodes if node.op == "call_function"] == [torch.Tensor]
    True
    """

    def __init__(self, module, annotate_functionals=True, annotate_modules=True, annotate_get_attrs=True):
        super().__init__(module)
        self.annotate_functionals, self.annotate_modules, self.annotate_get_attrs = annotate_functionals, annotate_modules, annotate_get_attrs

    def call_function(self, target, args, kwargs):
        """The proxy of a function's result."""
        return _typed(super().call_function(target, args, kwargs), _result_of_function(target) if self.annotate_functionals else None)

    def call_module(self, target, args, kwargs):
        """The proxy of a submodule's result."""
        kind = _result_of_module(self.fetch_attr(target)) if self.annotate_modules else None
        return _typed(super().call_module(target, args, kwargs), kind)

    def get_attr(self, target, args, kwargs):
        """The proxy of an attribute."""
        value = found_at(self.module, target, None)
        kind = None if value is None or not self.annotate_get_attrs else torch.Tensor if isinstance(value, torch.Tensor) else type(value)
        return _typed(super().get_attr(target, args, kwargs), kind)


def _typed(proxy, kind):
    if proxy.node.type is None and kind is not None:
        proxy.node.type = kind
    return proxy


def _result_of_function(target):
    """The type that a function of Python declares; operators are functions of C, which say nothing."""
    if not isinstance(target, types.FunctionType):
        return None
    if target.__module__ != "cresset.nn.functional":
        return _declared(target)
    name = target.__name__
    if name.endswith("_with_indices"):
        return tuple[torch.Tensor, torch.Tensor]
    # No type where a flag decides: the indices of a maximum, the weights of an attention.
    return None if "max_pool" in name or name == "multi_head_attention_forward" else torch.Tensor


def _result_of_module(module):
    """The type that the class declares; a layer of torch.nn gives a tensor, but for those whose results are several."""
    if not type(module).__module__.startswith("cresset.nn."):
        return _declared(type(module).forward)
    return None if isinstance(module, _OF_SEVERAL) or getattr(module, "return_indices", False) else torch.Tensor


def _declared(function):
    kind = inspect.signature(function).return_annotation
    return None if kind is inspect.Signature.empty else kind
