"""torch.compiler: what a program asks of the compiler or tells it.

>>> torch.compiler.is_compiling()
False
"""

from .. import _compile
from .._compile import compile
from ._cache import load_cache_artifacts, save_cache_artifacts
from ._numpy_functions import wrap_numpy

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "config", "cudagraph_mark_step_begin", "disable", "get_default_backend", "is_compiling",
           "is_dynamo_compiling", "is_exporting", "keep_portable_guards_unsafe", "keep_tensor_guards_unsafe", "list_backends", "load_cache_artifacts",
           "load_compiled_function", "nested_compile_region", "report", "reset", "save_cache_artifacts", "set_default_backend", "set_enable_guard_collectives",
           "set_stance", "skip_all_guards_unsafe", "skip_guard_on_all_nn_modules_unsafe", "skip_guard_on_globals_unsafe",
           "skip_guard_on_inbuilt_nn_modules_unsafe", "substitute_in_graph", "wrap_numpy"]  # fmt: skip


def __getattr__(name):
    if name == "config":
        import importlib

        return importlib.import_module(f"{__name__}.config")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def is_compiling():
    """Whether the frame that asks is being captured, or exported.

    >>> torch.compile(lambda: torch.compiler.is_compiling(), backend="eager")(), torch.compiler.is_compiling()
    (True, False)
    """
    return False


def is_dynamo_compiling():
    """As `is_compiling`, for frames alone.

    >>> torch.compiler.is_dynamo_compiling()
    False
    """
    return False


def is_exporting():
    """Whether the program is being exported just now.

    >>> torch.compiler.is_exporting()
    False
    """
    return False


def disable(fn=None, recursive=True, *, reason=None):
    """`fn`, which is not compiled, and with ``recursive=True`` nothing that it calls; a decorator without `fn`.

    >>> @torch.compiler.disable
    ... def plain(x):
    ...     return x + 1
    >>> plain(1)
    2
    """
    from .._dynamo import eval_frame

    return eval_frame.disable(fn, recursive, reason=reason)


def allow_in_graph(fn):
    """`fn`, or each of a list or tuple of functions, which becomes one node of graphs, without a look inside.

    >>> @torch.compiler.allow_in_graph
    ... def twice(x):
    ...     return x * 2
    >>> twice(1)
    2
    """
    from .._dynamo import decorators

    return decorators.allow_in_graph(fn)


def assume_constant_result(fn):
    """`fn`, whose result is taken for a constant when a frame is captured.

    >>> @torch.compiler.assume_constant_result
    ... def seven():
    ...     return 7
    >>> seven()
    7
    """
    from .._dynamo import decorators

    return decorators.assume_constant_result(fn)


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False):
    """A decorator: the Python function stands for `original_fn`, which is written in C, in captured frames.

    >>> import operator
    >>> @torch.compiler.substitute_in_graph(operator.length_hint, skip_signature_check=True)
    ... def length_hint(a, default=0, /):
    ...     return len(a)
    >>> length_hint([1])
    1
    """
    from .._dynamo import decorators

    return decorators.substitute_in_graph(original_fn, can_constant_fold_through=can_constant_fold_through, skip_signature_check=skip_signature_check)


def nested_compile_region(fn=None, *, options=None, max_reuse_entries=8, reuse_hash_fn=None):
    """`fn`, whose calls are one region each of the graph around them; a decorator without `fn`. Its graph is part of that graph here.

    >>> @torch.compiler.nested_compile_region
    ... def negative(x):
    ...     return -x
    >>> negative(1)
    -1
    """
    if fn is None:
        return nested_compile_region
    if not callable(fn):
        raise AssertionError(f"nested_compile_region: expected a callable, got {type(fn).__name__}")
    return fn


def cudagraph_mark_step_begin():
    """Tells that a new step begins to CUDA graphs, of which there are none.

    >>> torch.compiler.cudagraph_mark_step_begin()
    """


def report(fn):
    """A report of a compiled function as it stands: graphs and their breaks, kernels with their operators, bytes that move before and after fusion, and
    the time of each kernel, measured anew, beside the least that this machine allows. Its text is `str` of it, its drawing `svg`.

    Errors: TypeError for a function that is not compiled.

    >>> compiled = torch.compile(lambda x: (x.exp() * 2 + x).tanh())
    >>> _ = compiled(torch.ones(4096))
    >>> told = torch.compiler.report(compiled)
    >>> part = told.graphs[0].parts[0]
    >>> part.num_operators, len(part.rows), part.bytes_before, part.bytes_after
    (4, 1, 147456, 32768)
    """
    compiler = getattr(fn, "_compiler", None)
    if compiler is None:
        raise TypeError(f"torch.compiler.report: expected a function or module that torch.compile gave, got {type(fn).__name__}")
    from .._inductor.report import report_of

    return report_of(compiler)


def load_compiled_function(file, *, f_globals=None, external_data=None):
    """A function that `aot_compile` of a compiled one gave, and whose `save_compiled_function` wrote the file: it runs without being compiled.

    Args:
        file: a file that is open for reading bytes. It holds machine code: load those that you trust.
        f_globals, external_data: globals and objects for the function, which needs none here: what it uses is in the file.

    Errors: ValueError for bytes that are no such file, or are damaged.

    >>> import io, tempfile
    >>> f = torch.compile(lambda x: x * 2, fullgraph=True).aot_compile(((torch.ones(2),), {}))
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = f.save_compiled_function(file.name)
    ...     torch.compiler.load_compiled_function(file)(torch.ones(2))
    tensor([2., 2.])
    """
    from .._dynamo import aot_compile

    return aot_compile.loaded(file, external_data)


def reset():
    """Forgets what was compiled.

    >>> torch.compiler.reset()
    """
    from .._dynamo import eval_frame

    eval_frame.reset()


def set_stance(stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
    """How compiled functions behave from now on; also a context and a decorator.

    "default"; "force_eager" runs functions as they are; "eager_on_recompile" compiles nothing new; "fail_on_recompile" refuses to, with RuntimeError.

    >>> counter = torch._dynamo.testing.CompileCounter()
    >>> f = torch.compile(lambda x: x + 1, backend=counter)
    >>> with torch.compiler.set_stance("force_eager"):
    ...     _ = f(torch.ones(1))
    >>> counter.frame_count
    0
    """
    from .._dynamo import eval_frame

    return eval_frame.set_stance(stance, skip_guard_eval_unsafe=skip_guard_eval_unsafe, force_backend=force_backend)


def set_enable_guard_collectives(enabled):
    """Whether processes agree on recompilation; returns what was set before. They do not here.

    >>> torch.compiler.set_enable_guard_collectives(False)
    False
    """
    if enabled:
        raise NotImplementedError("set_enable_guard_collectives: processes do not agree on what they compile here")
    return False


def list_backends(exclude_tags=("debug", "experimental")):
    """Names of the backends that `torch.compile` takes, without those of a tag to leave out.

    >>> "inductor" in torch.compiler.list_backends()
    True
    """
    from .._dynamo.backends import registry

    return registry.list_backends(exclude_tags)


def keep_portable_guards_unsafe(guard_entries):
    """Flags of guards (`guard_filter_fn` of `torch.compile`'s options): those that look at which object something is are dropped.

    >>> torch.compile(lambda x: x + 1, options={"guard_filter_fn": torch.compiler.keep_portable_guards_unsafe})(torch.ones(1))
    tensor([2.])
    """
    return [entry.guard_type not in ("ID_MATCH", "CLOSURE_MATCH", "WEAKREF_ALIVE", "DICT_VERSION", "DUPLICATE_INPUT") for entry in guard_entries]


def keep_tensor_guards_unsafe(guard_entries, keep_parameters=False):
    """Flags of guards: those of tensors alone stay, of parameters where `keep_parameters` says so. All else is taken not to change.

    >>> scale = 2
    >>> f = torch.compile(lambda x: x * scale, options={"guard_filter_fn": torch.compiler.keep_tensor_guards_unsafe})
    >>> _, scale = f(torch.ones(1)), 3
    >>> f(torch.ones(1)), f(torch.ones(2))
    (tensor([2.]), tensor([3., 3.]))
    """
    from ..nn import Parameter

    return [entry.guard_type == "TENSOR_MATCH" and (keep_parameters or not isinstance(entry.value, Parameter)) for entry in guard_entries]


def skip_all_guards_unsafe(guard_entries):
    """Flags of guards: none stays, so that nothing is compiled again. Sizes that compiled code was not made for are an error then.

    >>> torch.compiler.skip_all_guards_unsafe([])
    []
    """
    return [False for _ in guard_entries]


def skip_guard_on_all_nn_modules_unsafe(guard_entries):
    """Flags of guards: modules and all that is reached through them are taken not to change.

    >>> model = torch.compile(nn.Linear(2, 2), options={"guard_filter_fn": torch.compiler.skip_guard_on_all_nn_modules_unsafe})
    >>> model(torch.ones(1, 2)).shape
    torch.Size([1, 2])
    """
    return [entry.module is None for entry in guard_entries]


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries):
    """Flags of guards: modules of `torch.nn`, and what is reached through them, are taken not to change; those of programs are looked at.

    >>> torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe([])
    []
    """
    return [entry.module is None or not type(entry.module).__module__.startswith("cresset.nn.") for entry in guard_entries]


def skip_guard_on_globals_unsafe(guard_entries):
    """Flags of guards: globals are taken not to change.

    >>> torch.compiler.skip_guard_on_globals_unsafe([])
    []
    """
    return [not entry.is_global for entry in guard_entries]


def get_default_backend():
    """The backend of `torch.compile` where a call names none.

    >>> torch.compiler.get_default_backend()
    'inductor'
    """
    return _compile.default_backend


def set_default_backend(backend):
    """Sets the backend of `torch.compile` where a call names none; None stands for "inductor". A name that there is none of is an error when compiling.

    >>> torch.compiler.set_default_backend("eager")
    >>> torch.compile(lambda x: x + 1)(torch.ones(1))
    tensor([2.])
    >>> torch.compiler.set_default_backend(None)
    """
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"set_default_backend: expected the name of a backend or a function, got {type(backend).__name__}")
    _compile.default_backend = "inductor" if backend is None else backend
