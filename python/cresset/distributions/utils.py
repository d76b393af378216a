"""Shared by distributions: broadcasting of parameters, probabilities and logits, triangular matrices as vectors."""

import functools
import math
from numbers import Number

import cresset as torch

from ._rows import row

__all__ = ["broadcast_all", "logits_to_probs", "clamp_probs", "probs_to_logits", "lazy_property", "tril_matrix_to_vec", "vec_to_tril_matrix"]


def _is_tensor_like(value):
    return isinstance(value, torch.Tensor) or hasattr(type(value), "__torch_function__")


def only_one(kind, **choices):
    """The name of the one argument that is given. Raises ValueError where there is none, or several."""
    given = [name for name, value in choices.items() if value is not None]
    if len(given) != 1:
        *names, last = choices
        raise ValueError(f"{kind}: expected exactly one of {', '.join(names)} and {last}, got {'several' if given else 'none'}")
    return given[0]


def broadcast_all(*values):
    """Tensors and numbers as tensors of one shape; numbers take the dtype and device of the first tensor, else the default dtype.

    Raises ValueError for anything that is neither.

    >>> torch.distributions.utils.broadcast_all(torch.zeros(2), 1.0)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    if not all(_is_tensor_like(v) or isinstance(v, Number) for v in values):
        raise ValueError(f"broadcast_all: expected tensors and numbers, got {', '.join(type(v).__name__ for v in values)}")
    first = next((v for v in values if isinstance(v, torch.Tensor)), None)
    options = {"dtype": torch.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    return torch.broadcast_tensors(*(v if _is_tensor_like(v) else torch.tensor(v, **options) for v in values))


def _standard_normal(shape, dtype, device):
    zeros = torch.zeros(shape, dtype=dtype, device=device)
    return torch.normal(zeros, zeros + 1)


def _sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape(*value.shape[:-dim], -1).sum(-1)


def logits_to_probs(logits, is_binary=False):
    """The sigmoid of log odds where `is_binary`, else the softmax of log probabilities over the last dimension.

    >>> torch.distributions.utils.logits_to_probs(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, -1)


def clamp_probs(probs):
    """Probabilities held within [eps, 1 - eps] of their dtype.

    >>> torch.distributions.utils.clamp_probs(torch.tensor([0.0, 0.5]))
    tensor([1.1921e-07, 5.0000e-01])
    """
    least = torch.finfo(probs.dtype).eps
    return torch.clamp(probs, least, 1 - least)


def probs_to_logits(probs, is_binary=False):
    """The log odds of probabilities where `is_binary`, else their logarithms; probabilities are clamped first.

    >>> torch.distributions.utils.probs_to_logits(torch.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    return row("_probabilities_to_logits")(probs, is_binary)


class lazy_property:
    """A method as an attribute that is computed at its first use.

    >>> class Squared:
    ...     def __init__(self, x):
    ...         self.x = x
    ...     @torch.distributions.utils.lazy_property
    ...     def y(self):
    ...         return self.x**2
    >>> Squared(3).y
    9
    """

    def __init__(self, wrapped):
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return _OfClass(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _OfClass(lazy_property, property):
    """Descriptor of a lazy property on its class: a property, to those who describe it."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat, diag=0):
    """The lower triangle of square matrices, row after row, as vectors.

    >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1, 0], [2, 3]]))
    tensor([1, 2, 3])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"tril_matrix_to_vec: diag is out of range, got {diag}, expected {-n} to {n - 1}")
    places = torch.arange(n, device=mat.device)
    return mat[..., places < places.view(-1, 1) + (diag + 1)]


def vec_to_tril_matrix(vec, diag=0):
    """Square matrices from vectors of their lower triangle, row after row.

    >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1, 2, 3]))
    tensor([[1, 0],
            [2, 3]])
    """
    count = vec.shape[-1]
    b = 1 + 2 * diag
    n = (-b + math.sqrt(b * b + 8 * count + 4 * abs(diag) * (diag + 1))) / 2
    size = round(n)
    if abs(n - size) > torch.finfo(torch.get_default_dtype()).eps:
        raise ValueError(f"vec_to_tril_matrix: no square matrix has {count} numbers in its lower triangle with diag {diag}")
    places = torch.arange(size, device=vec.device)
    matrix = vec.new_zeros((*vec.shape[:-1], size, size))
    matrix[..., places < places.view(-1, 1) + (diag + 1)] = vec
    return matrix


class _ProbsOrLogits:
    """A distribution that is given by chances `probs` or by log odds `logits`; the other one is computed at its first use."""

    def _keep_given(self, validate_args, probs, logits, **others):
        """Keeps the one of the two that is given, and `others` in its dtype, all of one shape."""
        name = only_one("distributions", probs=probs, logits=logits)
        *values, given = broadcast_all(*others.values(), probs if name == "probs" else logits)
        for other, value in zip(others, values, strict=True):
            setattr(self, other, value.type_as(given))
        self._take(name, given, validate_args)

    def _take(self, name, value, validate_args):
        setattr(self, name, value)
        super().__init__(value.size(), validate_args=validate_args)

    _param = property(lambda self: vars(self)["probs"] if "probs" in vars(self) else self.logits)
    param_shape = property(lambda self: self._param.size(), doc="The shape of what was given.")

    def _numbers_below(self, count, expand):
        return self._along_batch(torch.arange(count, dtype=self._param.dtype, device=self._param.device), expand)

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, True)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits, True)
