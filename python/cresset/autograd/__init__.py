"""Derivatives of tensors: `backward` and `grad`, custom functions, hooks, the recorded graph."""

import sys
import types
import warnings as _warnings

import _cresset

from .. import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: F401
from .._core import modes as _modes  # noqa: F401
from . import _tensor, anomaly_mode, function, grad_mode, graph  # noqa: F401
from .grad_mode import is_multithreading_enabled, is_view_replay_enabled, set_multithreading_enabled  # noqa: F401
from .anomaly_mode import detect_anomaly, set_detect_anomaly  # noqa: F401
from .function import Function  # noqa: F401
from .gradcheck import gradcheck, gradgradcheck  # noqa: F401
from .variable import Variable  # noqa: F401

_SUBMODULES = ("forward_ad", "functional", "profiler", "profiler_util")


def __getattr__(name):
    if name in ("_disable_profiler", "_profiler_enabled"):
        from .._C import _autograd

        return getattr(_autograd, name)
    if name == "SavedTensor":
        return _cresset._SavedTensor
    if name == "DeviceType":
        from .profiler_util import DeviceType

        return DeviceType
    if name == "kineto_available":
        from ..profiler import kineto_available

        return kineto_available
    from .._core import missing

    return missing.found(__name__, name)


__all__ = ["Function", "backward", "detect_anomaly", "enable_grad", "grad", "gradcheck", "gradgradcheck", "inference_mode",
           "no_grad", "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled", "variable"]  # fmt: skip


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Add the derivatives of the sum of `tensors` to the `grad` of the leaves they were computed from.

    `grad_tensors` weight the elements of each tensor (same shape; None, or nothing at all, for tensors of one element). `retain_graph`
    keeps what was saved for a second pass and defaults to `create_graph`, which records the pass itself so that gradients can be
    differentiated. With `inputs` only these tensors get gradients. Tensors may also be gradient edges.

    Errors: RuntimeError for a tensor that does not require grad, a gradient that is missing or of another shape, a graph that an
    earlier pass has freed, an empty `inputs`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.autograd.backward([(x * 3).sum()]); x.grad.tolist()
    [3.0, 3.0]
    """
    if grad_variables is not None:
        _warnings.warn("`grad_variables` is deprecated; use `grad_tensors`", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError("backward: `grad_tensors` and `grad_variables` (deprecated) were both given; use `grad_tensors` only")
        grad_tensors = grad_variables
    if inputs is not None:
        inputs = tuple(inputs.values()) if isinstance(inputs, dict) else _listed(inputs)
        if not inputs:
            raise RuntimeError("backward: `inputs` cannot be empty")
    if create_graph:
        _modes._warn_once(
            "backward: with create_graph=True a parameter and its gradient hold each other, which leaks memory; use autograd.grad, or set grad to None"
        )
    _cresset.run_backward("backward", tensors, grad_tensors, retain_graph, create_graph, inputs, True)


def grad(
    outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None, is_grads_batched=False,
    materialize_grads=False,
):  # fmt: skip
    """Return the derivatives of the sum of `outputs` with respect to each of `inputs`; no tensor's `grad` changes.

    As `backward`, with these additions. An input that the outputs do not depend on is an error; with `allow_unused` it gives None, with
    `materialize_grads` zeros. With `is_grads_batched` the first dimension of each of `grad_outputs` counts the passes to run, and that of
    each result. `inputs` as a dict gives a dict.

    >>> x = torch.tensor([1., 2.], requires_grad=True)
    >>> torch.autograd.grad((x * x).sum(), x)[0].tolist()
    [2.0, 4.0]
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: allow_unused must be True or left out when materialize_grads=True, got False")
    if not only_inputs:
        _warnings.warn("only_inputs is deprecated and ignored; use backward to accumulate gradients for all leaves", FutureWarning, stacklevel=2)
    names = list(inputs) if isinstance(inputs, dict) else None
    inputs = tuple(inputs.values()) if names is not None else _listed(inputs)
    outputs = tuple(outputs) if _is_list(outputs) else (outputs,)
    if not inputs:
        raise RuntimeError("grad: `inputs` cannot be empty")
    if names is None and _cresset._taken_over((*outputs, *inputs), {}):
        options = {
            "grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph, "only_inputs": only_inputs,
            "allow_unused": bool(allow_unused), "is_grads_batched": is_grads_batched, "materialize_grads": materialize_grads,
        }  # fmt: skip
        if materialize_grads:
            del options["allow_unused"]
        return _cresset._hand_over(grad, (outputs, tuple(inputs)), options)
    if is_grads_batched:
        result = _batched(outputs, inputs, grad_outputs, retain_graph, create_graph)
    else:
        result = _cresset.run_backward("grad", outputs, grad_outputs, retain_graph, create_graph, inputs, False)
    if any(g is None for g in result):
        if materialize_grads:
            result = _materialized(result, inputs, create_graph)
        elif not allow_unused:
            at = next(i for i, g in enumerate(result) if g is None)
            raise RuntimeError(f"grad: the input at index {at} was not used in the graph; set allow_unused=True if that is intended")
    return result if names is None else dict(zip(names, result, strict=True))


def _listed(inputs):
    """The tensors and edges of any iterable, or the one that is given."""
    if isinstance(inputs, graph.GradientEdge) or isinstance(inputs, _cresset.Tensor) or not hasattr(inputs, "__iter__"):
        return (inputs,)
    return inputs if isinstance(inputs, (list, tuple)) else tuple(inputs)


def _is_list(value):
    return isinstance(value, (list, tuple)) and not isinstance(value, graph.GradientEdge)


def _materialized(result, inputs, create_graph):
    from .. import zeros_like

    if any(g is None and isinstance(i, graph.GradientEdge) for g, i in zip(result, inputs, strict=True)):
        raise RuntimeError("grad: materialize_grads cannot be used where an input is a gradient edge")
    return tuple(zeros_like(i, requires_grad=create_graph) if g is None else g for g, i in zip(result, inputs, strict=True))


def _batched(outputs, inputs, grad_outputs, retain_graph, create_graph):
    """One pass for each slice of `grad_outputs` along their first dimension, all of them at once."""
    from .. import Tensor
    from ..func import vmap

    given = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs or ())
    if len(given) != len(outputs) or not all(isinstance(g, Tensor) for g in given):
        raise RuntimeError(f"grad: is_grads_batched needs a tensor of gradients for each of the {len(outputs)} outputs")
    if any(g.dim() == 0 for g in given):
        raise ValueError("grad: is_grads_batched needs gradients with a first dimension that counts the passes, got one without dimensions")
    count = given[0].shape[0]
    for i, (g, out) in enumerate(zip(given, outputs, strict=True)):
        shape = getattr(out, "shape", g.shape[1:])
        if tuple(g.shape[1:]) != tuple(shape) or g.shape[0] != count:
            raise RuntimeError(f"grad: gradient {i} has shape {tuple(g.shape)}, expected ({count}, *{tuple(shape)})")
    if count == 0:
        raise RuntimeError("grad: is_grads_batched needs at least one gradient")
    there = []

    def one_pass(*vectors):
        found = _cresset.run_backward("grad", outputs, vectors, retain_graph, create_graph, inputs, False)
        there[:] = [g is not None for g in found]
        return [g for g in found if g is not None]

    found = iter(vmap(one_pass)(*given))
    return tuple(next(found) if defined else None for defined in there)


class _Module(types.ModuleType):
    def __setattr__(self, name, value):
        # Importing the module `gradcheck` leaves the function of the name in place.
        super().__setattr__(name, value.gradcheck if name == "gradcheck" and isinstance(value, types.ModuleType) else value)


sys.modules[__name__].__class__ = _Module
