"""Derivatives of functions whose arguments and results are trees of tensors.

Reverse mode watches fresh copies of the arguments. A result keeps a history only if it reaches something else that is being
differentiated: an argument that requires grad, a parameter, or what another transform around this one watches. Forward mode opens a
level (docs/records/0005-forward-mode.md).
"""

import functools

import _cresset
from _cresset import Tensor

from .._core.modes import enable_grad
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten


def _tensors(tree, what):
    leaves, spec = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise ValueError(f"{what}: expected tensors, got {type(leaf).__name__}")
    return leaves, spec


def _results(tree, what):
    leaves, spec = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{what}: expected the function to return only tensors, got {type(leaf)}")
    return leaves, spec


def _with_aux(output, has_aux, what):
    if not has_aux:
        return output, None
    if not isinstance(output, tuple) or len(output) != 2:
        raise RuntimeError(f"{what}: expected a function that returns (output, aux) with has_aux=True")
    return output


def _watched(t):
    """The tensor in a place of the graph that is its own; under vmap each element of the batch has one."""
    t = _cresset.batched_at_all_levels(t)
    return t.view_as(t) if t.requires_grad else _cresset.without_history(t).requires_grad_()


class _Watch:
    """Leaves with respect to which a transform differentiates."""

    def __init__(self, leaves):
        self.outside = _cresset._set_grad_enabled(True)
        _cresset._set_grad_enabled(self.outside)
        with enable_grad():
            self.leaves = [_watched(t) for t in leaves]
        self.own = [t for t in self.leaves if t.is_leaf]

    def depends_on_others(self, tensors):
        return self.outside and _cresset.depends_on_others([t for t in tensors if t.requires_grad], self.own)

    def settled(self, tree):
        """Results without the history that only this transform has given them."""

        def settle(leaf):
            if not isinstance(leaf, Tensor) or not leaf.requires_grad or self.depends_on_others([leaf]):
                return leaf
            return _cresset.without_history(leaf)

        return tree_map(settle, tree)

    def pull(self, outputs, cotangents, retain_graph, create_graph):
        """The gradients of the leaves, zeros where there are none."""
        pairs = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o.requires_grad]
        if not pairs:
            return [t.new_zeros(t.shape) for t in self.leaves]
        grads = _cresset.run_backward("grad", [o for o, _ in pairs], [c for _, c in pairs], retain_graph, create_graph, self.leaves, False)
        return [t.new_zeros(t.shape) if g is None else g for t, g in zip(self.leaves, grads, strict=True)]


def _checked_argnums(argnums, count):
    several = isinstance(argnums, tuple)
    if not several and not isinstance(argnums, int):
        raise RuntimeError(f"argnums must be an int or a tuple of ints, got {type(argnums)}")
    if several and not argnums:
        raise RuntimeError("argnums must not be empty")
    numbers = argnums if several else (argnums,)
    for number in numbers:
        if not isinstance(number, int):
            raise RuntimeError(f"argnums must be an int or a tuple of ints, got an element of {type(number)}")
        if not -count <= number < count:
            raise RuntimeError(f"got argnum={number}, but only {count} positional inputs")
    numbers = tuple(number % count for number in numbers)
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"expected each of argnums once, got {argnums}")
    return numbers, several


def _chosen(args, argnums):
    numbers, several = _checked_argnums(argnums, len(args))
    return numbers, (tuple(args[n] for n in numbers) if several else args[numbers[0]]), several


def _replaced(args, numbers, values, several):
    args = list(args)
    for number, value in zip(numbers, values if several else (values,), strict=True):
        args[number] = value
    return args


def grad_and_value(func, argnums=0, has_aux=False):
    """Return a function that computes the gradient of `func`, whose result is one number, and the result: `(gradient, value)`.

    `argnums` names the arguments, trees of tensors, with respect to which is differentiated; a tuple gives a tuple. With `has_aux` the function returns
    `(number, aux)`, and so does the value.

    Errors: RuntimeError for a result that is not a tensor of one number, wrong `argnums`.

    >>> torch.func.grad_and_value(lambda x: x ** 2)(torch.tensor(3.))
    (tensor(6.), tensor(9.))
    """
    what = "grad_and_value"

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        numbers, chosen, several = _chosen(args, argnums)
        leaves, spec = _tensors(chosen, what)
        watch = _Watch(leaves)
        with enable_grad():
            output = func(*_replaced(args, numbers, tree_unflatten(watch.leaves, spec), several), **kwargs)
        value, aux = _with_aux(output, has_aux, what)
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{what}: expected the function to return a tensor, got {type(value)}")
        if value.dim() != 0:
            raise RuntimeError(f"{what}: expected the function to return a scalar tensor, got one with {value.dim()} dims; use vjp or jacrev for other shapes")
        more = watch.depends_on_others([value])
        grads = watch.settled(tree_unflatten(watch.pull([value], [None], True, more), spec))
        value = watch.settled(value)
        return grads, ((value, watch.settled(aux)) if has_aux else value)

    return wrapper


def grad(func, argnums=0, has_aux=False):
    """Return a function that computes the gradient of `func`, whose result is one number; with `has_aux` it returns `(gradient, aux)`.

    See `grad_and_value`.

    >>> torch.func.grad(torch.func.grad(lambda x: x ** 3))(torch.tensor(2.)).item()
    12.0
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def vjp(func, *primals, has_aux=False):
    """Return what `func` gives for `primals`, and a function that multiplies a vector (a tree like the output) by its Jacobian.

    The product is a tuple, with an entry like each of the primals.

    Errors: RuntimeError for results other than tensors, a vector of another structure or shape.

    >>> output, product = torch.func.vjp(lambda x: x * x, torch.tensor([1., 2.]))
    >>> product(torch.ones(2))
    (tensor([2., 4.]),)
    """
    leaves, spec = _tensors(primals, "vjp")
    watch = _Watch(leaves)
    with enable_grad():
        output = func(*tree_unflatten(watch.leaves, spec))
    output, aux = _with_aux(output, has_aux, "vjp")
    outputs, out_spec = _results(output, "vjp")

    def product(cotangents, retain_graph=True, create_graph=None):
        vectors, vector_spec = tree_flatten(cotangents)
        if vector_spec != out_spec:
            raise RuntimeError(f"vjp: expected a vector of the output's structure {out_spec!r}, got {vector_spec!r}")
        for vector, result in zip(vectors, outputs, strict=True):
            if vector.shape != result.shape:
                raise RuntimeError(f"vjp: expected a vector of the output's shape {tuple(result.shape)}, got {tuple(vector.shape)}")
        outside = _cresset._set_grad_enabled(True)
        _cresset._set_grad_enabled(outside)
        if create_graph is None:
            create_graph = outside and (any(v.requires_grad for v in vectors) or watch.depends_on_others(outputs))
        return watch.settled(tree_unflatten(watch.pull(outputs, vectors, retain_graph, create_graph), spec))

    result = watch.settled(output)
    return (result, product, watch.settled(aux)) if has_aux else (result, product)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """Return what `func` gives for the tuple `primals`, and its derivative along `tangents`, a tuple of the same structure.

    With `strict` a result that does not depend on the primals is an error, else its derivative is zeros. With `has_aux` the function
    returns `(output, aux)`, and aux comes third.

    Errors: RuntimeError for primals that are no tuple, tangents of another structure or shape, results other than tensors.

    >>> torch.func.jvp(torch.sin, (torch.tensor(0.),), (torch.tensor(2.),))
    (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"jvp: expected primals to be a tuple, got {type(primals).__name__}")
    leaves, spec = _tensors(primals, "jvp")
    directions, direction_spec = tree_flatten(tangents)
    if spec != direction_spec:
        raise RuntimeError(f"jvp: expected tangents of the primals' structure {spec!r}, got {direction_spec!r}")
    if not leaves:
        raise RuntimeError("jvp: expected primals to contain at least one tensor")
    level = _cresset.enter_dual_level()
    try:
        duals = [_cresset.make_dual(x, t, level) for x, t in zip(leaves, directions, strict=True)]
        output, aux = _with_aux(func(*tree_unflatten(duals, spec)), has_aux, "jvp")
        outputs, out_spec = _results(output, "jvp")
        pairs = [_cresset.unpack_dual(t, level) for t in outputs]
        if strict and any(tangent is None for _, tangent in pairs):
            raise RuntimeError("jvp: the output is independent of the inputs, which strict=True does not allow")
        values = tree_unflatten([primal for primal, _ in pairs], out_spec)
        along = tree_unflatten([primal.new_zeros(primal.shape) if t is None else t for primal, t in pairs], out_spec)
        if has_aux:
            aux = tree_map(lambda leaf: _cresset.unpack_dual(leaf, level)[0] if isinstance(leaf, Tensor) else leaf, aux)
    finally:
        _cresset.exit_dual_level(level)
    return (values, along, aux) if has_aux else (values, along)


def linearize(func, *primals):
    """Return what `func` gives for `primals`, and the function's linear approximation there: it takes tangents and returns derivatives.

    The function itself runs once; each call of the approximation costs one pass over its graph.

    Errors: RuntimeError for tangents of another structure or shape, results other than tensors.

    >>> output, derivative = torch.func.linearize(torch.exp, torch.tensor(0.))
    >>> derivative(torch.tensor(3.))
    tensor(3.)
    """
    leaves, spec = _tensors(primals, "linearize")
    watch = _Watch(leaves)
    with enable_grad():
        outputs, out_spec = _results(func(*tree_unflatten(watch.leaves, spec)), "linearize")
        # The gradient is linear in what comes in; its own gradient with respect to that is the derivative.
        incoming = [o.new_zeros(o.shape).requires_grad_() for o in outputs]
        gradients = watch.pull(outputs, incoming, True, True)
    linear = [(i, g) for i, g in enumerate(gradients) if g.requires_grad]
    shapes = [tuple(t.shape) for t in leaves]

    def derivative(*tangents):
        directions, direction_spec = tree_flatten(tangents)
        if direction_spec != spec:
            raise RuntimeError(f"linearize: expected tangents of the primals' structure {spec!r}, got {direction_spec!r}")
        for i, (t, shape) in enumerate(zip(directions, shapes, strict=True)):
            if tuple(t.shape) != shape:
                raise RuntimeError(f"linearize: expected tangent {i} of the primal's shape {shape}, got {tuple(t.shape)}")
        along = [None] * len(outputs)
        if linear:
            more = any(t.requires_grad for t in directions) or watch.depends_on_others(outputs)
            along = _cresset.run_backward("grad", [g for _, g in linear], [directions[i] for i, _ in linear], True, more, incoming, False)
        along = [o.new_zeros(o.shape) if t is None else t for o, t in zip(outputs, along, strict=True)]
        return watch.settled(tree_unflatten(along, out_spec))

    return watch.settled(tree_unflatten(outputs, out_spec)), derivative


def _bases(tensors, start, stop):
    """Unit vectors `start` to `stop` of all numbers of `tensors` in order: for each tensor its part of them, the vectors first."""
    from .. import arange

    parts, at = [], 0
    for t in tensors:
        rows = arange(start - at, stop - at, device=t.device).unsqueeze(1)
        parts.append((rows == arange(t.numel(), device=t.device)).to(t.dtype).view((stop - start, *t.shape)))
        at += t.numel()
    return parts


def _pushed(function, tensors, chunk_size, randomness="error", preallocate=False):
    """`function` of every unit vector of `tensors`, whose parts it takes: for each leaf of its result the results, stacked.

    With `preallocate` each chunk is written into the whole, where they are joined at the end otherwise.
    """
    from .. import cat
    from ._vmap import vmap

    count = sum(t.numel() for t in tensors)
    step = chunk_size or count
    pushed = vmap(lambda *vectors: tree_flatten(function(*vectors))[0], randomness=randomness)
    columns = (pushed(*_bases(tensors, at, min(at + step, count))) for at in range(0, count, step))
    if preallocate:
        whole = None
        for i, parts in enumerate(columns):
            whole = whole or [part.new_zeros((count, *part.shape[1:])) for part in parts]
            for all_rows, part in zip(whole, parts, strict=True):
                all_rows.narrow(0, i * step, part.shape[0]).copy_(part)
        return whole
    columns = list(columns)
    return [cat(parts) if len(parts) > 1 else parts[0] for parts in zip(*columns, strict=True)]


def _checked_real(what, leaves, kind):
    for i, leaf in enumerate(leaves):
        if leaf.is_complex():
            raise RuntimeError(f"{what}: expected all {kind} to be real, got a complex tensor as {kind[:-1]} {i}; use view_as_real() and view_as_complex()")


def _checked_chunk_size(what, chunk_size):
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"{what}: chunk_size must be positive, got {chunk_size}")


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """Return a function that computes the Jacobian of `func` in reverse mode: a pass for each number of the result, run as one batch.

    For each tensor of the result, trees of tensors of shape `result.shape + argument.shape`. `argnums` as for `grad`; with `has_aux` it
    returns `(jacobian, aux)`. `chunk_size` bounds how many passes run at once; `_preallocate_and_copy` writes each chunk into the result,
    so that chunks are not all in memory beside it.

    >>> torch.func.jacrev(lambda x: x * x)(torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _checked_chunk_size("jacrev", chunk_size)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        numbers, chosen, several = _chosen(args, argnums)
        _checked_real("jacrev", _tensors(chosen, "jacrev")[0], "inputs")

        def of_chosen(*values):
            return func(*_replaced(args, numbers, values if several else values[0], several), **kwargs)

        output, product, *aux = vjp(of_chosen, *(chosen if several else (chosen,)), has_aux=has_aux)
        outputs, out_spec = tree_flatten(output)
        _checked_real("jacrev", outputs, "outputs")
        leaves, spec = tree_flatten(chosen)
        if any(out.numel() for out in outputs):
            rows = _pushed(lambda *vectors: product(tree_unflatten(vectors, out_spec)), outputs, chunk_size, preallocate=_preallocate_and_copy)
        blocks, at = [], 0
        for out in outputs:
            n = out.numel()
            shapes = [(*out.shape, *leaf.shape) for leaf in leaves]
            if n:
                parts = [rows[k].narrow(0, at, n).reshape(shape) for k, shape in enumerate(shapes)]
            else:
                parts = [leaf.new_zeros(shape) for leaf, shape in zip(leaves, shapes, strict=True)]
            blocks.append(tree_unflatten(parts, spec))
            at += n
        jacobian = tree_unflatten(blocks, out_spec)
        return (jacobian, aux[0]) if has_aux else jacobian

    return wrapper


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """Return a function that computes the Jacobian of `func` in forward mode: a pass for each number of the arguments, run as one batch.

    Results as of `jacrev`. `randomness` is "error", "different" or "same": what random operators do in the passes, see `vmap`.

    >>> torch.func.jacfwd(torch.sin)(torch.tensor([0., 0.]))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"jacfwd: only 'error', 'different' and 'same' are allowed for randomness, got {randomness!r}")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        numbers, chosen, several = _chosen(args, argnums)
        leaves, spec = _tensors(chosen if several else (chosen,), "jacfwd")
        _checked_real("jacfwd", leaves, "inputs")
        seen = []

        def of_chosen(*values):
            return func(*_replaced(args, numbers, values if several else values[0], several), **kwargs)

        def along(*tangents):
            output, derivative, *aux = jvp(of_chosen, tree_unflatten(leaves, spec), tree_unflatten(tangents, spec), has_aux=has_aux)
            seen[:] = tree_flatten(output)
            _checked_real("jacfwd", seen[0], "outputs")
            if not has_aux:
                return derivative
            more, more_spec = tree_flatten(aux[0])
            seen.extend(([None if isinstance(leaf, Tensor) else leaf for leaf in more], more_spec))
            return derivative, [leaf for leaf in more if isinstance(leaf, Tensor)]

        if any(leaf.numel() for leaf in leaves):
            columns = _pushed(along, leaves, None, randomness)
            outputs, out_spec = seen[:2]
        else:
            output, *aux = of_chosen(*tree_unflatten(leaves, spec)) if has_aux else (of_chosen(*tree_unflatten(leaves, spec)),)
            (outputs, out_spec), columns = tree_flatten(output), None
        blocks = []
        for o, out in enumerate(outputs):
            parts, at = [], 0
            for leaf in leaves:
                n = leaf.numel()
                part = columns[o].narrow(0, at, n).movedim(0, -1) if n else out.new_zeros((*out.shape, 0))
                parts.append(part.reshape((*out.shape, *leaf.shape)))
                at += n
            block = tree_unflatten(parts, spec)
            blocks.append(block if several else block[0])
        jacobian = tree_unflatten(blocks, out_spec)
        if not has_aux:
            return jacobian
        if columns is not None:
            tensors = iter(column[0] for column in columns[len(outputs) :])
            aux = [tree_unflatten([next(tensors) if leaf is None else leaf for leaf in seen[2]], seen[3])]
        return jacobian, aux[0]

    return wrapper


def hessian(func, argnums=0):
    """Return a function that computes the second derivatives of `func`: forward mode over reverse mode.

    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
