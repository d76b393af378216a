"""Passes over graphs, and settings of executors, which libraries ask of PyTorch's compiler by private names.

There is one way to run programs here, so the settings are kept for those who ask and change no result; that of the optimisation is obeyed.
"""

import _cresset_graph as _graph

_settings = {
    "profiling_executor": True, "profiling_mode": True, "texpr_fuser_enabled": True, "nvfuser_enabled": False, "bailout_depth": 1, "num_profiled_runs": 1,
    "can_fuse_on_cpu": False, "can_fuse_on_gpu": False, "inline_everything_mode": False, "autocast_mode": True,
}  # fmt: skip
_PASSES = {
    "dce": ("dead",), "cse": ("common",), "constant_propagation": ("fold_builtins", "constants", "dead"), "peephole": ("peephole", "dead"), "lint": ("verify",),
}  # fmt: skip


def _setter(key):
    def exchange(value):
        former, _settings[key] = _settings[key], type(_settings[key])(value)
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


def _jit_pass_inline(graph):
    """Puts what the functions that a graph calls do in place of the calls."""
    graph._inline()


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
        return lambda graph, *options: graph._pass(*passes)
    return None
