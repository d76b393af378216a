"""Handles of registered hooks, and what carries the backward hooks of modules through the graph."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict

import cresset as torch

_MARK = "__torch_unserializable__"


class RemovableHandle:
    """Removes a hook from the table it was put in.

    Args:
        hooks_dict: the table (an ordered dictionary) that maps the handle's ``id`` to the hook.
        extra_dict: further tables keyed by ``id``, or a list of them, from which ``remove`` also deletes.

    A handle is a context manager: the hook is removed at its end. It keeps the table alive only weakly. ``next_id`` is that of the next one.

    Example::

        >>> from collections import OrderedDict
        >>> from cresset.utils.hooks import RemovableHandle
        >>> hooks = OrderedDict()
        >>> handle = RemovableHandle(hooks)
        >>> hooks[handle.id] = print
        >>> handle.remove()
        >>> len(hooks)
        0
    """

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        extra = extra_dict if isinstance(extra_dict, (list, tuple)) else () if extra_dict is None else (extra_dict,)
        self._refer(RemovableHandle.next_id, hooks_dict, *extra)

    def _refer(self, id, *tables):
        """The hook `id` of these tables, which are held weakly; later handles have higher ids."""
        self.id = id
        self.hooks_dict_ref, *extra = map(weakref.ref, tables)
        self.extra_dict_ref = tuple(extra)
        RemovableHandle.next_id = max(RemovableHandle.next_id, id + 1)

    def remove(self):
        """Takes the hook out of its tables; does nothing the second time."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = reference()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, *(reference() for reference in self.extra_dict_ref)

    def __setstate__(self, state):
        tables = [OrderedDict() if table is None else table for table in (state[0], *state[2:])]
        self._refer(state[1], *tables)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def _pass_through():
    class BackwardHookFunction(torch.autograd.Function):
        """The tensors given, and a call with all of their gradients together on the way back."""

        @staticmethod
        def forward(ctx, call, *tensors):
            ctx.call = call
            ctx.set_materialize_grads(False)
            return tuple(tensor.view_as(tensor) for tensor in tensors)

        @staticmethod
        def backward(ctx, *grads):
            return (None, *ctx.call(grads))

    return BackwardHookFunction


class _Gradients:
    """Watches some of the values of a tuple: the gradients of all of them arrive at once, None for the values not watched."""

    kind = None

    def __init__(self, values, call):
        self.count = len(values)
        self.places = [i for i, v in enumerate(values) if isinstance(v, torch.Tensor) and v.requires_grad]
        self.call = call

    def watch(self, values):
        if not self.places:
            return values
        if _Gradients.kind is None:
            _Gradients.kind = _pass_through()
        through = _Gradients.kind.apply(self._arrived, *(values[i] for i in self.places))
        values = list(values)
        for place, tensor in zip(self.places, through, strict=True):
            values[place] = tensor
        return tuple(values)

    def _arrived(self, grads):
        spread = [None] * self.count
        for place, grad in zip(self.places, grads, strict=True):
            spread[place] = grad
        out = self.call(tuple(spread))
        return grads if out is None else [out[place] for place in self.places]


class BackwardHook:
    """Runs the full backward hooks of a module: those before when the gradients of its outputs are known, the others with its inputs'."""

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module, self.hooks, self.pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs = None
        self.inputs = None

    def setup_input_hook(self, args):
        self.inputs = _Gradients(args, self._of_inputs)
        return self.inputs.watch(args)

    def setup_output_hook(self, args):
        if isinstance(args, torch.Tensor):
            return _Gradients((args,), self._of_outputs).watch((args,))[0]
        if not isinstance(args, (tuple, list)):
            warnings.warn("full backward hooks need a forward that returns a tensor or a tuple of tensors; they will not run", stacklevel=4)
            return args
        out = _Gradients(args, self._of_outputs).watch(tuple(args))
        return type(args)(*out) if hasattr(args, "_fields") else type(args)(out)

    def _of_outputs(self, grads):
        for hook in self.pre_hooks:
            grads = _replaced(hook(self.module, grads), grads, "backward pre-hook")
        self.grad_outputs = grads
        if not self.inputs.places:
            if self.hooks:
                warnings.warn(
                    f"a full backward hook of {type(self.module).__name__} runs when the gradients of its outputs are known: no input requires gradients",
                    stacklevel=2,
                )
            for hook in self.hooks:
                result = hook(self.module, (None,) * self.inputs.count, grads)
                if result is not None and not (isinstance(result, tuple) and all(part is None for part in result)):
                    raise RuntimeError("backward hook: no input of the module needs a gradient, so there is none to replace")
        return grads

    def _of_inputs(self, grads):
        grad_outputs, self.grad_outputs = self.grad_outputs, None
        if grad_outputs is None:  # the gradient of a gradient: it reached the inputs but not the outputs
            return grads
        for hook in self.hooks:
            grads = _replaced(hook(self.module, grads, grad_outputs), grads, "backward hook")
        return grads


def _replaced(result, grads, what):
    if result is None:
        return grads
    result = result if isinstance(result, tuple) else (result,)
    if len(result) != len(grads):
        raise RuntimeError(f"{what}: returned {len(result)} gradients, expected {len(grads)}")
    return result


def unserializable_hook(f):
    """Mark a hook: pickling the tensor that carries it warns.

    >>> from cresset.utils.hooks import unserializable_hook
    >>> unserializable_hook(lambda grad: None).__torch_unserializable__
    True
    """
    setattr(f, _MARK, True)
    return f


def warn_if_has_hooks(tensor):
    """Warn about the hooks of a tensor that pickling would lose.

    >>> torch.utils.hooks.warn_if_has_hooks(torch.ones(1))
    """
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not getattr(hook, _MARK, False):
            warnings.warn(f"the hook {hook!r} on the gradient of a tensor is not saved with it", stacklevel=2)
