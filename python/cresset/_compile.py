"""`torch.compile`."""

import functools
import os

_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "lite")


def _check(mode, options, backend):
    if mode is not None and options is not None:
        raise RuntimeError(f"torch.compile: mode and options exclude each other, got mode={mode!r} and options={options!r}")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"torch.compile: expected a mode of {', '.join(_MODES)}, got {mode!r}")
    if not isinstance(backend, str) and not callable(backend):
        raise RuntimeError(f"torch.compile: expected the name of a backend or a function, got {backend!r}")


default_backend = "inductor"  # as torch.compiler.set_default_backend leaves it


def is_turned_off():
    """Whether TORCHDYNAMO_DISABLE=1 in the environment makes `torch.compile` give back its argument."""
    return os.environ.get("TORCHDYNAMO_DISABLE") == "1"


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, disable=False, name=None, recompile_limit=None,
            isolate_recompiles=None, shapes_spec=None):  # fmt: skip
    """A function or module that computes what the given one does, by compiled graphs. Without `model` it returns a decorator.

    At the first call with arguments of a kind the function's bytecode is executed symbolically: operators become a graph, which the backend compiles;
    Python itself is evaluated once, under guards. Where Python cannot be captured the graph breaks, and goes on after it.

    Args:
        model: a function, method, module or callable object.
        fullgraph: a graph break is an error, `torch._dynamo.exc.Unsupported`.
        dynamic: sizes are symbols from the start (True), or never (False); by default those that have changed.
        backend: by default that of `torch.compiler.set_default_backend`; "inductor", "eager", "aot_eager", another name of `torch._dynamo.list_backends`, or a function of a `GraphModule` and example inputs.
        mode: one of "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs". On the CPU all are the same.
        options: a dict, which a backend that is a function gets as `options`. Its "guard_filter_fn" is a function of a list of guards (name, value, guard_type, is_global),
            which returns a flag for each: those with False are not checked at later calls, as `torch.compiler.skip_guard_on_globals_unsafe` and its like choose.
        disable: return `model` itself.

    Errors: RuntimeError for another mode, and for `mode` and `options` together; `torch._dynamo.exc.InvalidBackend`, a RuntimeError, for an unknown name.

    >>> doubled = torch.compile(lambda x: 2 * x)
    >>> doubled(torch.ones(1))
    tensor([2.])
    """
    if model is not None and not callable(model):
        raise AssertionError(f"torch.compile: expected a function or module, got {type(model).__name__}")
    backend = default_backend if backend is None else backend
    if not disable:
        _check(mode, options, backend)
        if not callable((options or {}).get("guard_filter_fn", len)):
            raise RuntimeError(f"torch.compile: guard_filter_fn is a function, got {type(options['guard_filter_fn']).__name__}")
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable, recompile_limit=recompile_limit
        )
    if disable or is_turned_off():
        return model
    from ._dynamo import eval_frame
    from ._dynamo.backends.registry import lookup_backend

    lookup_backend(backend)
    if options:
        _check_options(options, backend)
    compiler = eval_frame.Compiler(backend, fullgraph=fullgraph, dynamic=dynamic, options=options, recompile_limit=recompile_limit)
    return eval_frame.compiled(model, compiler)


def _check_options(options, backend):
    if backend != "inductor":
        return
    from ._inductor import config

    for key in options:
        if key == "guard_filter_fn":
            continue
        owner = config
        for part in key.replace("-", "_").split("."):
            if not hasattr(owner, part):
                raise RuntimeError(f"torch.compile: {key!r} is no option; torch._inductor.list_options() has them all")
            owner = getattr(owner, part)
