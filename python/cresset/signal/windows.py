"""Windows: M samples, symmetric or, with sym=False, one period of M + 1 without the last."""

import math

import cresset as torch

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser", "nuttall"]


def _options(name, M, dtype, layout):
    if M < 0:
        raise ValueError(f"{name}: expected M of at least 0, got M={M}")
    if layout != torch.strided:
        raise ValueError(f"{name}: expected the strided layout, got {layout}")
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name}: expected float32 or float64, got {dtype}")
    return dtype


def _window(name, M, sym, dtype, layout, device, requires_grad, positions, values):
    """values(k) at M evenly spaced numbers k; positions(n): the first and the distance, where n counts the samples of a symmetric window."""
    dtype = _options(name, M, dtype, layout)
    if M <= 1:
        return torch.ones((M,), dtype=dtype, device=device, requires_grad=requires_grad)
    first, distance = positions(M if sym else M + 1)
    k = torch.linspace(first, first + (M - 1) * distance, M, dtype=dtype, device=device)
    return values(k).requires_grad_(requires_grad)


def _cosines(name, M, sym, dtype, layout, device, requires_grad, coefficients):
    def values(k):
        orders = torch.arange(len(coefficients), dtype=k.dtype, device=k.device).unsqueeze(-1)
        signed = torch.tensor([(-1) ** i * a for i, a in enumerate(coefficients)], dtype=k.dtype, device=k.device).unsqueeze(-1)
        return (signed * torch.cos(orders * k)).sum(0)

    return _window(name, M, sym, dtype, layout, device, requires_grad, lambda n: (0.0, 2 * math.pi / (n - 1)), values)


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """exp(-abs(k - center) / tau), the centre being the middle. ValueError for a negative M, a tau that is not positive, or a center given for a
    symmetric window.

    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    _options("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"exponential: expected tau above 0, got {tau}")
    if center is not None and sym:
        raise ValueError("symmetric windows take no center")

    def positions(n):
        return -((n - 1) / 2 if center is None else center) / tau, 1 / tau

    return _window("exponential", M, sym, dtype, layout, device, requires_grad, positions, lambda k: torch.exp(-torch.abs(k)))


def cosine(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """sin(pi * (k + 1/2) / M). ValueError for a negative M.

    >>> torch.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return _window("cosine", M, sym, dtype, layout, device, requires_grad, lambda n: (math.pi / n / 2, math.pi / n), torch.sin)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """exp(-((k - middle) / std)² / 2). ValueError for a negative M or a deviation that is not positive.

    >>> torch.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    _options("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"gaussian: expected std above 0, got {std}")

    def positions(n):
        distance = 1 / (std * math.sqrt(2))
        return -(n - 1) / 2 * distance, distance

    return _window("gaussian", M, sym, dtype, layout, device, requires_grad, positions, lambda k: torch.exp(-(k**2)))


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """The window of Bessel functions that `beta` narrows. ValueError for a negative M or beta.

    >>> torch.signal.windows.kaiser(3)
    tensor([5.2773e-05, 1.0000e+00, 5.2773e-05])
    """
    _options("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"kaiser: expected beta of at least 0, got {beta}")

    def values(k):
        return torch.i0(torch.sqrt((beta * beta - k * k).clamp(min=0))) / torch.i0(torch.tensor(beta, dtype=k.dtype))

    return _window("kaiser", M, sym, dtype, layout, device, requires_grad, lambda n: (-beta, 2 * beta / (n - 1)), values)


def general_cosine(M, *, a, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """The sum of cosines with the coefficients `a` and alternating signs. ValueError for a negative M or no coefficients, TypeError for
    anything but a list or tuple of them.

    >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    _options("general_cosine", M, dtype, layout)
    if not isinstance(a, (list, tuple)):
        raise TypeError(f"general_cosine: expected a list or tuple of coefficients, got {type(a).__name__}")
    if not a:
        raise ValueError("general_cosine: expected coefficients, got none")
    return _cosines("general_cosine", M, sym, dtype, layout, device, requires_grad, a)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """alpha - (1 - alpha) * cos(2 * pi * k / (M - 1)). ValueError for a negative M.

    >>> torch.signal.windows.general_hamming(3, alpha=0.6)
    tensor([0.2000, 1.0000, 0.2000])
    """
    return _cosines("general_hamming", M, sym, dtype, layout, device, requires_grad, [alpha, 1 - alpha])


def hamming(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """`general_hamming` with alpha 0.54. ValueError for a negative M.

    >>> torch.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _cosines("hamming", M, sym, dtype, layout, device, requires_grad, [0.54, 0.46])


def hann(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """`general_hamming` with alpha 0.5. ValueError for a negative M.

    >>> torch.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _cosines("hann", M, sym, dtype, layout, device, requires_grad, [0.5, 0.5])


def blackman(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """The cosine window of coefficients 0.42, 0.5 and 0.08. ValueError for a negative M.

    >>> torch.signal.windows.blackman(5)
    tensor([-1.4901e-08,  3.4000e-01,  1.0000e+00,  3.4000e-01, -1.4901e-08])
    """
    return _cosines("blackman", M, sym, dtype, layout, device, requires_grad, [0.42, 0.5, 0.08])


def bartlett(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """A triangle from 0 to 1 and back. ValueError for a negative M.

    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window("bartlett", M, sym, dtype, layout, device, requires_grad, lambda n: (-1.0, 2 / (n - 1)), lambda k: 1 - torch.abs(k))


def nuttall(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """The cosine window of four coefficients with the smallest side lobes. ValueError for a negative M.

    >>> torch.signal.windows.nuttall(3)
    tensor([3.6280e-04, 1.0000e+00, 3.6280e-04])
    """
    return _cosines("nuttall", M, sym, dtype, layout, device, requires_grad, [0.3635819, 0.4891775, 0.1365995, 0.0106411])
