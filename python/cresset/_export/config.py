"""Settings of capture, which libraries know by name. They choose between PyTorch's own tracers: a change warns that it changes nothing.

>>> torch._export.config.use_new_tracer_experimental
True
"""

import sys as _sys

from .._dynamo._settings import seal as _seal

use_new_tracer_experimental = True
use_legacy_dynamo_graph_capture = True
detect_non_strict_fake_tensor_leaks = False
error_on_lifted_constant_tensors = True
enable_auto_functionalized_v2_for_export = True

_names = [name for name in globals() if not name.startswith("_")]
_seal(_sys.modules[__name__], without_effect=dict.fromkeys(_names, "it chooses between PyTorch's own tracers"))
