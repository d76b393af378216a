"""The few names of PyTorch's private module that libraries ask for. Cresset's own extension module is `_cresset`."""

import _cresset

from ..linalg import LinAlgError as _LinAlgError  # noqa: F401

_TensorMeta = type(_cresset.Tensor)
_disabled_torch_dispatch_impl = _cresset._disabled_torch_dispatch_impl
has_lapack, has_mkl, has_openmp = True, False, False
# Classes of the compiler by the modules that they live in: what a function's `graph` is made of.
_COMPILER = {
    "Block": "_ir", "CompilationUnit": "_api", "Graph": "_ir", "Node": "_ir", "ScriptFunction": "_function", "ScriptMethod": "_module", "Value": "_ir",
}  # fmt: skip
_SUBMODULES = ("_autograd", "_cpu", "_functorch", "_onnx", "_profiler")


@staticmethod
def _disabled_torch_function_impl(func, types, args=(), kwargs=None):
    """A `__torch_function__` that takes no call over, and leaves results as they are."""
    from .. import DisableTorchFunctionSubclass

    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def _set_grad_enabled(enabled):
    """Turns the recording of gradients on or off in this thread; a node of captured graphs."""
    _cresset._set_grad_enabled(enabled)


def _get_tracing_state():
    """The recorder of `torch.jit.trace`; None where nothing is recorded."""
    from ..jit import _tracing

    return _tracing.tracer


def _is_tracing():
    """Whether `torch.jit.trace` is recording."""
    return _get_tracing_state() is not None


def _log_api_usage_once(event):
    """Reports a use to PyTorch's operators; here it does nothing."""


def _get_accelerator(check=None):
    """The device of the accelerator: the CPU where there is none."""
    from .. import device

    return device("cpu")


def _get_default_device():
    """Where tensors are made, by name."""
    from .. import get_default_device

    return str(get_default_device())


def _get_privateuse1_backend_name():
    """The name of the device that programs may define."""
    return _cresset._private_backend_name()


def _is_torch_function_mode_enabled():
    """Whether a mode sees the calls of functions on this thread."""
    return bool(_cresset._modes())


def _len_torch_function_stack():
    """How many modes see the calls of functions on this thread."""
    return len(_cresset._modes())


def _is_alias_of(first, second):
    """Whether two tensors share memory."""
    return first.untyped_storage()._cdata == second.untyped_storage()._cdata


def _are_functorch_transforms_active():
    """Whether `vmap` is running, whose tensors have no values to ask for."""
    return _cresset.in_vmap()


def _cuda_isInBadFork():
    """Whether this is a fork of a process that used CUDA."""
    return False


def __getattr__(name):
    if name in _COMPILER:
        import importlib

        return getattr(importlib.import_module(f"..jit.{_COMPILER[name]}", __name__), name)
    if name in ("DispatchKey", "DispatchKeySet"):
        from .._core import dispatch_keys

        return getattr(dispatch_keys, name)
    from .._core import dispatch_keys, missing, operator_schema

    if name in operator_schema.CLASSES:
        return operator_schema.CLASSES[name]
    if name in ("Argument", "FunctionSchema"):
        return getattr(operator_schema, name)

    if name == "_after_autograd_keyset":
        return dispatch_keys.AFTER_AUTOGRAD
    if name == "_ExcludeDispatchKeyGuard":
        return dispatch_keys.excluding_set
    if name == "_dispatch_key_parse":
        return dispatch_keys.parsed
    if name == "_parse_dispatch_key":
        return dispatch_keys.DispatchKey.__members__.get
    if name.startswith(("_jit_", "_get_graph_executor", "_set_graph_executor")) or name in ("_create_function_from_graph", "_freeze_module"):
        from . import _jit

        if (function := _jit.found(name)) is not None:
            return function
    return missing.found(__name__, name)


def _AutoDispatchBelowAutograd():
    """A scope whose calls of operators that programs define go past their functions for gradients."""
    from .._core.dispatch_keys import below_autograd

    return below_autograd()


def parse_schema(text):
    """A schema from its text. RuntimeError for text that is none, with the place marked."""
    from .._core.operator_schema import FunctionSchema
    from .._core.schema import canonical

    return FunctionSchema(canonical(text), "")


def parse_ir(text, parse_tensor_constants=False):
    """A graph of TorchScript from its text; constants that are tensors are numbers between braces, "{1}". RuntimeError for text that is none, with the place marked.

    >>> graph = torch._C.parse_ir("graph(%x : Tensor):\\n  %y : Tensor = aten::relu(%x)\\n  return (%y)")
    >>> [node.kind() for node in graph.nodes()]
    ['aten::relu']
    """
    from ..jit._ir import graph_of_text

    return graph_of_text(text, parse_tensor_constants)


def _check_onnx_proto(proto_string):
    """Checks that the bytes of a file of ONNX are a model whose graphs hold together. ValueError for the first thing that is wrong. Which operators there
    are, and what they take, is not checked."""
    import _cresset_graph

    _cresset_graph.script_check_onnx(proto_string)


def _jit_try_infer_type(value):
    """The type of TorchScript that a value is of, as tracing infers it: `success()`, then `type()` or `reason()`.

    >>> torch._C._jit_try_infer_type([1, None]).type()
    List[Optional[int]]
    """
    from ..jit._infer import inferred

    return inferred(value)


def _create_function_from_graph(name, graph):
    """A function that runs a graph of TorchScript."""
    from ..jit._definition import function_of_graph

    return function_of_graph(name, graph)


def _overload_named(qualified):
    """The overload of "ns::name" or "ns::name.overload"; None where there is none."""
    from .. import ops

    namespace, _, rest = qualified.partition("::")
    name, _, overload = rest.partition(".")
    packet = getattr(getattr(ops, namespace), name, None)
    return None if packet is None else getattr(packet, overload or "default", None)


def _dispatch_has_kernel(qualified):
    """Whether there is an operator of the name."""
    return _overload_named(qualified) is not None


def _dispatch_has_kernel_for_dispatch_key(qualified, key):
    """Whether an operator has a function for a key."""
    return _overload_that_is(qualified).has_kernel_for_dispatch_key(key)


def _dispatch_has_kernel_for_any_dispatch_key(qualified, keys):
    """Whether an operator has a function for one of a set of keys."""
    return _overload_that_is(qualified).has_kernel_for_any_dispatch_key(keys)


def _dispatch_keys(tensor):
    """The keys of calls with a tensor."""
    from .._core.dispatch_keys import keys_of

    return keys_of([tensor])


def _dispatch_key_name(key):
    """The name of a key."""
    return key.name


def _dispatch_find_schema_or_throw(name, overload):
    """The schema of an operator "ns::name" and the name of an overload. RuntimeError where there is none."""
    found = _overload_named(f"{name}.{overload}" if overload else name)
    if found is None:
        raise RuntimeError(f"could not find a schema for {name}{'.' if overload else ''}{overload}")
    return found._schema


def _overload_that_is(qualified):
    overload = _overload_named(qualified)
    if overload is None:
        raise RuntimeError(f"operator {qualified} does not exist")
    return overload


class _DisableTorchDispatch:
    """In its scope neither modes nor tensor classes take calls over by `__torch_dispatch__`."""

    def __init__(self):
        from .._modes import stack

        self._modes, self._before = stack.without(lambda mode: True), _cresset._hear_subclasses(False)
        self._modes.__enter__()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self._end()

    def _end(self):
        if self._modes is not None:
            modes, self._modes = self._modes, None
            modes.__exit__(None, None, None)
            _cresset._hear_subclasses(self._before)

    def __del__(self):
        self._end()
