"""Metal Performance Shaders, the accelerator of Apple's machines. None is built in, which `is_available` tells.

>>> torch.mps.is_available()
False
"""

from ._core.devices import namespace as _namespace

globals().update(_namespace(
    "MPS", __name__,
    answers="is_available device_count empty_cache manual_seed seed",
    refusals="compile_shader current_allocated_memory driver_allocated_memory get_rng_state load_metallib "
            "recommended_max_memory set_per_process_memory_fraction set_rng_state synchronize",
    classes="Event",
))  # fmt: skip
