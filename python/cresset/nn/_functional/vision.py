"""Convolution, pooling, padding, patches and resizing."""

import warnings

import cresset as torch

from ... import _operators as ops

conv_transpose1d, conv_transpose2d, conv_transpose3d = (ops[f"conv_transpose{n}d"] for n in (1, 2, 3))
conv1d, conv2d, conv3d = (ops[f"conv{n}d"] for n in (1, 2, 3))
conv_tbc = ops["conv_tbc"]
avg_pool1d, avg_pool2d, avg_pool3d = (ops[f"avg_pool{n}d"] for n in (1, 2, 3))
_MODES = ("constant", "reflect", "replicate", "circular")


def pad(input, pad, mode="constant", value=None):
    """Pads the last dimensions: (left, right, top, bottom, ...). Modes constant, reflect, replicate, circular.

    >>> F.pad(torch.ones(1, 2), (1, 1)).tolist()
    [[0.0, 1.0, 1.0, 0.0]]
    """
    if mode not in _MODES:
        raise NotImplementedError(f"pad: unrecognised padding mode {mode}")
    return ops["pad"](input, list(pad), mode, value)


def _all(value, n):
    return [value] * n if isinstance(value, (int, torch.SymInt)) else list(value)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The patches under a sliding window of (N, C, H, W), as columns of (N, C·∏kernel, L).

    >>> F.unfold(torch.ones(1, 2, 3, 4), (2, 3)).shape
    torch.Size([1, 12, 4])
    """
    return ops["im2col"](input, kernel_size, dilation, padding, stride)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Adds patches, columns of (N, C·∏kernel, L), into images (N, C, *output_size).

    >>> F.fold(torch.ones(1, 8, 12), (4, 5), (2, 2)).shape
    torch.Size([1, 2, 4, 5])
    """
    return ops["col2im"](input, output_size, kernel_size, dilation, padding, stride)


# ---- pooling --------------------------------------------------------------------------------------------------------------


def _described(function, name, text):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def _pooling(n):
    sizes = {1: "(N, C, L)", 2: "(N, C, H, W)", 3: "(N, C, D, H, W)"}[n]
    ones = f"torch.ones(1, 2{', 4' * n})"
    half, whole = f"torch.Size([1, 2{', 2' * n}])", f"torch.Size([1, 2{', 3' * n}])"

    def max_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        name = f"max_pool{n}d_with_indices" if return_indices else f"max_pool{n}d"
        found = ops[name](input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)
        return tuple(found) if return_indices else found

    def max_pool_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    def output_sizes(input, given):
        if isinstance(given, (int, torch.SymInt)):
            return given
        wanted = _all(given, n)
        if len(wanted) >= input.dim():
            raise ValueError(f"adaptive pooling: got {len(wanted)} output sizes for an input of shape {tuple(input.shape)}")
        return [input.shape[i - n] if s is None else s for i, s in enumerate(wanted)]

    def adaptive_max_pool(input, output_size, return_indices=False):
        values, indices = ops[f"adaptive_max_pool{n}d"](input, output_sizes(input, output_size))
        return (values, indices) if return_indices else values

    def adaptive_max_pool_with_indices(input, output_size, return_indices=False):
        return adaptive_max_pool(input, output_size, True)

    def adaptive_avg_pool(input, output_size):
        return ops[f"adaptive_avg_pool{n}d"](input, output_sizes(input, output_size))

    def lp_pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        kernel = _all(kernel_size, n)
        return ops["lp_pool"](input, norm_type, kernel, kernel if stride is None else _all(stride, n), ceil_mode)

    def max_unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel, sides = _all(kernel_size, n), _all(padding, n)
        steps = kernel if stride is None else _all(stride, n)
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(f"max_unpool{n}d: expected {n + 1} or {n + 2} dimensions, got {tuple(input.shape)}")
        if input.shape != indices.shape:
            raise RuntimeError(f"max_unpool{n}d: indices of shape {tuple(indices.shape)}, expected the input's {tuple(input.shape)}")
        if len(kernel) != n or len(steps) != n or len(sides) != n:
            raise RuntimeError(f"max_unpool{n}d: expected {n} values each in kernel_size, stride and padding, got {kernel}, {steps} and {sides}")
        usual = [(s - 1) * step + k - 2 * side for s, step, k, side in zip(input.shape[-n:], steps, kernel, sides, strict=True)]
        if output_size is None:
            output_size = usual
        else:
            output_size = list(output_size)[-n:] if len(output_size) == input.dim() else list(output_size)
            if len(output_size) != n:
                raise ValueError(f"max_unpool{n}d: output_size should be a sequence of {n} or {input.dim()} elements, got {len(output_size)}")
            for d, (size, expected, step) in enumerate(zip(output_size, usual, steps, strict=True)):
                if not expected - step < size < expected + step:
                    raise ValueError(f"max_unpool{n}d: output_size[{d}] should be between {expected - step} and {expected + step}, got {size}")
        if n == 1:
            return ops["max_unpool2d"](input.unsqueeze(-2), indices.unsqueeze(-2), [1, *output_size]).squeeze(-2)
        return ops["max_unpool2d"](input, indices, output_size) if n == 2 else ops["max_unpool3d"](input, indices, output_size, steps, sides)

    return (
        _described(max_pool, f"max_pool{n}d", f"""The largest value of every window of {sizes}; with return_indices where it was.

    >>> F.max_pool{n}d({ones}, 2).shape
    {half}
    """),
        _described(max_pool_with_indices, f"max_pool{n}d_with_indices", f"""`max_pool{n}d` with the places of the values.

    >>> len(F.max_pool{n}d_with_indices({ones}, 2))
    2
    """),
        _described(adaptive_max_pool, f"adaptive_max_pool{n}d", f"""The largest value of windows so that {sizes} gets `output_size`.

    >>> F.adaptive_max_pool{n}d({ones}, 3).shape
    {whole}
    """),
        _described(adaptive_max_pool_with_indices, f"adaptive_max_pool{n}d_with_indices", f"""`adaptive_max_pool{n}d` with the places.

    >>> len(F.adaptive_max_pool{n}d_with_indices({ones}, 3))
    2
    """),
        _described(adaptive_avg_pool, f"adaptive_avg_pool{n}d", f"""The mean of windows so that {sizes} gets `output_size`.

    >>> F.adaptive_avg_pool{n}d({ones}, 3).shape
    {whole}
    """),
        _described(lp_pool, f"lp_pool{n}d", f"""The p-norm of every window of {sizes}.

    >>> F.lp_pool{n}d({ones}, 2.0, 2).shape
    {half}
    """),
        _described(max_unpool, f"max_unpool{n}d", f"""Puts the values of `max_pool{n}d` back where its indices say, zeros elsewhere.

    >>> F.max_unpool{n}d(*F.max_pool{n}d({ones}, 2, return_indices=True), 2).shape
    torch.Size([1, 2{", 4" * n}])
    """),
    )  # fmt: skip


for _n in (1, 2, 3):
    globals().update({_f.__name__: _f for _f in _pooling(_n)})


def _fractional(n):
    def fractional_max_pool(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        if output_size is None and output_ratio is None:
            raise ValueError(f"fractional_max_pool{n}d: expected an output_size or an output_ratio, got none")
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(f"fractional_max_pool{n}d: expected {n + 1} or {n + 2} dimensions, got {tuple(input.shape)}")
        for name, given in (("kernel_size", kernel_size), ("output_size", output_size)):
            if isinstance(given, (tuple, list)) and len(given) != n:
                raise RuntimeError(f"fractional_max_pool{n}d: expected {name} to be a number or {n} of them, got {given}")
        kernel, sizes = _all(kernel_size, n), input.shape[-n:]
        if output_size is None:
            ratio = [output_ratio] * n if isinstance(output_ratio, float) else list(output_ratio)
            output_size = [int(size * r) for size, r in zip(sizes, ratio, strict=True)]
        wanted = _all(output_size, n)
        if _random_samples is None:
            batch = input.shape[0] if input.dim() == n + 2 else 1
            _random_samples = torch.rand((batch, input.shape[-n - 1], n), dtype=input.dtype, device=input.device)
        values, indices = ops[f"fractional_max_pool{n}d"](input, kernel, wanted, _random_samples)
        return (values, indices) if return_indices else values

    return _described(fractional_max_pool, f"fractional_max_pool{n}d", f"""The largest value of windows whose places are drawn so that the output has
    `output_size`, or `output_ratio` of the input's size. ValueError when neither is given, RuntimeError for sizes that do not fit.

    >>> F.fractional_max_pool{n}d(torch.ones(1, 2{", 7" * n}), 2, output_size=3).shape
    torch.Size([1, 2{", 3" * n}])
    """)  # fmt: skip


fractional_max_pool2d, fractional_max_pool3d = _fractional(2), _fractional(3)


def fractional_max_pool2d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """`fractional_max_pool2d` with the places of the values."""
    return fractional_max_pool2d(input, kernel_size, output_size, output_ratio, True, _random_samples)


def fractional_max_pool3d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """`fractional_max_pool3d` with the places of the values."""
    return fractional_max_pool3d(input, kernel_size, output_size, output_ratio, True, _random_samples)


# ---- resizing -------------------------------------------------------------------------------------------------------------


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Reads images (N, C, H, W) or volumes (N, C, D, H, W) at places between -1 and 1: `grid` (N, ..., 2 or 3), x first.

    `mode` bilinear, nearest or, of images, bicubic; `padding_mode` zeros, border or reflection; `align_corners` puts -1 and 1 on the outer points
    themselves. ValueError for other modes, RuntimeError for shapes that do not fit.

    >>> F.grid_sample(torch.tensor([[[[1.0, 3.0]]]]), torch.zeros(1, 1, 1, 2), align_corners=False)
    tensor([[[[2.]]]])
    """
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    if mode not in modes:
        raise ValueError(f"grid_sample: expected a mode of 'bilinear', 'nearest' and 'bicubic', got '{mode}'")
    if padding_mode not in paddings:
        raise ValueError(f"grid_sample: expected a padding_mode of 'zeros', 'border' and 'reflection', got '{padding_mode}'")
    if align_corners is None:
        warnings.warn("grid_sample: align_corners is False unless it is given", stacklevel=2)
        align_corners = False
    return ops["grid_sampler"](input, grid, modes.index(mode), paddings.index(padding_mode), align_corners)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    """Resizes (N, C, *) to `size` or by `scale_factor`: nearest, nearest-exact, area, linear, bilinear, bicubic, lanczos, trilinear.

    `lanczos` asks for antialias=True. ValueError unless exactly one of both is given, NotImplementedError for a mode that does not go with the dimensions.

    >>> F.interpolate(torch.ones(1, 1, 2, 2), scale_factor=2).shape
    torch.Size([1, 1, 4, 4])
    """
    n = input.dim() - 2
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(f"interpolate: align_corners option is for the modes linear, bilinear, bicubic and trilinear, got {mode!r}")
    elif align_corners is None:
        align_corners = False
    if size is not None and scale_factor is not None:
        raise ValueError("interpolate: expected size or scale_factor, got both")
    if size is None and scale_factor is None:
        raise ValueError("interpolate: expected size or scale_factor, got none")
    scales = None
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != n:
                raise ValueError(f"interpolate: Input of shape {tuple(input.shape)} takes a size of {n} numbers, got {tuple(size)}")
            if not all(isinstance(s, (int, torch.SymInt)) for s in size):
                raise TypeError(f"expected size to be one of int or tuple of ints, got {size}")
            size = list(size)
        else:
            size = [size] * n
    else:
        scales = list(scale_factor) if isinstance(scale_factor, (list, tuple)) else [scale_factor] * n
        if len(scales) != n:
            raise ValueError(f"interpolate: Input of shape {tuple(input.shape)} takes a scale_factor of {n} numbers, got {tuple(scales)}")
        scales = [float(s) for s in scales]
    if recompute_scale_factor and size is not None:
        raise ValueError("interpolate: recompute_scale_factor goes with scale_factor, got a size.")
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.dim() == 4):
        raise ValueError(
            f"interpolate: antialias goes with the modes bilinear, bicubic and lanczos and an input of 4 dimensions, got {mode!r} and {input.dim()}"
        )
    if n not in (1, 2, 3):
        raise NotImplementedError(f"interpolate: expected an input of 3, 4 or 5 dimensions (got {input.dim()}D)")
    return ops["_interpolate"](input, size, scales, mode, bool(align_corners), bool(recompute_scale_factor), antialias)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The old name of `interpolate`; using it warns."""
    warnings.warn("nn.functional.upsample is an old name of nn.functional.interpolate", stacklevel=3)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """The old name of `interpolate` in mode nearest; using it warns."""
    warnings.warn("nn.functional.upsample_nearest is an old name of nn.functional.interpolate", stacklevel=3)
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """The old name of `interpolate` in mode bilinear with the corners aligned; using it warns."""
    warnings.warn("nn.functional.upsample_bilinear is an old name of nn.functional.interpolate", stacklevel=3)
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
