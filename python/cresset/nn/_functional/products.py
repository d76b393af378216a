"""Products of several matrices at once and of quantised ones, and grids of affine maps."""

import enum
import warnings

import cresset as torch

from ... import _operators as ops


class ScalingType(enum.Enum):
    """Range of a scale of `scaled_mm`: the whole matrix, each row, or blocks of it.

    >>> F.ScalingType.RowWise
    <ScalingType.RowWise: 1>
    """

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5

    def __int__(self):
        return self.value


class SwizzleType(enum.Enum):
    """How the scales of blocks lie in memory.

    >>> F.SwizzleType.NO_SWIZZLE.value
    0
    """

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1

    def __int__(self):
        return self.value


def assert_int_or_pair(arg, arg_name, message):
    """AssertionError with `message`, in which `arg_name` takes the place of {}, unless `arg` is an int or has two elements.

    >>> F.assert_int_or_pair((2, 3), "kernel_size", "{} must be an int or two")
    """
    if not (isinstance(arg, (int, torch.SymInt)) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """Products of several pairs of matrices: of stacks (G, M, K) and (G, K, N), or with one or both 2-d, whose groups end at `offs`.

    Args:
        mat_a: (G, M, K), or (M, K) whose rows (columns, where mat_b is 2-d too) are in groups.
        mat_b: (G, K, N), or (K, N) whose columns (rows, where mat_a is 2-d too) are in groups.
        offs: where each group ends, ascending, int32; for 2-d matrices only. Rows after the last group give zeros.
        bias: not supported, as in PyTorch. out_dtype: that of mat_a.

    Returns: (G, M, N), (M, N) for one 2-d matrix. Errors: RuntimeError for shapes, offsets and dtypes that do not fit.

    >>> a, b = torch.ones(3, 2), torch.stack([torch.eye(2), 2 * torch.eye(2)])
    >>> F.grouped_mm(a, b, offs=torch.tensor([1, 3], dtype=torch.int32))
    tensor([[1., 1.],
            [2., 2.],
            [2., 2.]])
    """
    return ops["_grouped_mm"](mat_a, mat_b, offs, bias, out_dtype)


def _single(name, value):
    """One value that may be given as a list of one."""
    if isinstance(value, (list, tuple)):
        if len(value) != 1:
            raise ValueError(f"{name}: several scales for one matrix serve only formats of CUDA devices; give one")
        return value[0]
    return value


def _check_scaling(name, recipes, swizzles, contraction_dim):
    recipes = [_single(name, recipe) for recipe in recipes]
    if recipes[0] != recipes[1] or recipes[0] not in (ScalingType.TensorWise, ScalingType.RowWise):
        raise ValueError(f"{name}: Invalid scaling configuration. On the CPU both scales are TensorWise or both RowWise, got {recipes[0]} and {recipes[1]}")
    for swizzle in swizzles:
        if swizzle is not None and _single(name, swizzle) != SwizzleType.NO_SWIZZLE:
            raise ValueError(f"{name}: only the scales of blocks are swizzled, got {swizzle}")
    if contraction_dim:
        raise ValueError(f"{name}: contraction_dim is for packed formats of CUDA devices, got {contraction_dim}")
    return recipes[0]


def scaled_mm(mat_a, mat_b, scale_a, scale_recipe_a, scale_b, scale_recipe_b, swizzle_a=None, swizzle_b=None, bias=None, output_dtype=torch.bfloat16,
              contraction_dim=(), use_fast_accum=False):  # fmt: skip
    """(mat_a · scale_a) @ (mat_b · scale_b) + bias, of float8 matrices.

    Args:
        mat_a: (M, K), float8. mat_b: (K, N), float8.
        scale_a, scale_b: one float32 each (`ScalingType.TensorWise`), or (M, 1) and (1, N) (`ScalingType.RowWise`).
        bias: (N). use_fast_accum: sums in less than float32, where a device can; the CPU does not.

    Errors: ValueError for other kinds of scales, RuntimeError for shapes and dtypes that do not fit.

    >>> eye, scale = torch.eye(16).to(torch.float8_e4m3fn), torch.tensor([2.0])
    >>> F.scaled_mm(eye, eye.t(), scale, F.ScalingType.TensorWise, scale, F.ScalingType.TensorWise).diagonal()[:2]
    tensor([4., 4.], dtype=torch.bfloat16)
    """
    _check_scaling("scaled_mm", (scale_recipe_a, scale_recipe_b), (swizzle_a, swizzle_b), contraction_dim)
    return ops["_scaled_mm"](mat_a, mat_b, _single("scaled_mm", scale_a), _single("scaled_mm", scale_b), bias, None, output_dtype, use_fast_accum)


def scaled_grouped_mm(mat_a, mat_b, scale_a, scale_recipe_a, scale_b, scale_recipe_b, swizzle_a=None, swizzle_b=None, bias=None, offs=None,
                      output_dtype=torch.bfloat16, contraction_dim=(), use_fast_accum=False):  # fmt: skip
    """`grouped_mm` of float8 matrices with scales: one for each row of `mat_a` and each column of `mat_b` in each group.

    Args:
        mat_a, mat_b, offs: see `grouped_mm`; float8.
        scale_a, scale_b: `ScalingType.RowWise`: (G, M) and (G, N) for 3-d matrices, (M) and (N) for a 2-d one whose rows or columns are in groups,
            and (G·M) and (G·N) where both are 2-d.

    Errors: ValueError for other kinds of scales, RuntimeError for shapes and dtypes that do not fit.

    >>> eye, scale = torch.eye(16).to(torch.float8_e4m3fn)[None], torch.full((1, 16), 2.0)
    >>> out = F.scaled_grouped_mm(eye, eye.mT, scale, F.ScalingType.RowWise, scale, F.ScalingType.RowWise)
    >>> out.shape, out[0, 0, 0].item()
    (torch.Size([1, 16, 16]), 4.0)
    """
    if _check_scaling("scaled_grouped_mm", (scale_recipe_a, scale_recipe_b), (swizzle_a, swizzle_b), contraction_dim) != ScalingType.RowWise:
        raise ValueError("scaled_grouped_mm: scales are RowWise")
    scale_a, scale_b = _single("scaled_grouped_mm", scale_a), _single("scaled_grouped_mm", scale_b)
    return ops["_scaled_grouped_mm"](mat_a, mat_b, scale_a, scale_b, offs, bias, None, output_dtype, use_fast_accum)


def affine_grid(theta, size, align_corners=None):
    """The places that an affine map of each image takes its pixels from, for `grid_sample`; coordinates run from -1 to 1.

    Args:
        theta: (N, 2, 3) for images, (N, 3, 4) for volumes.
        size: of the output, (N, C, H, W) or (N, C, D, H, W).
        align_corners: whether -1 and 1 are the centres of the corner pixels, or (by default) their outer edges.

    Returns: (N, H, W, 2) or (N, D, H, W, 3). Errors: ValueError for a dtype, shape or empty size, NotImplementedError for other numbers of dimensions.

    >>> F.affine_grid(torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2))
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid: expected a floating theta, got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(f"affine_grid: expected a size of 4 or 5 numbers, for 2 or 3 dimensions of space, got {size}.")
    n = len(size) - 2
    if theta.dim() != 3 or theta.shape[-2:] != torch.Size((n, n + 1)):
        raise ValueError(f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got {theta.shape}.")
    if min(size) <= 0:
        raise ValueError(f"affine_grid: expected sizes above 0, got {size}")
    if theta.shape[0] != size[0]:
        raise RuntimeError(f"affine_grid: expected a matrix for each of {size[0]} images, got {theta.shape[0]}")
    if align_corners is None:
        warnings.warn("affine_grid: align_corners is False unless it is given", stacklevel=3)
    if align_corners and min(size[2:]) == 1:
        warnings.warn("affine_grid: with align_corners=True an output of one pixel lies in the middle", stacklevel=3)
    return ops["affine_grid_generator"](theta, size, bool(align_corners))
