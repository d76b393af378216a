"""Windows: M samples, symmetric or, with sym=False, one period of M + 1 without the last."""

import math

import cresset as torch

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser", "nuttall"]


def _options(name, M, dtype, layout):
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not torch.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    dtype = dtype or torch.get_default_dtype()
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return dtype


def _window(name, M, sym, dtype, layout, device, requires_grad, values):
    """values(k, n): the window at the positions k of 0 .. n - 1, where n counts the samples of a symmetric window."""
    dtype = _options(name, M, dtype, layout)
    if M <= 1:
        return torch.ones((M,), dtype=dtype, device=device, requires_grad=requires_grad)
    k = torch.arange(M, dtype=dtype, device=device)
    window = values(k, M if sym else M + 1).to(dtype)
    return window.requires_grad_(requires_grad)


def _cosines(coefficients):
    def values(k, n):
        angle = k * (2 * math.pi / (n - 1))
        return sum((-1) ** i * a * torch.cos(i * angle) for i, a in enumerate(coefficients))

    return values


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    _options("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return _window("exponential", M, sym, dtype, layout, device, requires_grad,
                   lambda k, n: torch.exp(-torch.abs(k - ((n - 1) / 2 if center is None else center)) / tau))  # fmt: skip


def cosine(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    return _window("cosine", M, sym, dtype, layout, device, requires_grad, lambda k, n: torch.sin((k + 0.5) * (math.pi / n)))


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    _options("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _window("gaussian", M, sym, dtype, layout, device, requires_grad,
                   lambda k, n: torch.exp(-(((k - (n - 1) / 2) / (std * math.sqrt(2))) ** 2)))  # fmt: skip


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    _options("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def values(k, n):
        inside = (1 - (2 * k / (n - 1) - 1) ** 2).clamp(min=0)
        return torch.i0(beta * torch.sqrt(inside)) / torch.i0(torch.tensor(beta, dtype=k.dtype))

    return _window("kaiser", M, sym, dtype, layout, device, requires_grad, values)


def general_cosine(M, *, a, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    _options("general_cosine", M, dtype, layout)
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _window("general_cosine", M, sym, dtype, layout, device, requires_grad, _cosines(a))


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    return _window("general_hamming", M, sym, dtype, layout, device, requires_grad, _cosines([alpha, 1 - alpha]))


def hamming(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    return _window("hamming", M, sym, dtype, layout, device, requires_grad, _cosines([0.54, 0.46]))


def hann(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    return _window("hann", M, sym, dtype, layout, device, requires_grad, _cosines([0.5, 0.5]))


def blackman(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    return _window("blackman", M, sym, dtype, layout, device, requires_grad, _cosines([0.42, 0.5, 0.08]))


def bartlett(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    return _window("bartlett", M, sym, dtype, layout, device, requires_grad, lambda k, n: 1 - torch.abs(2 * k / (n - 1) - 1))


def nuttall(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    return _window("nuttall", M, sym, dtype, layout, device, requires_grad, _cosines([0.3635819, 0.4891775, 0.1365995, 0.0106411]))
