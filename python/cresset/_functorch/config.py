"""Settings of programs of forward and backward, which libraries know by name. They belong to PyTorch's own machinery: a change warns that it changes nothing,
but for `donated_buffer`, whose False holds here anyway.

>>> with torch._functorch.config.patch(donated_buffer=False):
...     torch._functorch.config.donated_buffer
False
"""

import sys as _sys

from .._dynamo._settings import seal as _seal

# Memory of the backward is never given away: backward(retain_graph=True) works either way.
donated_buffer = True
# Choices between keeping values for the backward and computing them again.
activation_memory_budget = 1.0
activation_memory_budget_runtime_estimator = "flops"
activation_memory_budget_solver = "dp"
aggressive_recomputation = False
ban_recompute_long_fusible_chains = ban_recompute_materialized_backward = ban_recompute_not_in_allowlist = True
ban_recompute_reductions = ban_recompute_used_far_apart = True
cse = True
max_dist_from_bw = 1000
recompute_views = False
treat_parameters_as_free_to_save = True
visualize_memory_budget_pareto = False
memory_budget_pareto_dir = None
# Checks and texts.
check_custom_op_aliasing = True
error_on_custom_op_aliasing = False
debug_assert = debug_partitioner = False
fake_tensor_crossref = False
# How programs are captured, and kept from run to run.
autograd_cache_allow_custom_autograd_functions = False
backward_pass_autocast = "same_as_forward"
bundled_autograd_cache = False
enable_autograd_cache = True
enable_remote_autograd_cache = None
fake_tensor_allow_meta = True
fake_tensor_allow_unsafe_data_ptr_access = True
fake_tensor_propagate_real_tensors = False
functionalize_rng_ops = False
generate_fake_kernels_from_real_mismatches = False
graphsafe_rng_functionalization = True
guess_tangent_strides_as_outputs = True
static_weight_shapes = True
strict_autograd_cache = False
unlift_effect_tokens = False
view_replay_for_aliased_outputs = True

_names = [name for name in globals() if not name.startswith("_") and name != "donated_buffer"]
_seal(_sys.modules[__name__], without_effect=dict.fromkeys(_names, "it is a setting of PyTorch's own machinery"))
