"""Attributes of layers as nodes of a graph, for backends that take weights as arguments."""

from cresset import nn

from .._compatibility import compatibility
from ..graph_module import GraphModule
from ..node import _public

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]


@compatibility(is_backward_compatible=False)
def default_matching(name, target_version):
    """The name of an attribute: itself.

    >>> torch.fx.passes.param_fetch.default_matching("weight", 1)
    'weight'
    """
    return name


_NORM = ["weight", "bias", "running_mean", "running_var", "eps"]
# class: (version of its state, names of what a backend needs)
module_fetch_book = {
    nn.Linear: (1, ["weight", "bias"], default_matching),
    nn.Conv2d: (1, ["weight", "bias", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"], default_matching),
    nn.BatchNorm1d: (2, _NORM, default_matching),
    nn.BatchNorm2d: (2, _NORM, default_matching),
    nn.BatchNorm3d: (2, _NORM, default_matching),
    nn.ReLU: (1, ["inplace"], default_matching),
    nn.MaxPool2d: (1, ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"], default_matching),
    nn.AvgPool2d: (1, ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"], default_matching),
    nn.AdaptiveAvgPool2d: (1, ["output_size"], default_matching),
}


@compatibility(is_backward_compatible=False)
def extract_attrs_for_lowering(mod):
    """The attributes of a layer that a backend needs, with its class under "name".

    Errors: RuntimeError for a layer that is not known, or whose state is of a newer version.

    >>> torch.fx.passes.param_fetch.extract_attrs_for_lowering(nn.ReLU())["inplace"]
    False
    """
    kind = type(mod)
    if kind not in module_fetch_book:
        raise RuntimeError(f"extract_attrs_for_lowering: expected one of {', '.join(k.__name__ for k in module_fetch_book)}, got {kind.__name__}")
    version, names, matching = module_fetch_book[kind]
    if version < mod._version:
        raise RuntimeError(f"Fetcher version {version} try to fetch {kind} version {mod._version}, please upgrade the module_fetch_book")
    return {"name": f"{_public(kind.__module__)}.{kind.__name__}", **{name: getattr(mod, matching(name, mod._version)) for name in names}}


@compatibility(is_backward_compatible=False)
def lift_lowering_attrs_to_nodes(fx_module):
    """Put the attributes of `extract_attrs_for_lowering` on the nodes that call layers, as `attrs_for_lowering`.

    >>> traced = torch.fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    >>> torch.fx.passes.param_fetch.lift_lowering_attrs_to_nodes(traced)
    >>> list(traced.graph.nodes)[1].attrs_for_lowering["inplace"]
    False
    """
    modules = dict(fx_module.named_modules())
    for node in fx_module.graph.nodes:
        if node.op != "call_module":
            continue
        if isinstance(modules[node.target], GraphModule):
            lift_lowering_attrs_to_nodes(modules[node.target])
        else:
            node.attrs_for_lowering = extract_attrs_for_lowering(modules[node.target])
