"""Derivatives of functions of tensors: Jacobians, Hessians and their products with vectors. They are C++ (cresset/transform/functional.h), of lists."""

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


class _Listed:
    """A function as one of tensors that returns a tuple of them; it remembers whether the function did."""

    def __init__(self, func, name):
        self.func, self.name = func, name

    def __call__(self, *inputs):
        outputs, self.several = _tuple(self.func(*inputs), "the outputs of the function", self.name)
        return outputs


def _product(name, func, inputs, v, create_graph, strict):
    inputs, several = _tuple(inputs, "inputs", name)
    listed = _Listed(func, name)
    outputs, products = _cresset.functional_product(name, listed, inputs, None if v is None else _tuple(v, "v", name)[0], create_graph, strict)
    return _single(outputs, listed.several), _single(products, listed.several if name == "jvp" else several)


def _strategy(name, argument, value):
    if value not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f"{name}: expected {argument} to be 'forward-mode' or 'reverse-mode', got {value!r}")
    return value == "forward-mode"


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """Return `func(*inputs)` and the product of `v` with its Jacobian, one tensor for each input.

    `v` has the shapes of the outputs and may be left out for one output of one element. `create_graph` records the computation; `strict`
    raises RuntimeError where an input has no influence, else the product is zeros.

    >>> torch.autograd.functional.vjp(lambda x: x * x, torch.tensor([1., 2.]), torch.ones(2))[1].tolist()
    [2.0, 4.0]
    """
    return _product("vjp", func, inputs, v, create_graph, strict)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """Return `func(*inputs)` and the product of its Jacobian with `v`, one tensor for each output.

    `v` has the shapes of the inputs and may be left out for one input of one element. Computed as the derivative of a vjp.

    >>> torch.autograd.functional.jvp(lambda x: x * x, torch.tensor([1., 2.]), torch.ones(2))[1].tolist()
    [2.0, 4.0]
    """
    return _product("jvp", func, inputs, v, create_graph, strict)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """Return the Jacobian of `func` at `inputs`: shape (*output, *input); tuples of them, outputs first, for tuples.

    `strategy="forward-mode"` (with `vectorize=True`) computes column by column, else row by row; the numbers are the same.
    `vectorize` does not combine with `strict`. Errors: RuntimeError in strict mode where an output does not depend on an input;
    AssertionError for another strategy.

    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1., 2.])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    forward = _strategy("jacobian", "strategy", strategy)
    inputs, several = _tuple(inputs, "inputs", "jacobian")
    listed = _Listed(func, "jacobian")
    blocks = _cresset.functional_jacobian(False, listed, inputs, create_graph, strict, vectorize, forward)
    return _single(tuple(_single(row, several) for row in blocks), listed.several)


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """Return the Hessian of `func`, which gives one number, at `inputs`: shape (*input, *input); tuples of tuples for a tuple.

    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1., 2.])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    forward = _strategy("hessian", "outer_jacobian_strategy", outer_jacobian_strategy)
    inputs, several = _tuple(inputs, "inputs", "hessian")
    blocks = _cresset.functional_jacobian(True, _Listed(func, "hessian"), inputs, create_graph, strict, vectorize, forward)
    return blocks if several else blocks[0][0]


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """Return `func(*inputs)`, one number, and the product of `v` with its Hessian, one tensor for each input.

    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.ones(2))[1].tolist()
    [6.0, 12.0]
    """
    return _product("vhp", func, inputs, v, create_graph, strict)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """Return `func(*inputs)`, one number, and the product of its Hessian with `v`, one tensor for each input.

    The Hessian is symmetric where it is continuous, and `vhp` is the faster of the two.

    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.ones(2))[1].tolist()
    [6.0, 12.0]
    """
    return _product("hvp", func, inputs, v, create_graph, strict)
