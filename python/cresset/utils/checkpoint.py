"""Activation checkpointing: what a function saves for backward is dropped, and computed again when backward needs it."""

from __future__ import annotations

import contextlib
import warnings

import _cresset
import cresset as torch
from cresset.amp._state import kept_regions

from ._selective import SAC_IGNORED_OPS, CheckpointPolicy, SelectiveCheckpointContext, create_selective_checkpoint_contexts

__all__ = ["CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType", "GraphExecGroup", "SAC_IGNORED_OPS", "SelectiveCheckpointContext",
           "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts", "detach_variable", "get_device_states",
           "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states"]  # fmt: skip


CheckpointError = _cresset._CheckpointError
_overrides = {"early_stop": None, "debug": None}


@contextlib.contextmanager
def _override(name, value):
    before, _overrides[name] = _overrides[name], value
    try:
        yield
    finally:
        _overrides[name] = before


def set_checkpoint_early_stop(enable):
    """Within this context, checkpoints made here stop (or do not stop) recomputing once all that is needed is there.

    Example::

        >>> import cresset as torch
        >>> from cresset.utils.checkpoint import checkpoint, set_checkpoint_early_stop
        >>> x = torch.ones(1, requires_grad=True)
        >>> with set_checkpoint_early_stop(False):
        ...     y = checkpoint(torch.exp, x, use_reentrant=False)
        >>> y.backward()
        >>> round(x.grad.item(), 3)
        2.718
    """
    return _override("early_stop", enable)


def set_checkpoint_debug_enabled(enabled):
    """Within this context, checkpoints made here keep (or do not keep) the stacks at which tensors were saved, for errors to show.

    >>> with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):
    ...     y = torch.utils.checkpoint.checkpoint(torch.sin, torch.zeros(1), use_reentrant=False)
    >>> y
    tensor([0.])
    """
    return _override("debug", enabled)


def noop_context_fn():
    """Two contexts that do nothing, for forward and recomputation.

    >>> forward, again = torch.utils.checkpoint.noop_context_fn()
    >>> with forward, again:
    ...     print(torch.ones(1))
    tensor([1.])
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def detach_variable(inputs):
    """Inputs cut off from their history, with their ``requires_grad``. Errors: RuntimeError for anything but a tuple.

    >>> x = torch.ones(2, requires_grad=True)
    >>> y, = torch.utils.checkpoint.detach_variable((x * 2,))
    >>> y.is_leaf, y.requires_grad
    (True, True)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"expected a tuple of tensors, got {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in inputs)


def check_backward_validity(inputs):
    """Warns where no tensor among the inputs requires a gradient.

    >>> torch.utils.checkpoint.check_backward_validity([torch.ones(1, requires_grad=True)])
    """
    if not any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs):
        warnings.warn("checkpoint: no input requires grad, so gradients will be None", stacklevel=2)


class DefaultDeviceType:
    """The kind of device whose random state is kept where arguments tell none: "cpu", until it is set.

    >>> torch.utils.checkpoint.DefaultDeviceType.get_device_type()
    'cpu'
    """

    _type = "cpu"

    @staticmethod
    def set_device_type(device="cuda"):
        """Sets the kind of device."""
        DefaultDeviceType._type = device

    @staticmethod
    def get_device_type():
        """The kind of device."""
        return DefaultDeviceType._type


class GraphExecGroup:
    """A context that says which backward passes belong together: checkpoints recompute once for all of them. Cannot be nested: RuntimeError.

    >>> x = torch.ones(1, requires_grad=True)
    >>> y = torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False)
    >>> with torch.utils.checkpoint.GraphExecGroup():
    ...     y.backward(retain_graph=True)
    >>> round(x.grad.item(), 3)
    2.718
    """

    _current = None

    def __enter__(self):
        if GraphExecGroup._current is not None:
            raise RuntimeError(f"GraphExecGroup: a group is open already; they do not nest, got {GraphExecGroup._current}")
        _cresset.set_exec_group(True)
        GraphExecGroup._current = self
        return self

    def __exit__(self, *_):
        GraphExecGroup._current = None
        _cresset.set_exec_group(False)

    @classmethod
    def _get_current_group(cls):
        return cls._current


def get_device_states(*args):
    """The accelerators that the tensors among the arguments lie on, and the random state of each; two empty lists where all are on the CPU.

    >>> torch.utils.checkpoint.get_device_states(torch.ones(1))
    ([], [])
    """
    from ._pytree import tree_flatten

    devices = dict.fromkeys(t.get_device() for t in tree_flatten(args)[0] if isinstance(t, torch.Tensor) and t.device.type not in ("cpu", "meta"))
    states = []
    for index in devices:
        module = torch.get_device_module(DefaultDeviceType.get_device_type())
        states.append(module.get_rng_state(index))
    return list(devices), states


def set_device_states(devices, states, *, device_type=None):
    """Sets the random states of accelerators that `get_device_states` gave. RuntimeError for one that is not built in.

    >>> torch.utils.checkpoint.set_device_states([], [])
    """
    kind = device_type or DefaultDeviceType.get_device_type()
    for device, state in zip(devices, states):
        if kind == "cpu":
            raise RuntimeError(f"set_device_states: the CPU has one state, set by torch.set_rng_state; got device {device}")
        torch.get_device_module(kind).set_rng_state(state, device)


@contextlib.contextmanager
def _rng_state(state):
    """The random state of the forward pass, where it is kept, and then what it was before."""
    if state is None:
        yield
        return
    before = torch.get_rng_state()
    torch.set_rng_state(state)
    try:
        yield
    finally:
        torch.set_rng_state(before)


class CheckpointFunction(torch.autograd.Function):
    """The reentrant form: forward without a graph, backward through a pass of its own."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.rng_state = torch.get_rng_state() if preserve_rng_state else None
        ctx.precision = kept_regions()
        ctx.args = [None if isinstance(x, torch.Tensor) else x for x in args]
        ctx.save_for_backward(*(x for x in args if isinstance(x, torch.Tensor)))
        ctx.places = [i for i, x in enumerate(args) if isinstance(x, torch.Tensor)]
        with torch.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if not _cresset.is_checkpoint_valid():  # gradients of what the function holds go to .grad, whatever was asked for
            raise RuntimeError(
                "checkpoint: use_reentrant=True goes with backward() of all leaves, got grad() or backward(inputs=...); use_reentrant=False takes both"
            )
        args = list(ctx.args)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor
        args = detach_variable(tuple(args))
        with torch.enable_grad(), _rng_state(ctx.rng_state), ctx.precision():
            outputs = ctx.run_function(*args)
        outputs = (outputs,) if isinstance(outputs, torch.Tensor) else outputs
        pairs = [(out, grad) for out, grad in zip(outputs, grads) if isinstance(out, torch.Tensor) and out.requires_grad]
        if not pairs:
            raise RuntimeError("checkpoint: no output requires grad, so there is nothing to recompute")
        torch.autograd.backward([out for out, _ in pairs], [grad for _, grad in pairs])
        return None, None, *(x.grad if isinstance(x, torch.Tensor) else None for x in args)


def checkpoint(function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default", debug=False, early_stop=True,
               preserve_rng_state=True, **kwargs):  # fmt: skip
    """Calls a function without keeping what it saves for backward; it is called again then (Chen et al., "Training deep nets with
    sublinear memory cost", 2016).

    Args:
        function: must compute the same again.
        args: its arguments.
        use_reentrant: False saves nothing but stand-ins, and works with everything of autograd; True runs a backward pass within the
            backward pass, and needs an input that requires a gradient and a backward without ``inputs``. To be given explicitly.
        context_fn: makes two contexts, for forward and recomputation; not with ``use_reentrant=True``.
        determinism_check: "default" compares shape, dtype and device of what is recomputed, "none" does not.
        debug: keep the stacks at which tensors were saved, for errors to show; not with ``use_reentrant=True``.
        early_stop: stop recomputing when all that is needed is there.
        preserve_rng_state: recompute with the random state of the forward pass.
        kwargs: named arguments of the function; not with ``use_reentrant=True``.

    Returns: the function's result. Errors: ValueError for arguments that do not go together; `CheckpointError`, in backward, where the
    function saved something else the second time.

    Example::

        >>> import cresset as torch
        >>> from cresset.utils.checkpoint import checkpoint
        >>> x = torch.tensor([0.0], requires_grad=True)
        >>> checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).backward()
        >>> round(x.grad.item(), 3)
        0.54
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint: say use_reentrant=False, which is advised, or use_reentrant=True, which is the default today",
            stacklevel=2,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
        if context_fn is not noop_context_fn or debug:
            raise ValueError("checkpoint: context_fn and debug go with use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be 'default' or 'none', got {determinism_check!r}")
    forward_context, recompute_context = context_fn()
    if not torch.is_grad_enabled():
        with forward_context:
            return function(*args, **kwargs)
    others = [None if isinstance(x, torch.Tensor) else x for x in args]
    places, precision, first = [i for i, x in enumerate(args) if isinstance(x, torch.Tensor)], kept_regions(), []

    def run(*tensors):
        given = list(others)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        if not first:
            first.append(None)
            with forward_context:
                first[0] = function(*given, **kwargs)
        else:
            with precision(), recompute_context:
                function(*given, **kwargs)

    early_stop, debug = (given if (set_to := _overrides[name]) is None else set_to for name, given in (("early_stop", early_stop), ("debug", debug)))
    _cresset.checkpoint(run, [args[place] for place in places], preserve_rng_state, determinism_check == "default", early_stop, debug)
    result, first[0] = first[0], None
    return result


def checkpoint_sequential(functions, segments, input, use_reentrant=None, preserve_rng_state=True, **kwargs):
    """Calls functions one after the other, checkpointed in segments, all but the last one.

    Args:
        functions: a `Sequential` or a list.
        segments: how many.
        input: of the first function.
        use_reentrant: see `checkpoint`.
        preserve_rng_state: see `checkpoint`.

    Example::

        >>> import cresset as torch
        >>> x = torch.tensor([0.0], requires_grad=True)
        >>> y = torch.utils.checkpoint.checkpoint_sequential([torch.exp, torch.sin], 2, x, use_reentrant=False)
        >>> y.backward()
        >>> round(x.grad.item(), 3)
        0.54
    """
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    if use_reentrant is None:
        warnings.warn("checkpoint_sequential: say use_reentrant=True or False.", stacklevel=2)
        use_reentrant = True
    functions = list(functions.children() if isinstance(functions, torch.nn.Module) else functions)

    def run(start, end):
        def forward(x):
            for function in functions[start:end]:
                x = function(x)
            return x

        return forward

    size = len(functions) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(run(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return run(size * (segments - 1), len(functions))(input)
