"""Settings of the default backend. `freezing` keeps the weights of compiled functions without gradients packed; the others mean nothing here.

>>> with torch._inductor.config.patch(freezing=True):
...     torch._inductor.config.freezing
True
"""

import sys as _sys
import types as _types

from .._dynamo._settings import Patched as _Patched

aggressive_fusion = False
conv_1x1_as_mm = False
coordinate_descent_check_all_directions = coordinate_descent_tuning = False
#: `division_rounding` asks for quotients that are rounded as in eager mode: here they are, whatever it says.
eager_numerics = _types.SimpleNamespace(division_rounding=False)
epilogue_fusion = True
force_fuse_int_mm_with_mul = False
#: Weights are kept in the order that kernels read them in, until another tensor comes or one is written; writes through `data` are not seen.
freezing = False
fallback_by_default = False
fx_graph_cache = True
fx_graph_remote_cache = None
max_autotune = max_autotune_gemm = max_autotune_pointwise = False
max_autotune_gemm_search_space = "DEFAULT"
use_mixed_mm = False
cpp = _types.SimpleNamespace(threads=-1, simdlen=None)
triton = _types.SimpleNamespace(cudagraphs=False, cudagraph_trees=True, unique_kernel_names=True)

_sys.modules[__name__].__class__ = _Patched
