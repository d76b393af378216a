"""CSEPass, which computes once where a graph computes the same several times."""

from ...._compatibility import compatibility
from ....graph import Graph
from ....graph_module import GraphModule
from ....node import Node, _changes_arguments, _draws, map_arg
from ...infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass"]


def get_CSE_banned_ops():  # noqa: N802  PyTorch's name
    """Operators besides those that draw numbers or change arguments whose calls are kept apart: none."""
    return set()


def _key(value):
    """A value that is equal for equal arguments, of nodes and plain values. Errors: TypeError for values without a hash."""
    if isinstance(value, Node):
        return ("node", id(value))
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, *[_key(v) for v in value])
    if isinstance(value, dict):
        return ("dict", *[(k, _key(v)) for k, v in sorted(value.items())])
    if isinstance(value, slice):
        return ("slice", _key(value.start), _key(value.stop), _key(value.step))
    hash(value)
    return (type(value).__name__, value)


@compatibility(is_backward_compatible=False)
class CSEPass(PassBase):
    """Keeps one of all calls of a function with equal arguments, but for functions that draw random numbers or change their arguments.

    Args:
        banned_ops: further functions whose calls are to be kept apart.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.sin(x) + torch.sin(x))
    >>> result = torch.fx.passes.dialect.common.cse_pass.CSEPass()(traced)
    >>> result.modified, [node.name for node in result.graph_module.graph.nodes]
    (True, ['x', 'sin', 'add', 'output'])
    """

    def __init__(self, banned_ops=None):
        self.banned_ops = () if banned_ops is None else banned_ops
        super().__init__()

    def _is_kept_apart(self, node):
        target = node.target
        packet = getattr(target, "overloadpacket", target)
        banned = any(op in self.banned_ops for op in (target, packet))
        return node.op != "call_function" or banned or _changes_arguments(target) or _draws(target) or node.is_impure()

    def call(self, graph_module):
        """The module with fewer calls, and whether there are fewer."""
        graph, env, known, modified = Graph(), {}, {}, False
        for node in graph_module.graph.nodes:
            if node.op == "output":
                graph.output(map_arg(node.args[0], env.__getitem__)).meta.update(node.meta)
                break
            key = None
            if not self._is_kept_apart(node):
                try:
                    key = (node.target, _key(map_arg(node.args, env.__getitem__)), _key(map_arg(node.kwargs, env.__getitem__)))
                except TypeError:
                    key = None
            if key is not None and key in known:
                env[node], modified = known[key], True
                continue
            env[node] = graph.node_copy(node, env.__getitem__)
            if key is not None:
                known[key] = env[node]
        graph._codegen = graph_module.graph._codegen
        return PassResult(GraphModule(graph_module, graph), modified)
