"""Reductions and normalisations of the elements that a mask selects; the others count as the operation's identity."""

import functools
import math

import cresset as torch

from .maskedtensor import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

__all__ = """MaskedTensor amax amin argmax argmin as_masked_tensor cumprod cumsum is_masked_tensor log_softmax logaddexp logsumexp masked_tensor mean median norm normalize prod softmax softmin std sum
var""".split()


def _dims(input, dim):
    """The dimensions that `dim` names, from the first one; all for None or an empty list."""
    if dim is None or dim == () or dim == []:
        return tuple(range(input.dim()))
    given, most = (int(dim),) if isinstance(dim, (int, torch.SymInt)) else tuple(dim), max(input.dim(), 1)
    for d in given:
        if not -most <= d < most:
            raise IndexError(f"dimension out of range, got {d}, expected a value in [{-most}, {most - 1}]")
    dims = sorted(d % most for d in given)
    if len({*dims}) < len(dims):
        raise RuntimeError(f"expected each dimension once, got {list(given)} for {input.dim()} dimensions")
    return tuple(dims) if input.dim() else ()


def _first(input, dim):
    """The dimension of an operation that takes one: of several, the first."""
    return (_dims(input, dim) or (0,))[0]


def _where(mask, input, value):
    """The input with `value` where the mask is false."""
    if mask is None:
        return input
    if mask.dim() > input.dim():
        raise IndexError(f"masked operation: expected a mask of at most {input.dim()} dimensions, got {mask.dim()}")
    return torch.where(mask.to(torch.bool), input, torch.full((), value, dtype=input.dtype, device=input.device))


def _of_any_layout(operation):
    """The operation on sparse tensors too: of dense ones, in the layout of the input. Elements that are not there are zeros of the input,
    and false in a mask."""

    @functools.wraps(operation)
    def of_any_layout(input, *args, mask=None, **kwargs):
        if mask is not None and mask.layout is not torch.strided:
            mask = mask.to_dense()
        kwargs = kwargs if mask is None else {**kwargs, "mask": mask}
        if input.layout is torch.strided:
            return operation(input, *args, **kwargs)
        return operation(input.to_dense(), *args, **kwargs).to_sparse(layout=input.layout)

    return of_any_layout


def _count(input, mask, dims, keepdim):
    ones = torch.ones(input.shape, dtype=torch.int64, device=input.device)
    ones = ones if mask is None else _where(mask.expand(input.shape), ones, 0)
    return ones.sum(dims, keepdim=keepdim) if dims else ones


def _extreme(name, dtype, least):
    if dtype.is_floating_point:
        return -math.inf if least else math.inf
    if dtype.is_complex or dtype == torch.bool:
        raise NotImplementedError(f"identity of {name} on {dtype} input")
    info = torch.iinfo(dtype)
    return info.min if least else info.max


def _is_integral(dtype):
    return not (dtype.is_floating_point or dtype.is_complex)


def _input_mask(input, *args, **kwargs):
    """Which elements of the input take part."""
    mask = kwargs.get("mask")
    ones = torch.ones(input.shape, dtype=torch.bool, device=input.device)
    return ones if mask is None else mask.to(torch.bool).expand(input.shape)


def _combine_input_and_mask(op, input, mask, *args):
    """The input as a reduction `op` takes it: with what changes no result where the mask is false."""
    name = op.__name__
    if name in ("amax", "argmax", "amin", "argmin"):
        return _where(mask, input, _extreme(name, input.dtype, name.endswith("max")))
    return _where(mask, input, 1 if name in ("prod", "cumprod") else 0)


def _output_mask(op, input, *args, **kwargs):
    """Which results depend on any element that takes part."""
    mask = _input_mask(input, *args, **kwargs)
    if op.__name__ in ("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod"):
        return mask
    position = 1 if op.__name__ == "norm" else 0
    dim = args[position] if len(args) > position else kwargs.get("dim", -1 if op.__name__ == "median" else None)
    dims = (_first(input, dim),) if op.__name__ == "median" else _dims(input, dim)
    return mask.any(dims, keepdim=bool(kwargs.get("keepdim", False))) if dims else mask


@_of_any_layout
def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sums of the elements that `mask` selects, of all or along `dim`.

    >>> torch.masked.sum(torch.tensor([1.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    dtype = dtype or (torch.int64 if _is_integral(input.dtype) else input.dtype)
    dims, kept = _dims(input, dim), _where(mask, input.to(dtype), 0)
    return kept.sum(dims, keepdim=keepdim) if dims else kept.clone()


@_of_any_layout
def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The products of the elements that `mask` selects, of all or along `dim`.

    >>> torch.masked.prod(torch.tensor([1.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor(4.)
    """
    dtype = dtype or (torch.int64 if _is_integral(input.dtype) else input.dtype)
    kept = _where(mask, input.to(dtype), 1)
    for d in sorted(_dims(input, dim), reverse=True):
        kept = kept.prod(d, keepdim=keepdim)
    return kept


@_of_any_layout
def cumsum(input, dim, *, dtype=None, mask=None):
    """The sums up to each place along `dim` of the elements that `mask` selects.

    >>> torch.masked.cumsum(torch.tensor([1.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 5.])
    """
    dtype = dtype or input.dtype
    return _where(mask, input.to(dtype), 0).cumsum(_first(input, dim), dtype=dtype)


@_of_any_layout
def cumprod(input, dim, *, dtype=None, mask=None):
    """The products up to each place along `dim` of the elements that `mask` selects.

    >>> torch.masked.cumprod(torch.tensor([1.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 4.])
    """
    dtype = dtype or input.dtype
    return _where(mask, input.to(dtype), 1).cumprod(_first(input, dim), dtype=dtype)


def _extremum(name, least):
    def reduction(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        dtype = dtype or input.dtype
        value = _extreme(name, dtype, least)
        dims, kept = _dims(input, dim), _where(mask, input.to(dtype), value)
        return getattr(kept, name)(dims, keepdim=keepdim) if dims else kept.clone()

    def place(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        dtype = dtype or input.dtype
        kept = _where(mask, input, _extreme(name, input.dtype, least))
        return getattr(kept, "argmax" if least else "argmin")(dim, keepdim=keepdim).to(dtype)

    reduction.__name__ = reduction.__qualname__ = name
    place.__name__ = place.__qualname__ = "argmax" if least else "argmin"
    which = "largest" if least else "smallest"
    call = "(torch.tensor([1, 5, 4]), 0, mask=torch.tensor([True, False, True]))"
    reduction.__doc__ = f"""The {which} of the elements that `mask` selects, of all or along `dim`.

    >>> torch.masked.{name}{call}
    tensor({4 if least else 1})
    """
    place.__doc__ = f"""The position of the {which} of the elements that `mask` selects.

    >>> torch.masked.{place.__name__}{call}
    tensor({2 if least else 0})
    """
    return _of_any_layout(reduction), _of_any_layout(place)


amax, argmax = _extremum("amax", True)
amin, argmin = _extremum("amin", False)


@_of_any_layout
def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The means of the elements that `mask` selects, of all or along `dim`.

    >>> torch.masked.mean(torch.tensor([1.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor(2.5000)
    """
    dtype = dtype or input.dtype
    if _is_integral(dtype):
        raise ValueError(f"mean: expected a floating or complex dtype, got {dtype}")
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, mask, _dims(input, dim), keepdim)


@_of_any_layout
def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The median of the elements that `mask` selects, along `dim`.

    >>> torch.masked.median(torch.tensor([1.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor(1.)
    """
    dtype = dtype or input.dtype
    x = input.to(dtype)
    if mask is None:
        return x.median(_first(input, dim), keepdim=keepdim).values
    if not dtype.is_floating_point:
        if (_count(input, mask, (_first(input, dim),), False) == 0).any():
            raise ValueError("median: a row is masked as a whole, which only floating dtypes allow")
        return _where(mask, x.to(torch.float64), math.nan).nanmedian(_first(input, dim), keepdim=keepdim).values.to(dtype)
    return _where(mask, x, math.nan).nanmedian(_first(input, dim), keepdim=keepdim).values


@_of_any_layout
def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log(sum(exp(x))) over the elements that `mask` selects.

    >>> torch.masked.logsumexp(torch.tensor([0.0, 9.0]), 0, mask=torch.tensor([True, False]))
    tensor(0.)
    """
    x = input.to(dtype or input.dtype)
    value = -math.inf if not _is_integral(x.dtype) else torch.iinfo(x.dtype).min
    dims, kept = _dims(input, dim), _where(mask, x, value)
    return torch.logsumexp(kept, dims or 0, keepdim=keepdim).to(x.dtype) if dims or x.dim() == 0 else kept.clone()


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(a) + exp(b)) of the elements that the masks select.

    >>> torch.masked.logaddexp(torch.tensor([0.0]), torch.tensor([0.0]))
    tensor([0.6931])
    """
    dtype = dtype or input.dtype
    return torch.logaddexp(_where(input_mask, input.to(dtype), -math.inf), _where(other_mask, other.to(dtype), -math.inf))


@_of_any_layout
def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The `ord`-norm of the elements that `mask` selects, of all or along `dim`.

    >>> torch.masked.norm(torch.tensor([3.0, 9.0, 4.0]), 2, 0, mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    x = input.to(dtype or input.dtype)
    if _is_integral(x.dtype):
        raise RuntimeError(f"norm: expected a floating or complex dtype, got {x.dtype}")
    kept = _where(mask, x, math.inf if ord < 0 else 0)
    return torch.linalg.vector_norm(kept, ord, _dims(input, dim), keepdim)


@_of_any_layout
def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements that `mask` selects; `unbiased` divides by the count less one.

    >>> torch.masked.var(torch.tensor([1.0, 9.0, 3.0]), 0, False, mask=torch.tensor([True, False, True]))
    tensor(1.)
    """
    if unbiased is not None and correction is not None:
        raise ValueError("var: expected unbiased or correction, not both")
    correction = (1 if unbiased is None or unbiased else 0) if correction is None else correction
    dtype = dtype or (torch.float32 if _is_integral(input.dtype) else input.dtype)
    dims, x = _dims(input, dim), input.to(dtype)
    if mask is None:
        return x.var(dims or None, correction=correction, keepdim=keepdim).to(dtype)
    count = _count(input, mask, dims, True)
    centred = _where(mask, x - sum(x, dim, keepdim=True, mask=mask) / count, 0)
    total = (centred * centred.conj()).real if dtype.is_complex else centred * centred
    total = total.sum(dims, keepdim=keepdim) if dims else total
    count = count if keepdim or not dims else count.sum(dims)
    rest = count - correction
    return (total / torch.maximum(rest, torch.zeros_like(rest))).to(dtype)


@_of_any_layout
def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of the elements that `mask` selects; `unbiased` divides by the count less one.

    >>> torch.masked.std(torch.tensor([1.0, 9.0, 3.0]), 0, False, mask=torch.tensor([True, False, True]))
    tensor(1.)
    """
    return torch.sqrt(var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask))


@_of_any_layout
def softmax(input, dim, *, dtype=None, mask=None):
    """The softmax along `dim` of the elements that `mask` selects.

    >>> torch.masked.softmax(torch.tensor([0.0, 9.0, 0.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return torch.softmax(_where(mask, input.to(dtype or input.dtype), -math.inf), _first(input, dim))


@_of_any_layout
def log_softmax(input, dim, *, dtype=None, mask=None):
    """The logarithm of the softmax along `dim` of the elements that `mask` selects.

    >>> torch.masked.log_softmax(torch.tensor([0.0, 0.0]), 0, mask=torch.tensor([True, True]))
    tensor([-0.6931, -0.6931])
    """
    return torch.log_softmax(_where(mask, input.to(dtype or input.dtype), -math.inf), _first(input, dim))


@_of_any_layout
def softmin(input, dim, *, dtype=None, mask=None):
    """The softmax of the negatives along `dim` of the elements that `mask` selects.

    >>> torch.masked.softmin(torch.tensor([0.0, -9.0, 0.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return torch.softmax(-_where(mask, input.to(dtype or input.dtype), math.inf), _first(input, dim))


@_of_any_layout
def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The elements that `mask` selects, divided by their `ord`-norm along `dim`.

    >>> torch.masked.normalize(torch.tensor([3.0, 9.0, 4.0]), 2.0, 0, mask=torch.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    x = _where(mask, input.to(dtype or input.dtype), 0)
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return x / torch.maximum(size, torch.full((), eps, dtype=size.dtype, device=size.device))
