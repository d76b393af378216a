"""References of the rows of fft, with NumPy's transforms in double precision."""

import numpy as np

DEFAULT = np.dtype(np.float32)


def _real(x):
    """The dtype of the real numbers that go with x."""
    return x.real.dtype if x.dtype.kind in "fc" else DEFAULT


def _complex(x):
    return np.dtype(f"c{2 * _real(x).itemsize}")


def _plain(x):
    return np.asarray(x).astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _one(transform, real):
    def reference(x, n=None, dim=-1, norm=None):
        return transform(_plain(x), n, dim, norm).astype(_real(x) if real else _complex(x))

    return reference


fft, ifft = _one(np.fft.fft, False), _one(np.fft.ifft, False)
rfft, ihfft = _one(np.fft.rfft, False), _one(np.fft.ihfft, False)
irfft, hfft = _one(np.fft.irfft, True), _one(np.fft.hfft, True)


def _several(first, rest, real, last_first):
    """The transform `first` along the last dimension and `rest` along the others; last_first: in this order."""

    def reference(x, s=None, dim=None, norm=None):
        if dim is None:
            dim = range(x.ndim - len(s), x.ndim) if s is not None else range(x.ndim)
        dim = list(dim)
        lengths = [None if s is None or s[i] == -1 else s[i] for i in range(len(dim))]
        steps = [(first, dim[-1], lengths[-1])]
        others = [(rest, d, n) for d, n in zip(dim[:-1], lengths[:-1], strict=True)]
        y = _plain(x)
        for transform, d, n in steps + others if last_first else others + steps:
            y = transform(y, n, d, norm)
        return y.astype(_real(x) if real else _complex(x))

    return reference


fftn = _several(np.fft.fft, np.fft.fft, False, True)
ifftn = _several(np.fft.ifft, np.fft.ifft, False, True)
rfftn = _several(np.fft.rfft, np.fft.fft, False, True)
irfftn = _several(np.fft.irfft, np.fft.ifft, True, False)
hfftn = _several(np.fft.hfft, np.fft.fft, True, False)
ihfftn = _several(np.fft.ihfft, np.fft.ifft, False, True)


def _two(several):
    return lambda x, s=None, dim=(-2, -1), norm=None: several(x, s, dim, norm)


fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = map(_two, (fftn, ifftn, rfftn, irfftn, hfftn, ihfftn))

# How NumPy calls no factor, the root's and the count's, for either direction.
_FORWARD, _INVERSE = ("backward", "ortho", "forward"), ("forward", "ortho", "backward")


def _fft_c2c(x, dim, normalization, forward):
    return fftn(x, None, dim, _FORWARD[normalization]) if forward else ifftn(x, None, dim, _INVERSE[normalization])


def _fft_r2c(x, dim, normalization, onesided):
    return (rfftn if onesided else fftn)(x, None, dim, _FORWARD[normalization])


def _fft_c2r(x, dim, normalization, last_dim_size):
    lengths = [-1] * (len(dim) - 1) + [last_dim_size]
    return irfftn(x, lengths, dim, _INVERSE[normalization])


def fftfreq(n, d=1.0, dtype=DEFAULT):
    return np.fft.fftfreq(n, d).astype(dtype)


def rfftfreq(n, d=1.0, dtype=DEFAULT):
    return np.fft.rfftfreq(n, d).astype(dtype)


def fftshift(x, dim=None):
    return np.fft.fftshift(np.asarray(x), dim)


def ifftshift(x, dim=None):
    return np.fft.ifftshift(np.asarray(x), dim)


def _middle(window, length, n):
    """A window in the middle of n places."""
    placed = np.zeros(n, np.complex128)
    left = (n - length) // 2
    placed[left : left + length] = 1 if window is None else window
    return placed


def stft(x, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False, onesided=None,
         return_complex=None, align_to_window=None):  # fmt: skip
    hop, length = hop_length or n_fft // 4, win_length or n_fft
    factors = _middle(window, length, n_fft)
    rows = np.atleast_2d(_plain(x)).astype(np.complex128)
    if center:
        rows = np.pad(rows, ((0, 0), (n_fft // 2,) * 2), mode=pad_mode)
    if align_to_window:
        rows = np.pad(rows, ((0, 0), ((n_fft - length) // 2, n_fft - length - (n_fft - length) // 2)))
    starts = range(0, rows.shape[1] - n_fft + 1, hop)
    spectra = np.stack([np.fft.fft(rows[:, s : s + n_fft] * factors, norm="ortho" if normalized else None) for s in starts], axis=2)
    if x.dtype.kind == "f" and onesided is not False:
        spectra = spectra[:, : n_fft // 2 + 1]
    spectra = spectra.astype(_complex(x))
    spectra = spectra if x.ndim == 2 else spectra[0]
    return spectra if return_complex is not False else np.stack([spectra.real, spectra.imag], axis=-1)


def istft(x, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None, return_complex=False):
    hop, width = hop_length or n_fft // 4, win_length or n_fft
    factors = _middle(window, width, n_fft)
    spectra = _plain(x) if x.ndim == 3 else _plain(x)[None]
    frames = spectra.shape[2]
    norm = "ortho" if normalized else None
    total = np.zeros((spectra.shape[0], n_fft + hop * (frames - 1)), np.complex128)
    envelope = np.zeros(total.shape[1], np.complex128)
    for t in range(frames):
        piece = np.fft.ifft(spectra[:, :, t], norm=norm) if return_complex else np.fft.irfft(spectra[:, :, t], n_fft, norm=norm)
        total[:, t * hop : t * hop + n_fft] += piece * factors
        envelope[t * hop : t * hop + n_fft] += factors**2
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total.shape[1] - start
    result = (
        (total[:, start:end] / envelope[start:end])
        if end <= total.shape[1]
        else np.pad(total[:, start:] / envelope[start:], ((0, 0), (0, end - total.shape[1])))
    )
    result = result if return_complex else result.real
    return (result if x.ndim == 3 else result[0]).astype(_complex(x) if return_complex else _real(x))


def _window(values):
    def reference(length, periodic=True, *factors, dtype=DEFAULT):
        if length <= 1:
            return np.ones(length, dtype)
        n = length + periodic
        return values(np.arange(n), n - 1, *factors)[:length].astype(dtype)

    return reference


bartlett_window = _window(lambda k, m: 1 - abs(2 * k / m - 1))
blackman_window = _window(lambda k, m: 0.42 - 0.5 * np.cos(2 * np.pi * k / m) + 0.08 * np.cos(4 * np.pi * k / m))
hann_window = _window(lambda k, m: 0.5 - 0.5 * np.cos(2 * np.pi * k / m))
hamming_window = _window(lambda k, m, alpha=0.54, beta=0.46: alpha - beta * np.cos(2 * np.pi * k / m))
kaiser_window = _window(lambda k, m, beta=12.0: np.i0(beta * np.sqrt(np.maximum(1 - (2 * k / m - 1) ** 2, 0))) / np.i0(beta))
