"""Derivatives of functions of tensors: Jacobians, Hessians and their products with vectors."""

import _cresset
from _cresset import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _tuple(value, what, function):
    """A tuple of tensors, and whether `value` was one."""
    several = isinstance(value, tuple)
    for i, t in enumerate(value if several else (value,)):
        if not isinstance(t, Tensor):
            where = f" at index {i}" if several else ""
            raise TypeError(f"{function}: expected {what} to be a tensor or a tuple of tensors, got {type(t).__name__}{where}")
    return (value if several else (value,)), several


def _single(tensors, several):
    return tensors if several else tensors[0]


def _fresh(inputs, create_graph, need_graph=True):
    """Inputs with respect to which is differentiated: their own history goes on where a graph is created."""
    return tuple((t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(need_graph)) for t in inputs)


def _called(func, inputs, function, strict=False):
    outputs, several = _tuple(func(*inputs), "the outputs of the function", function)
    if strict:
        for i, out in enumerate(outputs):
            if not out.requires_grad:
                raise RuntimeError(f"{function}: output {i} of the function is independent of the inputs, which strict mode does not allow")
    return outputs, several


def _checked_vector(v, tensors, several, function):
    v, v_several = _tuple(v, "v", function)
    if len(v) != len(tensors) or (v_several and not several):
        raise RuntimeError(f"{function}: v has {len(v)} entries, expected {len(tensors)} as the values it multiplies")
    for i, (a, b) in enumerate(zip(v, tensors, strict=True)):
        if a.shape != b.shape:
            raise RuntimeError(f"{function}: entry {i} of v has shape {tuple(a.shape)}, expected {tuple(b.shape)}")
    return v


def _vector(v, tensors, several, create_graph, function, reason):
    """`v`, or ones for one tensor of one element."""
    if v is not None:
        checked = _checked_vector(_single(*_tuple(v, "v", function)), tensors, several, function)
        return _fresh(checked, create_graph, False)
    if len(tensors) != 1 or tensors[0].numel() != 1:
        raise RuntimeError(f"{function}: v can be left out only for {reason}")
    return (_ones_like(tensors[0]),)


def _ones_like(t):
    from .. import ones_like

    return ones_like(t.detach())


def _zeros(shape, like):
    return like.detach().new_zeros(shape)


def _grads(outputs, inputs, grad_outputs, create_graph, keep=True):
    """Gradients, None where there are none: outputs without history are left out."""
    pairs = [(o, g) for o, g in zip(outputs, grad_outputs, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    outs, gs = zip(*pairs, strict=True)
    return _cresset.run_backward("grad", outs, gs, keep or create_graph, create_graph, inputs, False)


def _filled(grads, inputs, strict, create_graph, function):
    """Zeros where nothing arrived, which strict mode does not allow."""
    out = []
    for i, (g, x) in enumerate(zip(grads, inputs, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(f"{function}: the output of the function is independent of input {i}, which strict mode does not allow")
            g = _zeros(x.shape, x)
        elif strict and create_graph and not g.requires_grad:
            raise RuntimeError(f"{function}: the derivative by input {i} is independent of the inputs, which strict mode with create_graph does not allow")
        out.append(g)
    return tuple(out)


def _finished(values, create_graph):
    return values if create_graph else tuple(v.detach() if v.requires_grad else v for v in values)


def _recording(function):
    """Runs with gradients on."""
    import functools

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        from .. import enable_grad

        with enable_grad():
            return function(*args, **kwargs)

    return wrapped


@_recording
def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """Return `func(*inputs)` and the product of `v` with its Jacobian, one tensor for each input.

    `v` has the shapes of the outputs and may be left out for one output of one element. `create_graph` records the computation; `strict`
    raises RuntimeError where an input has no influence, else the product is zeros.

    >>> torch.autograd.functional.vjp(lambda x: x * x, torch.tensor([1., 2.]), torch.ones(2))[1].tolist()
    [2.0, 4.0]
    """
    inputs, several = _tuple(inputs, "inputs", "vjp")
    inputs = _fresh(inputs, create_graph)
    outputs, out_several = _called(func, inputs, "vjp", strict)
    v = _vector(v, outputs, out_several, create_graph, "vjp", "a function with one output of one element")
    grads = _filled(_grads(outputs, inputs, v, create_graph), inputs, strict, create_graph, "vjp")
    return _single(_finished(outputs, create_graph), out_several), _single(_finished(grads, create_graph), several)


def _double_vjp(outputs, inputs, v, create_graph, strict, function):
    """The Jacobian of `outputs` by `inputs` times `v`: the derivative of a vjp by the vector it takes, of which it is linear."""
    from .. import zeros_like

    vectors = tuple(zeros_like(o.detach(), requires_grad=True) for o in outputs)
    grads = _filled(_grads(outputs, inputs, vectors, True), inputs, strict, False, function)
    products = _grads(grads, vectors, v, create_graph)
    return _filled(products, outputs, strict, create_graph, function)


@_recording
def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """Return `func(*inputs)` and the product of its Jacobian with `v`, one tensor for each output.

    `v` has the shapes of the inputs and may be left out for one input of one element. Computed as the derivative of a vjp.

    >>> torch.autograd.functional.jvp(lambda x: x * x, torch.tensor([1., 2.]), torch.ones(2))[1].tolist()
    [2.0, 4.0]
    """
    inputs, several = _tuple(inputs, "inputs", "jvp")
    inputs = _fresh(inputs, create_graph)
    v = _vector(v, inputs, several, create_graph, "jvp", "a function with one input of one element")
    outputs, out_several = _called(func, inputs, "jvp", strict)
    products = _double_vjp(outputs, inputs, v, create_graph, strict, "jvp")
    return _single(_finished(outputs, create_graph), out_several), _single(_finished(products, create_graph), out_several)


@_recording
def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """Return the Jacobian of `func` at `inputs`: shape (*output, *input); tuples of them, outputs first, for tuples.

    `strategy="forward-mode"` (with `vectorize=True`) computes column by column, else row by row; the numbers are the same.
    `vectorize` does not combine with `strict`. Errors: RuntimeError in strict mode where an output does not depend on an input;
    AssertionError for another strategy.

    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1., 2.])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f"jacobian: expected strategy to be 'forward-mode' or 'reverse-mode', got {strategy!r}")
    if vectorize and strict:
        raise RuntimeError("jacobian: strict=True and vectorize=True do not combine")
    if strategy == "forward-mode" and create_graph:
        raise NotImplementedError("jacobian: create_graph=True is not supported with strategy='forward-mode'")
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError("jacobian: strategy='forward-mode' needs vectorize=True")
    inputs, several = _tuple(inputs, "inputs", "jacobian")
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, several)
    inputs = _fresh(inputs, create_graph)
    outputs, out_several = _called(func, inputs, "jacobian", strict)
    if vectorize:
        result = _all_rows(outputs, inputs, create_graph)
    else:
        result = tuple(_rows(out, i, inputs, create_graph, strict) for i, out in enumerate(outputs))
    result = tuple(_finished(row, create_graph) for row in result)
    if several and out_several:
        return result
    return tuple(row[0] for row in result) if out_several else result[0] if several else result[0][0]


def _forward_jacobian(func, inputs, several):
    """Column by column, all of them as one batch."""
    from ..func import jacfwd

    single = []

    def listed(*args):
        outputs, out_several = _called(func, args, "jacobian")
        single[:] = [not out_several]
        return outputs

    rows = jacfwd(listed, argnums=tuple(range(len(inputs))))(*(t.detach() for t in inputs))
    rows = tuple(_single(_finished(row, False), several) for row in rows)
    return rows[0] if single[0] else rows


def _all_rows(outputs, inputs, create_graph):
    """The blocks of all outputs: a row for each of their elements, all of them as one batch."""
    from ..func._derivatives import _pushed

    def of_vectors(*vectors):
        return _filled(_grads(outputs, inputs, vectors, create_graph), inputs, False, create_graph, "jacobian")

    rows = _pushed(of_vectors, outputs, None) if any(out.numel() for out in outputs) else None
    result, at = [], 0
    for out in outputs:
        n = out.numel()
        shapes = [(*out.shape, *x.shape) for x in inputs]
        if n:
            result.append(tuple(row.narrow(0, at, n).reshape(shape) for row, shape in zip(rows, shapes, strict=True)))
        else:
            result.append(tuple(_zeros(shape, x) for x, shape in zip(inputs, shapes, strict=True)))
        at += n
    return tuple(result)


def _rows(out, number, inputs, create_graph, strict):
    """The blocks of one output, a row for each of its elements."""
    from .. import stack

    rows = [[] for _ in inputs]
    flat = out.reshape(-1)
    for k in range(out.numel()):
        element = flat[k]
        one = (_ones_like(element),)
        for place, g, x in zip(rows, _grads((element,), inputs, one, create_graph), inputs, strict=True):
            if strict and g is None:
                raise RuntimeError(f"jacobian: output {number} of the function is independent of an input, which strict mode does not allow")
            if strict and create_graph and not g.requires_grad:
                raise RuntimeError("jacobian: the Jacobian is independent of an input, which strict mode with create_graph does not allow")
            place.append(_zeros(x.shape, x) if g is None else g)
    return tuple(stack(place).reshape((*out.shape, *x.shape)) if place else _zeros((*out.shape, *x.shape), x) for place, x in zip(rows, inputs, strict=True))


def _scalar(outputs, several, function):
    if several or outputs[0].numel() != 1:
        raise RuntimeError(f"{function}: expected the function to return one tensor of one element, got {tuple(tuple(o.shape) for o in outputs)}")
    return outputs


@_recording
def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """Return the Hessian of `func`, which gives one number, at `inputs`: shape (*input, *input); tuples of tuples for a tuple.

    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1., 2.])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f"hessian: expected outer_jacobian_strategy to be 'forward-mode' or 'reverse-mode', got {outer_jacobian_strategy!r}")
    inputs, several = _tuple(inputs, "inputs", "hessian")

    def one_number(*args):
        outputs, out_several = _called(func, args, "hessian", strict)
        (out,) = _scalar(outputs, out_several, "hessian")
        return out.squeeze()

    def gradient(*args):
        if outer_jacobian_strategy == "forward-mode":
            args = tuple(a.requires_grad_() if a.is_leaf else a for a in args)
        return jacobian(one_number, args, create_graph=True, strict=strict)

    rows = jacobian(
        gradient, inputs, create_graph=create_graph, strict=strict, vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )  # fmt: skip
    return rows if several else rows[0][0]


@_recording
def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """Return `func(*inputs)`, one number, and the product of `v` with its Hessian, one tensor for each input.

    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.ones(2))[1].tolist()
    [6.0, 12.0]
    """
    inputs, several = _tuple(inputs, "inputs", "vhp")
    inputs = _fresh(inputs, create_graph)
    v = _vector(v, inputs, several, create_graph, "vhp", "a function with one input of one element")
    outputs, out_several = _called(func, inputs, "vhp", strict)
    _scalar(outputs, out_several, "vhp")
    gradient = _filled(_grads(outputs, inputs, (_ones_like(outputs[0]),), True), inputs, strict, True, "vhp")
    products = _filled(_grads(gradient, inputs, v, create_graph), inputs, strict, create_graph, "vhp")
    return _single(_finished(outputs, create_graph), out_several), _single(_finished(products, create_graph), several)


@_recording
def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """Return `func(*inputs)`, one number, and the product of its Hessian with `v`, one tensor for each input.

    The Hessian is symmetric where it is continuous, and `vhp` is the faster of the two.

    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.ones(2))[1].tolist()
    [6.0, 12.0]
    """
    inputs, several = _tuple(inputs, "inputs", "hvp")
    inputs = _fresh(inputs, create_graph)
    v = _vector(v, inputs, several, create_graph, "hvp", "a function with one input of one element")
    outputs, out_several = _called(func, inputs, "hvp", strict)
    _scalar(outputs, out_several, "hvp")
    gradient = _filled(_grads(outputs, inputs, (_ones_like(outputs[0]),), True), inputs, strict, True, "hvp")
    products = _double_vjp(gradient, inputs, v, create_graph, strict, "hvp")
    return _single(_finished(outputs, create_graph), out_several), _single(_finished(products, create_graph), several)
