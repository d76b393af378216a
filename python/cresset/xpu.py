"""Intel's accelerators. None is built in, which `is_available` tells.

>>> torch.xpu.is_available()
False
"""

from ._core.devices import namespace as _namespace

globals().update(_namespace(
    "XPU", __name__,
    answers="is_available device_count empty_cache manual_seed seed is_initialized is_bf16_supported manual_seed_all seed_all "
            "memory_allocated max_memory_allocated memory_reserved max_memory_reserved get_rng_state_all",
    refusals="current_device current_stream get_device_capability get_device_name get_device_properties get_rng_state init "
            "initial_seed mem_get_info memory_stats reset_peak_memory_stats set_device set_rng_state set_stream stream "
            "synchronize",
    classes="Event Stream StreamContext device device_of",
))  # fmt: skip
