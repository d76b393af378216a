"""Models made faster for inference: normalisation folded into the layer before it, dropout left out."""

import copy

import cresset as torch
from cresset import nn
from cresset.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

from ..graph_module import GraphModule
from .._symbolic_trace import Tracer, symbolic_trace
from ..node import Node

__all__ = ["matches_module_pattern", "replace_node_module", "fuse", "remove_dropout", "extract_subgraph", "optimize_for_inference"]


def _parent_name(target):
    """A path's parent and its last part.

    >>> torch.fx.experimental.optimization._parent_name("a.b.c")
    ('a.b', 'c')
    """
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern, node, modules):
    """Whether a node calls a module of one class on the result of a module of another.

    Args:
        pattern: the classes, the one that is called first before the other.
        node: the node.
        modules: {path: module}.

    >>> traced = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    >>> matches = torch.fx.experimental.optimization.matches_module_pattern
    >>> matches((nn.Linear, nn.ReLU), list(traced.graph.nodes)[2], dict(traced.named_modules()))
    True
    """
    if len(node.args) == 0:
        return False
    for expected, current in zip(pattern, (node.args[0], node)):
        if not isinstance(current, Node) or current.op != "call_module" or not isinstance(current.target, str):
            return False
        if current.target not in modules or type(modules[current.target]) is not expected:
            return False
    return True


def replace_node_module(node, modules, new_module):
    """Put another module in the place of the one that a node calls.

    >>> traced = torch.fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    >>> torch.fx.experimental.optimization.replace_node_module(list(traced.graph.nodes)[1], dict(traced.named_modules()), nn.Tanh())
    >>> traced.get_submodule("0")
    Tanh()
    """
    path = node.target
    parent, name = _parent_name(path)
    setattr(modules[parent], name, new_module)
    modules.update({path: new_module})


_FOLDED = [(nn.Conv1d, nn.BatchNorm1d, fuse_conv_bn_eval), (nn.Conv2d, nn.BatchNorm2d, fuse_conv_bn_eval), (nn.Conv3d, nn.BatchNorm3d, fuse_conv_bn_eval),
           (nn.Linear, nn.BatchNorm1d, fuse_linear_bn_eval)]  # fmt: skip


def fuse(model, inplace=False, no_trace=False):
    """A GraphModule in which batch normalisation is part of the convolution or linear layer before it, for inference.

    Args:
        model: the module, in evaluation mode.
        inplace: change the module rather than a copy.
        no_trace: the module is a GraphModule already.

    Errors: NotImplementedError for a module that is training. Layers whose results are used elsewhere too, and normalisation without running statistics, stay.

    >>> model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)).eval()
    >>> [type(layer).__name__ for layer in torch.fx.experimental.optimization.fuse(model).children()]
    ['Conv2d']
    """
    own = model if inplace else copy.deepcopy(model)
    traced = own if no_trace and isinstance(own, GraphModule) else symbolic_trace(own)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for first, second, folded in _FOLDED:
        for node in graph.nodes:
            if not matches_module_pattern((first, second), node, modules) or len(node.args[0].users) > 1:
                continue
            layer, norm = modules[node.args[0].target], modules[node.target]
            if norm.training or layer.training:
                raise NotImplementedError("fuse: expected a module in evaluation mode, got one that is training; call eval() first")
            if not norm.track_running_stats:
                continue
            first_call = node.args[0]
            replace_node_module(first_call, modules, folded(layer, norm))
            node.replace_all_uses_with(first_call)
            graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model):
    """A GraphModule without the dropout layers of a module.

    >>> model = torch.fx.experimental.optimization.remove_dropout(nn.Sequential(nn.ReLU(), nn.Dropout()))
    >>> [type(layer).__name__ for layer in model.children()]
    ['ReLU']
    """
    traced = symbolic_trace(model)

    class Without(torch.fx.Transformer):
        def call_module(self, target, args, kwargs):
            if isinstance(self.submodules[target], (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)):
                return args[0]
            return super().call_module(target, args, kwargs)

    return Without(traced).transform()


def extract_subgraph(orig_module, nodes, inputs, outputs):
    """A GraphModule of some nodes of another.

    Args:
        orig_module: the module that holds what the nodes name.
        nodes: the nodes, in order.
        inputs, outputs: the nodes whose values it takes and gives.

    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> x, add, relu, output = traced.graph.nodes
    >>> torch.fx.experimental.optimization.extract_subgraph(traced, [relu], [add], [relu])(torch.tensor([-1.0]))
    (tensor([0.]),)
    """
    graph, env = torch.fx.Graph(), {}
    for node in inputs:
        env[node] = graph.placeholder(node.name)
    for node in nodes:
        env[node] = graph.node_copy(node, env.__getitem__)
    graph.output(tuple([env[node] for node in outputs]))
    graph.lint()
    return GraphModule(orig_module, graph)


def optimize_for_inference(model, pass_config=None, tracer=Tracer):
    """`fuse`, then `remove_dropout`.

    Args:
        model: the module, in evaluation mode.
        pass_config: {"conv_bn_fuse": bool, "remove_dropout": bool}, both True by default. Blocked layouts are chosen by operators themselves.
        tracer: the class of the tracer.

    Errors: RuntimeError for other passes.

    >>> model = nn.Sequential(nn.Linear(2, 2), nn.Dropout()).eval()
    >>> [type(layer).__name__ for layer in torch.fx.experimental.optimization.optimize_for_inference(model).children()]
    ['Linear']
    """
    chosen = {"conv_bn_fuse": True, "remove_dropout": True, **(pass_config or {})}
    if unknown := set(chosen) - {"conv_bn_fuse", "remove_dropout"}:
        raise RuntimeError(f"optimize_for_inference: expected the passes conv_bn_fuse and remove_dropout, got {sorted(unknown)}")
    for name, change in (("conv_bn_fuse", fuse), ("remove_dropout", remove_dropout)):
        model = change(model) if chosen[name] else model
    traced = GraphModule(model, tracer().trace(model))
    traced.graph.lint()
    return traced
