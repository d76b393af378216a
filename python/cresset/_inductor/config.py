"""Settings of a code generator: programs set them, and without one they mean nothing."""

import types as _types

aggressive_fusion = False
conv_1x1_as_mm = False
coordinate_descent_check_all_directions = coordinate_descent_tuning = False
epilogue_fusion = True
force_fuse_int_mm_with_mul = False
freezing = False
fallback_by_default = False
fx_graph_cache = True
fx_graph_remote_cache = None
max_autotune = max_autotune_gemm = max_autotune_pointwise = False
max_autotune_gemm_search_space = "DEFAULT"
use_mixed_mm = False
cpp = _types.SimpleNamespace(threads=-1, simdlen=None)
triton = _types.SimpleNamespace(cudagraphs=False, cudagraph_trees=True, unique_kernel_names=True)
