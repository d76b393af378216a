"""Programs of forward and backward as graphs: what `functorch.compile` gives names to."""

_SUBMODULES = ("_aot_autograd", "config")
