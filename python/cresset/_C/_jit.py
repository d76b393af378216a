"""Passes over graphs, and settings of executors, which libraries ask of PyTorch's compiler by private names.

There is one way to run programs here, so the settings are kept for those who ask, and warn when they are changed; those of the optimisation and of inlining are
obeyed.
"""

import _cresset_graph as _graph

from .._core.modes import _warn_once

_settings = {
    "profiling_executor": True, "profiling_mode": True, "texpr_fuser_enabled": True, "nvfuser_enabled": False, "bailout_depth": 1, "num_profiled_runs": 1,
    "can_fuse_on_cpu": False, "can_fuse_on_gpu": False, "autocast_mode": True,
}  # fmt: skip
_PASSES = {
    "dce": ("dead",), "cse": ("common",), "constant_propagation": ("fold_builtins", "constants", "dead"), "peephole": ("peephole", "fold_builtins", "dead"),
    "lint": ("verify",), "constant_propagation_immutable_types": ("fold_builtins", "dead"), "constant_pooling": ("pool",), "loop_unrolling": ("unroll",),
    "unroll_cond": ("unroll",), "lower_all_tuples": ("lower_tuples", "dead"), "lower_simple_tuples": ("peephole", "dead"), "inline_fork_wait": ("inline_forks", "dead"),
    "fold_frozen_conv_bn": ("norms",), "fold_frozen_conv_add_or_sub": ("sums",), "fold_frozen_conv_mul_or_div": ("scales",),
    "optimize_frozen_graph": ("dropout", "norms", "sums", "scales", "dead"), "remove_mutation": ("own_writes",), "remove_inplace_ops": ("writes",),
    "functional_to_inplace_activation": ("activations",), "constant_loop_unrolling": ("unroll",), "peephole_list_idioms": ("peephole", "dead"),
    "remove_expands": ("expands", "dead"), "dce_graph": ("dead",), "propagate_shapes_on_graph": ("types",), "propagate_dtype": ("types",), "propagate_device": ("types",), "erase_shape_information": ("erase_types",),
}  # fmt: skip


def _setter(key):
    def exchange(value):
        former, _settings[key] = _settings[key], type(_settings[key])(value)
        if former != _settings[key]:
            _warn_once(f"torch.jit: the setting {key} has no effect: there is one way to run programs, which no profile changes")
        return former

    return exchange


def _get_graph_executor_optimize(new=None):
    """Whether programs go through the passes that make them faster; a bool sets it."""
    current = _graph.script_exchange_optimize(True if new is None else new)
    if new is None:
        _graph.script_exchange_optimize(current)
    return current


def _set_graph_executor_optimize(optimize):
    """Sets whether programs go through the passes that make them faster."""
    _graph.script_exchange_optimize(bool(optimize))


def _jit_set_inline_everything_mode(inline):
    """Sets whether functions that are compiled from now on hold what they call in place of the calls."""
    _graph.script_exchange_inlining(bool(inline))


def _jit_get_inline_everything_mode():
    """Whether functions that are compiled hold what they call in place of the calls."""
    current = _graph.script_exchange_inlining(False)
    _graph.script_exchange_inlining(current)
    return current


def _jit_pass_inline(graph):
    """Puts what the functions that a graph calls do in place of the calls."""
    graph._inline()


def _jit_pass_remove_dropout(module):
    """Takes dropout, which gives its input, out of the methods of a module that does not train."""
    for name in module._method_names():
        module._get_method(name).graph._pass("dropout", "dead")


def _jit_pass_canonicalize(graph, keep_unique_names=True):
    """A copy of a graph, whose values have new names where the old ones are not to be kept."""
    copied = graph.copy()
    if not keep_unique_names:
        for i, value in enumerate(v for n in copied.nodes() if n.kind() != "prim::Constant" for v in n.outputs()):
            value.setDebugName(f"v{i}")
    return copied


def _jit_pass_complete_shape_analysis(graph, inputs, with_grad=False):
    """Gives the inputs of a graph the types of tensors, and all other values the types that follow. Without `with_grad` no input records gradients."""
    import cresset as torch

    from ..jit._ir import apply_input_props_using_example

    if not with_grad:
        inputs = [value.detach() if isinstance(value, torch.Tensor) else value for value in inputs]
    apply_input_props_using_example(graph, inputs)
    graph._pass("types")


def _jit_erase_non_input_shape_information(graph):
    """Takes what is known of tensors out of the types of a graph but for those of its inputs."""
    types = [value.type() for value in graph.inputs()]
    graph._pass("erase_types")
    for value, type in zip(graph.inputs(), types, strict=True):
        value.setType(type)


_ONE = "%one : int = " + "prim::Constant[value=1]()\n  "
_LINEAR = (
    ("%t = aten::t(%w)\n  %y = aten::addmm(%b, %x, %t, %one, %one)", "%y = aten::linear(%x, %w, %b)", True),
    ("%t = aten::t(%w)\n  %p = aten::matmul(%x, %t)\n  %y = aten::add(%p, %b, %one)", "%y = aten::linear(%x, %w, %b)", True),
    ("%t = aten::t(%w)\n  %y = aten::matmul(%x, %t)", "%n : NoneType = prim::Constant()\n  %y = aten::linear(%x, %w, %n)", False),
)


def _jit_pass_fuse_linear(graph):
    """Products with transposed weights become linear maps, with a bias that is added as theirs."""
    for old, new, has_bias in _LINEAR:
        inputs = f"graph(%x : Tensor, %w : Tensor{', %b : Tensor' if has_bias else ''}):\n  "
        one = _ONE if has_bias else ""
        _jit_pass_custom_pattern_based_rewrite_graph(f"{inputs}{one}{old}\n  return (%y)", f"{inputs}{new}\n  return (%y)", graph)


def _jit_pass_decompose_ops(graph):
    """Products with sums become products and sums."""
    head = f"graph(%b, %x, %y):\n  {_ONE}"
    _jit_pass_custom_pattern_based_rewrite_graph(
        head + "%r = aten::addmm(%b, %x, %y, %one, %one)\n  return (%r)", head + "%p = aten::mm(%x, %y)\n  %r = aten::add(%p, %b, %one)\n  return (%r)", graph
    )


def _jit_pass_custom_pattern_based_rewrite(pattern, replacement, module):
    """The same in the graphs of all methods of a module."""
    for name in module._method_names():
        _jit_pass_custom_pattern_based_rewrite_graph(pattern, replacement, module._get_method(name).graph)


def _jit_pass_custom_pattern_based_rewrite_graph(pattern, replacement, graph, value_name_pairs=()):
    """Where the graph of a text is found, that of another stands: both are texts of graphs with the same inputs and outputs.

    Nodes are found by their names, whichever overload they are; `value_name_pairs` names values of the replacement and the values of the pattern from which they
    have their places in the source."""
    return _graph.script_graph_rewrite(graph._handle, pattern, replacement, [tuple(pair) for pair in value_name_pairs])


def _jit_interpret_graph(graph, inputs):
    """Runs a graph, without passes before."""
    former = _graph.script_exchange_optimize(False)
    try:
        return _create_function_from_graph("interpreted", graph)(*inputs)
    finally:
        _graph.script_exchange_optimize(former)


def _create_function_from_graph(qualname, graph):
    """A function that runs a copy of a graph; several results become a tuple."""
    from ..jit._function import ScriptFunction

    return ScriptFunction(_graph.script_graph_function(_graph.script_unit_new(), qualname, graph._handle))


def _freeze_module(module, preservedAttrs=(), freezeInterfaces=True, preserveParameters=False):
    """The handle of a module whose attributes are constants of its methods, but for those that are written, those that are named, and the parameters where they
    are to stay."""
    return _graph.script_freeze(module, list(preservedAttrs), False, bool(preserveParameters))


def _jit_object_is_non_holding(node):
    """Whether a constant object of a graph keeps its class alive no longer than the graph, as all do here."""
    return True


def found(name):
    """The function of a name; None where there is none."""
    if name in globals():
        return globals()[name]
    for start in ("_jit_set_", "_jit_override_"):
        if name.startswith(start) and (key := name.removeprefix(start)) in _settings:
            return _setter(key)
    for start in ("_jit_get_", "_jit_"):
        if name.startswith(start) and (key := name.removeprefix(start)) in _settings:
            return lambda: _settings[key]
    if (passes := _PASSES.get(name.removeprefix("_jit_pass_"))) is not None and name.startswith("_jit_pass_"):

        def run(graph, *options):
            graph._pass(*passes)

        return run
    return None
