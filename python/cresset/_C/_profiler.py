"""Names of PyTorch's private module of the profiler that programs ask for."""


def __getattr__(name):
    if name == "ProfilerActivity":
        from ..profiler import ProfilerActivity

        return ProfilerActivity
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _ExperimentalConfig:
    """Options of `torch.profiler.profile(experimental_config=...)`. `verbose`: stacks name files and lines, which is always so here. RuntimeError for
    metrics of hardware, which are not read."""

    def __init__(self, profiler_metrics=(), profiler_measure_per_kernel=False, verbose=False, performance_events=(), **options):
        if profiler_metrics or performance_events or profiler_measure_per_kernel:
            raise RuntimeError("_ExperimentalConfig: counters of the hardware are not read; leave profiler_metrics and performance_events empty")
        self.verbose, self.options = verbose, options
