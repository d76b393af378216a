"""Stand-in for a compiler until there is one."""

import functools
import warnings

_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_BACKENDS = ("inductor", "aot_eager", "aot_eager_decomp_partition", "aot_ts", "cudagraphs", "onnxrt", "openxla", "tensorrt", "tvm")
_told = False


def _check(mode, options, backend):
    if mode is not None and options is not None:
        raise RuntimeError(f"torch.compile: mode and options exclude each other, got mode={mode!r} and options={options!r}")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"torch.compile: expected a mode of {', '.join(_MODES)}, got {mode!r}")
    if callable(backend):
        raise NotImplementedError(f"torch.compile: a backend of one's own is given graphs, which Cresset does not make yet, got {backend!r}")
    if backend not in ("eager", *_BACKENDS):
        raise RuntimeError(f"torch.compile: expected a backend of eager, {', '.join(_BACKENDS)}, got {backend!r}")


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False, name=None, recompile_limit=None,
            isolate_recompiles=None, shapes_spec=None):  # fmt: skip
    """A function or module that computes what the given one does: it itself. There is no compiler in this build, which a warning tells once,
    unless ``backend="eager"`` or ``disable=True`` asks for none. Without `model` it returns a decorator.

    Errors: RuntimeError for another mode or backend, and for `mode` and `options` together; NotImplementedError for a backend that is a function.

    >>> doubled = torch.compile(lambda x: 2 * x, backend="eager")
    >>> doubled(torch.ones(1))
    tensor([2.])
    """
    global _told
    if model is not None and not callable(model):
        raise AssertionError(f"torch.compile: expected a function or module, got {type(model).__name__}")
    backend = "inductor" if backend is None else backend
    if not disable:
        _check(mode, options, backend)
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable)
    if not disable and backend != "eager" and not _told:
        _told = True
        warnings.warn("torch.compile: this build of Cresset has no compiler; functions and modules run as they are", stacklevel=2)
    return model
