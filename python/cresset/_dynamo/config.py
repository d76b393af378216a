"""Settings of the capture of frames.

>>> torch._dynamo.config.recompile_limit
8
>>> with torch._dynamo.config.patch(recompile_limit=2):
...     torch._dynamo.config.recompile_limit
2
"""

import sys as _sys

from ._settings import seal as _seal

#: How often one place of a function is compiled; beyond, it runs as it is.
recompile_limit = 8
accumulated_recompile_limit = 256
fail_on_recompile_limit_hit = False
#: Compiling a place of a function again is an error, RecompileError.
error_on_recompile = False
#: Sizes and numbers that change from call to call become symbols at the second compilation.
assume_static_by_default = True
automatic_dynamic_shapes = True
#: item() and operators whose shapes depend on data become part of the graph, with symbols.
capture_dynamic_output_shape_ops = False
capture_scalar_outputs = False
#: A failing capture or backend is a fall back to eager mode, and no error.
suppress_errors = False
#: Functions run as they are.
disable = False
#: A graph break is an error.
error_on_graph_break = False
verbose = False

# Known by name; they ask for what holds here anyway, or for PyTorch's own machinery.
allow_unspec_int_on_nn_module = False
compiled_autograd = False
force_parameter_static_shapes = True
force_nn_module_property_static_shapes = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
optimize_ddp = True
specialize_int = specialize_float = False
skip_nnmodule_hook_guards = True
allow_rnn = False
reorderable_logging_functions = set()

_seal(_sys.modules[__name__], cache_size_limit="recompile_limit", accumulated_cache_size_limit="accumulated_recompile_limit")
