"""Which nodes a backend can run: the question that splitters and partitioners ask."""

import abc


from .._compatibility import compatibility
from ..node import Node
from .tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OperatorSupportBase", "OperatorSupport", "create_op_support", "chain", "OpSupports", "any_chain"]


@compatibility(is_backward_compatible=False)
class OperatorSupportBase(abc.ABC):
    """Says of a node whether it is supported: `is_node_supported(submodules, node)`.

    >>> support = torch.fx.passes.operator_support.create_op_support(lambda submodules, node: True)
    >>> isinstance(support, torch.fx.passes.operator_support.OperatorSupportBase)
    True
    """

    @abc.abstractmethod
    def is_node_supported(self, submodules, node):
        """Whether the node is supported; `submodules` are the module's by their paths."""
        raise NotImplementedError


def _get_arg_dtype(arg):
    """The dtype of a node's value, or its type where that is no tensor."""
    noted = arg.meta
    return getattr(noted.get("tensor_meta"), "dtype", noted.get("type"))


@compatibility(is_backward_compatible=False)
class OperatorSupport(OperatorSupportBase):
    """Support by a table of targets.

    Args:
        support_dict: {target as text: None, or (dtypes of each positional argument, {name: dtypes})}; needs the `tensor_meta` that ShapeProp notes.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x))
    >>> support = torch.fx.passes.operator_support.OperatorSupport({"torch.relu": None})
    >>> support.is_node_supported({}, list(traced.graph.nodes)[1])
    True
    """

    def __init__(self, support_dict=None):
        self._wanted = dict(support_dict or {})

    def is_node_supported(self, submodules, node):
        """Whether the table has the node's target, with the dtypes of its arguments."""
        called = get_node_target(submodules, node) if node.op in CALLABLE_NODE_OPS else None
        if called not in self._wanted:
            return called is None
        by_place, by_name = self._wanted[called] or ((), {})
        pairs = [*zip(node.args, by_place), *((node.kwargs.get(name), dtypes) for name, dtypes in by_name.items())]
        return all(_get_arg_dtype(given) in dtypes for given, dtypes in pairs if isinstance(given, Node))


class FunctionalOperatorSupport(OperatorSupportBase):
    """Support by a function."""

    def __init__(self, is_node_supported):
        self._is_node_supported = is_node_supported

    def is_node_supported(self, submodules, node):
        """The function's answer."""
        return self._is_node_supported(submodules, node)


@compatibility(is_backward_compatible=False)
def create_op_support(is_node_supported):
    """Support by a function of (submodules, node).

    >>> support = torch.fx.passes.operator_support.create_op_support(lambda submodules, node: node.op == "call_function")
    >>> support.is_node_supported({}, torch.fx.Graph().placeholder("x"))
    False
    """
    return FunctionalOperatorSupport(is_node_supported)


@compatibility(is_backward_compatible=False)
def chain(*op_support):
    """Support of what all of several support.

    >>> support = torch.fx.passes.operator_support
    >>> yes, no = (support.create_op_support(lambda submodules, node, answer=answer: answer) for answer in (True, False))
    >>> support.chain(yes, no).is_node_supported({}, None)
    False
    """
    return create_op_support(lambda submodules, node: all(s.is_node_supported(submodules, node) for s in op_support))


@compatibility(is_backward_compatible=False)
def any_chain(*op_support):
    """Support of what one of several supports.

    >>> support = torch.fx.passes.operator_support
    >>> yes, no = (support.create_op_support(lambda submodules, node, answer=answer: answer) for answer in (True, False))
    >>> support.any_chain(yes, no).is_node_supported({}, None)
    True
    """
    return create_op_support(lambda submodules, node: any(s.is_node_supported(submodules, node) for s in op_support))


@compatibility(is_backward_compatible=False)
class OpSupports:
    """Kinds of support that are often needed.

    >>> support = torch.fx.passes.operator_support.OpSupports.decline_if_node_in_names({"x"})
    >>> support.is_node_supported({}, torch.fx.Graph().placeholder("x"))
    False
    """

    @classmethod
    def decline_if_input_dtype(cls, dtype):
        """Support of nodes none of whose inputs has a dtype."""
        return create_op_support(lambda submodules, node: all(_get_arg_dtype(arg) != dtype for arg in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set):
        """Support of nodes with other names."""
        return create_op_support(lambda submodules, node: node.name not in disallow_set)
