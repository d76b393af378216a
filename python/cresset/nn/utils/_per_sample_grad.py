"""Gradients of each sample of a batch, beside the sum over it."""

import functools

import cresset as torch

from ...utils import _pytree

_IMAGES = (torch.nn.functional.conv1d, torch.nn.functional.conv2d, torch.nn.functional.conv3d)
_FUNCTIONS = frozenset(
    (*_IMAGES, torch.nn.functional.linear, torch.nn.functional.embedding, torch.nn.functional.layer_norm, torch.nn.functional.group_norm,
     torch.nn.functional.instance_norm)
)  # fmt: skip


class _Expanded(torch.Tensor):
    """A parameter whose gradient is kept for each sample. `of` is the parameter."""

    @staticmethod
    def __new__(cls, parameter, batch_size, scale):
        out = parameter.detach().as_subclass(cls)
        out._of, out._batch_size, out._scale = parameter, batch_size, scale
        return out

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function in _FUNCTIONS:
            return _call(function, args, kwargs or {})
        name = getattr(function, "__name__", str(function))
        if name == "__get__" or name in ("size", "dim", "stride", "numel", "is_floating_point", "is_complex", "__repr__", "requires_grad_"):
            with torch._C.DisableTorchFunctionSubclass():
                return function(*_pytree.tree_map(_whole, args), **_pytree.tree_map(_whole, kwargs or {}))
        raise RuntimeError(f"{name}: gradients of each sample are there for {', '.join(sorted(f.__name__ for f in _FUNCTIONS))}, not for this function")


def _whole(value):
    return value._of if isinstance(value, _Expanded) else value


def _call(function, args, kwargs):
    leaves, spec = _pytree.tree_flatten((args, kwargs))
    at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    expanded = next(leaves[i] for i in at if isinstance(leaves[i], _Expanded))
    x = args[0] if args else kwargs["input"]
    if x.dim() == 0 or x.shape[0] != expanded._batch_size:
        raise RuntimeError(f"{function.__name__}: expected an input whose first dimension is the batch of {expanded._batch_size}, got shape {tuple(x.shape)}")
    if function is torch.nn.functional.instance_norm and any(leaves[i] is not x and not isinstance(leaves[i], _Expanded) for i in at):
        raise RuntimeError("instance_norm: running statistics belong to the whole batch: there are no gradients of each sample with them")

    def run(*tensors):
        filled = list(leaves)
        for i, tensor in zip(at, tensors, strict=True):
            filled[i] = tensor
        inner_args, inner_kwargs = _pytree.tree_unflatten(filled, spec)
        return function(*inner_args, **inner_kwargs)

    parameters = [leaves[i] if isinstance(leaves[i], _Expanded) else None for i in at]
    return _PerSample.apply(run, parameters, [leaves[i] is x for i in at], *(_whole(leaves[i]) for i in at))


class _PerSample(torch.autograd.Function):
    """A function of a batch. Backward gives its input the gradient, and each expanded parameter one for each sample."""

    @staticmethod
    def forward(ctx, run, parameters, is_input, *tensors):
        ctx.run, ctx.parameters, ctx.is_input = run, parameters, is_input
        ctx.save_for_backward(*tensors)
        return run(*tensors)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        tensors, at = ctx.saved_tensors, ctx.is_input.index(True)
        grads = [None] * len(tensors)
        for i, wanted in enumerate(ctx.needs_input_grad[3:]):
            if wanted and ctx.parameters[i] is None:
                grads[i] = torch.func.vjp(lambda t, i=i: ctx.run(*tensors[:i], t, *tensors[i + 1 :]), tensors[i])[1](grad)[0]
        own = [i for i, parameter in enumerate(ctx.parameters) if parameter is not None]

        def of_sample(x, g):
            def of_parameters(*values):
                filled = list(tensors)
                filled[at] = x.unsqueeze(0)
                for i, value in zip(own, values, strict=True):
                    filled[i] = value
                return ctx.run(*filled)

            return torch.func.vjp(of_parameters, *(tensors[i] for i in own))[1](g.unsqueeze(0))

        for i, found in zip(own, torch.func.vmap(of_sample)(tensors[at], grad), strict=True):
            expanded = ctx.parameters[i]
            found = found.detach() * expanded._scale
            before = getattr(expanded._of, "grad_sample", None)
            expanded._of.grad_sample = found if before is None else before + found
        return None, None, None, *grads


def _batch_size(args, kwargs, dim):
    found = [t.shape[dim] for t in _pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor) and t.dim() > dim]
    if not found:
        raise RuntimeError("call_for_per_sample_grads: found no tensor in the arguments to tell the batch size by; pass batch_size")
    if len(set(found)) > 1:
        raise RuntimeError(f"call_for_per_sample_grads: the arguments have batches of {sorted(set(found))} samples; pass batch_size")
    return found[0]


def call_for_per_sample_grads(module, *, batch_size=None, loss_reduction="sum", batch_first=True):
    """The module as a function after whose backward each parameter has `grad_sample`, of shape (batch, *its shape), and no grad.

    batch_size: that of the inputs, or None to read it off them: dimension 0, or 1 without batch_first. loss_reduction: "sum" or "mean", by which the loss reduces
    the samples. The parameters may be used by linear, embedding, conv and layer, group and instance norms. RuntimeError for other uses, and
    where `grad_sample` of an earlier call is still there.

    >>> from cresset.nn.utils._per_sample_grad import call_for_per_sample_grads
    >>> linear = torch.nn.Linear(2, 1)
    >>> call_for_per_sample_grads(linear)(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    >>> linear.weight.grad_sample.tolist()
    [[[1.0, 2.0]], [[3.0, 4.0]]]
    """
    if not isinstance(module, torch.nn.Module):
        raise RuntimeError(f"call_for_per_sample_grads: expected a Module, got a {type(module).__name__}")
    if batch_size is not None and not isinstance(batch_size, int):
        raise RuntimeError(f"call_for_per_sample_grads: expected batch_size as None or an int, got a {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"call_for_per_sample_grads: expected a batch_size of 1 or more, got {batch_size}")
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f'call_for_per_sample_grads: expected "sum" or "mean" as loss_reduction, got {loss_reduction!r}')
    for name, parameter in module.named_parameters():
        if getattr(parameter, "grad_sample", None) is not None:
            raise RuntimeError(f"call_for_per_sample_grads: {name} has a grad_sample already; set it to None or delete it first")

    @functools.wraps(module.forward)
    def call(*args, **kwargs):
        samples = batch_size if batch_size is not None else _batch_size(args, kwargs, 0 if batch_first else 1)
        scale = samples if loss_reduction == "mean" else 1
        chosen = {name: _Expanded(p, samples, scale) if p.requires_grad else p for name, p in module.named_parameters()}
        return torch.func.functional_call(module, chosen, args, kwargs)

    return call
