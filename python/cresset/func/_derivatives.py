"""Derivatives of functions whose arguments and results are trees of tensors.

Reverse mode watches fresh copies of the arguments. A result keeps a history only if it reaches something else that is being
differentiated: an argument that requires grad, a parameter, or what another transform around this one watches. Forward mode opens a
level (docs/records/0005-forward-mode.md). The transforms themselves are C++ (cresset/transform/func_aux.h), of functions of lists.
"""

import functools

import _cresset
from _cresset import Tensor

from .._functorch import predispatch
from ..utils._pytree import tree_flatten, tree_unflatten
from . import _steps


def _tensors(tree, what, error=ValueError):
    leaves, spec = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise error(f"{what}: expected tensors, got {type(leaf).__name__}")
    return predispatch.seen(leaves), spec


def _results(tree, what):
    leaves, spec = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{what}: expected the function to return only tensors, got {type(leaf)}")
    if not leaves:
        raise RuntimeError(f"{what}: expected the function to return at least one tensor, got {tree!r}")
    return leaves, spec


def _with_aux(output, has_aux, what):
    if not has_aux:
        return output, None
    if not isinstance(output, tuple) or len(output) != 2:
        raise RuntimeError(f"{what}: expected a function that returns (output, aux) with has_aux=True")
    return output


class _Flat:
    """A function of trees as one of lists, which returns lists of results and of the tensors of aux. It remembers the structure of both."""

    def __init__(self, func, spec, has_aux, what):
        self.func, self.spec, self.has_aux, self.what = func, spec, has_aux, what

    def __call__(self, *leaves):
        output, aux = _with_aux(predispatch.of_program(self.func, *tree_unflatten(leaves, self.spec)), self.has_aux, self.what)
        results, self.results = _results(output, self.what)
        self.others, self.aux = tree_flatten(aux)
        for leaf in self.others if self.has_aux else ():
            if leaf is not None and not isinstance(leaf, Tensor):
                raise RuntimeError(f"{self.what}: aux: Expected tensors, got unsupported type {type(leaf).__name__}")
        tensors = [leaf for leaf in self.others if isinstance(leaf, Tensor)]
        self.others = [None if isinstance(leaf, Tensor) else (leaf,) for leaf in self.others]
        return results, tensors

    def given(self, *trees, aux):
        """Trees that the transform returns, and aux where the function has it."""
        if not self.has_aux:
            return trees if len(trees) > 1 else trees[0]
        tensors = iter(aux)
        return *trees, tree_unflatten([next(tensors) if leaf is None else leaf[0] for leaf in self.others], self.aux)


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
    @predispatch.transform
    def wrapper(*args, **kwargs):
        def of_chosen(value):
            output = func(*_replaced(args, numbers, value, several), **kwargs)
            if not isinstance(_with_aux(output, has_aux, what)[0], Tensor):
                raise RuntimeError(f"{what}: expected the function to return a tensor, got {type(output[0] if has_aux else output)}")
            return output

        numbers, chosen, several = _chosen(args, argnums)
        leaves, spec = _tensors((chosen,), what)
        flat = _Flat(of_chosen, spec, has_aux, what)
        gradient, (value,), aux = predispatch.of_transform(_cresset.func_grad_and_value, flat, leaves)
        return tree_unflatten(gradient, spec)[0], flat.given(value, aux=aux)

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


@predispatch.transform
def vjp(func, *primals, has_aux=False):
    """Return what `func` gives for `primals`, and a function that multiplies a vector (a tree like the output) by its Jacobian.

    The product is a tuple, with an entry like each of the primals.

    Errors: RuntimeError for results other than tensors, a vector of another structure or shape.

    >>> output, product = torch.func.vjp(lambda x: x * x, torch.tensor([1., 2.]))
    >>> product(torch.ones(2))
    (tensor([2., 4.]),)
    """
    leaves, spec = _tensors(primals, "vjp")
    flat = _Flat(func, spec, has_aux, "vjp")
    output, aux, pull = predispatch.of_transform(_cresset.func_vjp, flat, leaves)
    out_spec = flat.results

    def product(cotangents, retain_graph=True, create_graph=None):
        vectors, vector_spec = tree_flatten(cotangents)
        if vector_spec != out_spec:
            raise RuntimeError(f"vjp: expected a vector of the output's structure {out_spec!r}, got {vector_spec!r}")
        return tree_unflatten(predispatch.of_transform(pull, vectors, retain_graph, create_graph), spec)

    return flat.given(tree_unflatten(output, out_spec), product, aux=aux)


@predispatch.transform
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
    leaves, spec = _tensors(primals, "jvp", RuntimeError)
    directions, direction_spec = _tensors(tangents, "jvp", RuntimeError)
    if spec != direction_spec:
        raise RuntimeError(f"jvp: expected tangents of the primals' structure {spec!r}, got {direction_spec!r}")
    if not leaves:
        raise RuntimeError("jvp: expected primals to contain at least one tensor")
    flat = _Flat(func, spec, has_aux, "jvp")
    of_lists = _cresset.func_jvp if predispatch.recorder() is None else _steps.jvp
    values, along, aux = of_lists(flat, leaves, directions, strict)
    return flat.given(tree_unflatten(values, flat.results), tree_unflatten(along, flat.results), aux=aux)


@predispatch.transform
def linearize(func, *primals):
    """Return what `func` gives for `primals`, and the function's linear approximation there: it takes tangents and returns derivatives.

    The function itself runs once; each call of the approximation costs one pass over its graph.

    Errors: RuntimeError for tangents of another structure or shape, results other than tensors.

    >>> output, derivative = torch.func.linearize(torch.exp, torch.tensor(0.))
    >>> derivative(torch.tensor(3.))
    tensor(3.)
    """
    leaves, spec = _tensors(primals, "linearize")
    flat = _Flat(func, spec, False, "linearize")
    output, along = predispatch.of_transform(_cresset.func_linearize, lambda *values: flat(*values)[0], leaves)

    def derivative(*tangents):
        directions, direction_spec = tree_flatten(tangents)
        if direction_spec != spec:
            raise RuntimeError(f"linearize: expected tangents of the primals' structure {spec!r}, got {direction_spec!r}")
        return tree_unflatten(predispatch.of_transform(along, directions), flat.results)

    return tree_unflatten(output, flat.results), derivative


def _jacobian(func, argnums, has_aux, what, *settings):
    @functools.wraps(func)
    @predispatch.transform
    def wrapper(*args, **kwargs):
        numbers, chosen, several = _chosen(args, argnums)
        leaves, spec = _tensors((chosen,), what)
        flat = _Flat(lambda value: func(*_replaced(args, numbers, value, several), **kwargs), spec, has_aux, what)
        of_lists = _steps.jacobian if predispatch.is_heard() else _cresset.func_jacobian
        blocks, aux = of_lists(flat, leaves, what == "jacfwd", *settings)
        return flat.given(tree_unflatten([tree_unflatten(parts, spec)[0] for parts in blocks], flat.results), aux=aux)

    return wrapper


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """Return a function that computes the Jacobian of `func` in reverse mode: a pass for each number of the result, run as one batch.

    For each tensor of the result, trees of tensors of shape `result.shape + argument.shape`. `argnums` as for `grad`; with `has_aux` it
    returns `(jacobian, aux)`. `chunk_size` bounds how many passes run at once; `_preallocate_and_copy` writes each chunk into the result,
    so that chunks are not all in memory beside it.

    >>> torch.func.jacrev(lambda x: x * x)(torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"jacrev: chunk_size must be positive, got {chunk_size}")
    return _jacobian(func, argnums, has_aux, "jacrev", chunk_size or 0, _preallocate_and_copy, "error")


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """Return a function that computes the Jacobian of `func` in forward mode: a pass for each number of the arguments, run as one batch.

    Results as of `jacrev`. `randomness` is "error", "different" or "same": what random operators do in the passes, see `vmap`.

    >>> torch.func.jacfwd(torch.sin)(torch.tensor([0., 0.]))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"jacfwd: only 'error', 'different' and 'same' are allowed for randomness, got {randomness!r}")

    return _jacobian(func, argnums, has_aux, "jacfwd", 0, False, randomness)


def hessian(func, argnums=0):
    """Return a function that computes the second derivatives of `func`: forward mode over reverse mode.

    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
