"""Settings of the capture of frames.

>>> torch._dynamo.config.recompile_limit
8
>>> with torch._dynamo.config.patch(recompile_limit=2):
...     torch._dynamo.config.recompile_limit
2
"""

import os as _os
import sys as _sys

from ._settings import seal as _seal


def _asked(name):
    return _os.environ.get(name) == "1"


#: How often one place of a function is compiled; beyond, it runs as it is.
recompile_limit = 8
accumulated_recompile_limit = 256
fail_on_recompile_limit_hit = False
#: Compiling a place of a function again is an error, RecompileError.
error_on_recompile = False
#: Sizes and numbers that change from call to call become symbols at the second compilation.
assume_static_by_default = True
automatic_dynamic_shapes = True
#: Sizes of parameters are constants of graphs, whatever sizes are open.
force_parameter_static_shapes = True
#: A dimension that is marked dynamic may turn out to be one size; otherwise that is an error.
allow_ignore_mark_dynamic = False
#: item() and operators whose shapes depend on data become part of the graph, with symbols. TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1 and
#: TORCHDYNAMO_CAPTURE_DYNAMIC_OUTPUT_SHAPE_OPS=1 in the environment set them.
capture_dynamic_output_shape_ops = _asked("TORCHDYNAMO_CAPTURE_DYNAMIC_OUTPUT_SHAPE_OPS")
capture_scalar_outputs = _asked("TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS")
#: A failing capture or backend is a fall back to eager mode, and no error; as TORCHDYNAMO_SUPPRESS_ERRORS in the environment says.
suppress_errors = bool(_os.environ.get("TORCHDYNAMO_SUPPRESS_ERRORS"))
#: Functions run as they are; as TORCH_COMPILE_DISABLE=1 in the environment says. With TORCHDYNAMO_DISABLE=1 `torch.compile` gives back what it gets.
disable = _asked("TORCH_COMPILE_DISABLE")
#: A graph break is an error.
error_on_graph_break = False
#: A frame without operators goes to the backend, too.
allow_empty_graphs = False
#: Classes of tensors, with operators of their own, that graphs hold without `fullgraph=True`, too; and those whose frames always run as they are.
traceable_tensor_subclasses = set()
nontraceable_tensor_subclasses = set()
#: Arrays of NumPy's are tensors of graphs, and its functions on them operators.
trace_numpy = True
#: Functions, `print` or `warnings.warn` say, that break no graph: they are called with the same values once the graph has run.
reorderable_logging_functions = set()
#: Functions, and methods of loggers (`logging.Logger.warning`, or one logger's), whose calls captured functions leave out.
ignore_logging_functions = set()
ignore_logger_methods = set()

# Known by name; these values are what holds here.
allow_rnn = False
allow_unspec_int_on_nn_module = False
specialize_int = specialize_float = False

# Known by name, and without effect: a change warns.
_GUARDS, _MACHINERY = "modules are guarded by what the program has read of them", "it is about the parts of another compiler"
_without_effect = {
    "compiled_autograd": "the backward pass of a graph is compiled with it, and the engine around it runs as it is",
    "optimize_ddp": "graphs are not cut where gradients are gathered",
    "verbose": "messages are always whole",
    "dynamic_shapes": "`dynamic=False` of torch.compile is the choice",
    "minimum_call_count": "the first call is captured",
    "rewrite_assert_with_torch_assert": "an assertion on a tensor is a branch on its value",
    **dict.fromkeys(("force_nn_module_property_static_shapes", "guard_nn_modules", "inline_inbuilt_nn_modules", "skip_nnmodule_hook_guards",
                     "guard_nn_modules_using_dict_tags", "skip_tensor_guards_with_matching_dict_tags"), _GUARDS),
    **dict.fromkeys(("enable_cpp_guard_manager", "enable_cpp_symbolic_shape_guards", "fake_tensor_cache_enabled", "use_lazy_graph_module", "log_compilation_metrics",
                     "report_guard_failures", "run_gc_after_compile", "prepare_freezing", "enable_compiler_collectives", "caching_precompile", "cprofile"), _MACHINERY),
}  # fmt: skip
compiled_autograd = verbose = prepare_freezing = enable_compiler_collectives = caching_precompile = cprofile = enable_cpp_symbolic_shape_guards = False
optimize_ddp = dynamic_shapes = rewrite_assert_with_torch_assert = use_lazy_graph_module = log_compilation_metrics = report_guard_failures = True
force_nn_module_property_static_shapes = guard_nn_modules = inline_inbuilt_nn_modules = skip_nnmodule_hook_guards = True
guard_nn_modules_using_dict_tags = skip_tensor_guards_with_matching_dict_tags = enable_cpp_guard_manager = True
fake_tensor_cache_enabled = run_gc_after_compile = True
minimum_call_count = 1


def _set_disable(_):
    from .eval_frame import settle

    settle()


_seal(
    _sys.modules[__name__],
    _without_effect,
    {"disable": _set_disable},
    cache_size_limit="recompile_limit",
    accumulated_cache_size_limit="accumulated_recompile_limit",
)
