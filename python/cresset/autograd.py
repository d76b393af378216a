"""Derivatives of tensors."""

import _cresset

from . import _GradMode, enable_grad, no_grad, set_grad_enabled  # noqa: F401


def _sequence(value, length=0):
    if value is None:
        return [None] * length
    return list(value) if isinstance(value, (list, tuple)) else [value]


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=None, is_grads_batched=False, materialize_grads=False):
    outputs, inputs = _sequence(outputs), _sequence(inputs)
    unused = materialize_grads if allow_unused is None else allow_unused
    grads = _cresset.grad(outputs, inputs, _sequence(grad_outputs, len(outputs)), retain_graph, create_graph, unused)
    if not materialize_grads:
        return grads
    from . import zeros_like

    return tuple(zeros_like(i) if g is None else g for g, i in zip(grads, inputs, strict=True))


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    tensors = _sequence(tensors)
    _cresset.backward(tensors, _sequence(grad_tensors, len(tensors)), retain_graph, create_graph, _sequence(inputs))
