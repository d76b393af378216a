"""Programs as graphs: traced from Python, read, changed, and made into Python code again.

>>> class Net(nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.linear = nn.Linear(2, 2)
...     def forward(self, x):
...         return torch.relu(self.linear(x)).sum(dim=-1)
>>> traced = torch.fx.symbolic_trace(Net())
>>> print(traced.graph)
graph():
    %x : [num_users=1] = placeholder[target=x]
    %linear : [num_users=1] = call_module[target=linear](args = (%x,), kwargs = {})
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%linear,), kwargs = {})
    %sum_1 : [num_users=1] = call_method[target=sum](args = (%relu,), kwargs = {dim: -1})
    return sum_1
"""

from . import (  # noqa: F401
    _compatibility,
    _pytree,
    _symbolic_trace,
    config,
    graph,
    graph_module,
    immutable_collections,
    interpreter,
    node,
    proxy,
    traceback,
)
from ._symbolic_trace import PH, PHBase, PHWithMeta, ProxyableClassMeta, Tracer, symbolic_trace, wrap  # noqa: F401
from .graph import CodeGen, Graph  # noqa: F401
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy

_SUBMODULES = ("passes", "experimental", "operator_schemas", "subgraph_rewriter", "tensor_type", "annotate", "_utils", "_lazy_graph_module")
__all__ = [
    "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer", "has_side_effect", "map_arg", "replace_pattern", "symbolic_trace",
    "wrap",
]  # fmt: skip
