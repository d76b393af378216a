"""The methods of Tensor that belong to differentiation."""

import _cresset
from _cresset import Tensor

from .._core.overridable import overridable
from . import _handles


def _method(function):
    method = overridable(function, "cresset", spelled_out=True)
    method.__qualname__ = f"Tensor.{function.__name__}"
    setattr(Tensor, function.__name__, method)
    return method


@_method
def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Add the derivatives of this tensor to the `grad` of the leaves it was computed from; see `torch.autograd.backward`.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> (x * x).backward(); x.grad.item()
    6.0
    """
    from . import backward as run

    run(self, gradient, retain_graph, create_graph, inputs=inputs)


@_method
def register_hook(self, hook):
    """Call `hook(grad)` whenever the gradient of this tensor has been computed; a tensor it returns takes the gradient's place.

    Hooks run in the order of registration. A tensor that is changed in place afterwards keeps the hook for its former value.
    Errors: RuntimeError for a tensor that does not require grad.

    >>> x = torch.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda g: g * 2)
    >>> x.sum().backward(); x.grad.tolist()
    [2.0, 2.0]
    """
    if not self.requires_grad:
        raise RuntimeError("register_hook: cannot register a hook on a tensor that does not require gradient")
    return _handles.add(_cresset.tensor_hooks(self, True, False), hook)


@_method
def register_post_accumulate_grad_hook(self, hook):
    """Call `hook(tensor)` after a backward pass has added to `grad` of this leaf; its result must be None.

    Errors: RuntimeError for a tensor that does not require grad or is no leaf.

    >>> x = torch.ones(2, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda p: print(p.grad.tolist()))
    >>> x.sum().backward()
    [1.0, 1.0]
    """
    if not self.requires_grad:
        raise RuntimeError("register_post_accumulate_grad_hook: cannot register a hook on a tensor that does not require gradient")
    if not self.is_leaf:
        raise RuntimeError("register_post_accumulate_grad_hook: cannot register a hook on a tensor that is no leaf")
    return _handles.add(_cresset.tensor_hooks(self, True, True), hook)


def _replace(post):
    def put(self, table):
        current = _cresset.tensor_hooks(self, bool(table), post)
        if current is not None and current is not table:
            current.clear()
            current.update(table or {})

    return put


Tensor._backward_hooks = property(lambda self: _cresset.tensor_hooks(self, False, False), _replace(False))
Tensor._post_accumulate_grad_hooks = property(lambda self: _cresset.tensor_hooks(self, False, True), _replace(True))
Tensor.output_nr = property(_cresset.output_nr)
