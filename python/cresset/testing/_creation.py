"""Tensors of random values for tests."""

import collections.abc
import math
import warnings

import cresset as torch


def make_tensor(*shape, dtype, device, low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False, memory_format=None):
    """A tensor of random values in [low, high).

    Args:
        shape: the sizes, as ints or one sequence.
        dtype, device: of the result.
        low, high: the range; by default [-9, 9] for floating and complex, [-9, 10) for signed and [0, 10) for unsigned dtypes. For complex
            dtypes of the real and of the imaginary part.
        requires_grad: whether the result records its gradient.
        noncontiguous: the result has gaps in memory (where it has more than one element).
        exclude_zero: zeros are replaced by the smallest positive number of the dtype (1 for integers).
        memory_format: of the result; not together with `noncontiguous`.
    Raises:
        ValueError: low > high, low == high for integers, a bound that is NaN, or both of `noncontiguous` and `memory_format`.

    >>> torch.testing.make_tensor(2, 3, dtype=torch.int64, device="cpu", low=0, high=5).shape
    torch.Size([2, 3])
    """
    inexact = dtype.is_floating_point or dtype.is_complex
    match shape:
        case [collections.abc.Sequence() as sizes]:
            shape = tuple(sizes)
    if memory_format is not None and noncontiguous:
        raise ValueError(f"make_tensor: expected noncontiguous or memory_format, got both, {memory_format}")
    if requires_grad and not inexact:
        raise ValueError(f"make_tensor: expected a floating or complex dtype with requires_grad, got {dtype}")
    if noncontiguous and math.prod(shape) > 1:
        shape = (*shape[:-1], 2 * shape[-1]) if shape else shape

    if dtype == torch.bool:
        low, high = _range(dtype, low, high, 0, 2, 0, 2)
        result = torch.randint(math.ceil(low), math.ceil(high), shape, dtype=dtype, device=device)
    elif inexact:
        limits = torch.finfo(dtype)
        low, high = _range(dtype, low, high, -9, 9, limits.min, limits.max)
        real = dtype.to_real()
        drawn = torch.float32 if real.itemsize == 1 else real
        flat = torch.empty((*shape, 2) if dtype.is_complex else shape, device=device, dtype=drawn).uniform_(low, high).to(real)
        result = torch.view_as_complex(flat).clone() if dtype.is_complex else flat
    else:
        limits = torch.iinfo(dtype)
        low, high = _range(dtype, low, high, -9 if dtype.is_signed else 0, 10, limits.min, limits.max + 1)
        result = torch.randint(math.ceil(low), min(math.ceil(high), 2**63 - 1), shape, device=device, dtype=dtype)

    if noncontiguous and result.numel() > 1:
        result = result[..., ::2]
    elif memory_format:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = torch.finfo(dtype).tiny if inexact else 1
    if requires_grad:
        result.requires_grad_()
    return result


def _range(dtype, low, high, default_low, default_high, least, most):
    low = default_low if low is None else low
    high = default_high if high is None else high
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (low, high)):
        raise ValueError(f"make_tensor: expected bounds that are numbers, got {low} and {high}")
    inexact = dtype.is_floating_point or dtype.is_complex
    if inexact and low == high:
        warnings.warn("make_tensor: low == high is deprecated for floating-point and complex dtypes; use torch.full", FutureWarning, stacklevel=3)
    elif low >= high:
        raise ValueError(f"make_tensor: expected low < high, got low={low} and high={high}")
    if high < least or low > most:
        raise ValueError(f"The range [{low}, {high}) lies outside the values of {dtype}, which are {least} to {most}")
    return max(low, least), min(high, most)
