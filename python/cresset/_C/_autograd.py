"""Names of PyTorch's private module of the engine that programs ask for."""


def __getattr__(name):
    if name == "DeviceType":
        from ..autograd.profiler_util import DeviceType

        return DeviceType
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _profiler_enabled():
    """Whether a profile is being recorded."""
    from ..autograd._recording import is_recording

    return is_recording()


def _disable_profiler():
    """Ends a profile that is being recorded, and drops it."""
    if _profiler_enabled():
        from ..autograd._recording import native

        native().stop()


def _supported_activities():
    """The kinds of events that can be recorded."""
    from ..profiler import supported_activities

    return supported_activities()
