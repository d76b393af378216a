"""torch._inductor: the default backend's settings and modes.

>>> sorted(torch._inductor.list_mode_options())
['default', 'lite', 'max-autotune', 'max-autotune-no-cudagraphs', 'reduce-overhead']
"""

from ..compiler import cudagraph_mark_step_begin
from . import config

_MODES = {
    "default": {},
    "lite": {"fallback_by_default": True},
    "reduce-overhead": {"triton.cudagraphs": True},
    "max-autotune-no-cudagraphs": {"max_autotune": True, "coordinate_descent_tuning": True},
    "max-autotune": {"max_autotune": True, "triton.cudagraphs": True, "coordinate_descent_tuning": True},
}


def list_mode_options(mode=None, dynamic=None):
    """The options that each mode stands for, or those of one. On the CPU all modes compile alike.

    >>> torch._inductor.list_mode_options("default")
    {}
    """
    return _MODES[mode] if mode else dict(_MODES)


def list_options():
    """Names of the options that `torch.compile(options=...)` takes.

    >>> "max_autotune" in torch._inductor.list_options()
    True
    """
    return [name for name, value in vars(config).items() if not name.startswith("_") and type(value).__name__ not in ("module", "SimpleNamespace")]


def __getattr__(name):
    from .._core import missing

    return missing.found(__name__, name)
