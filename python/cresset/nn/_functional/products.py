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


class SwizzleType(enum.Enum):
    """How the scales of blocks lie in memory.

    >>> F.SwizzleType.NO_SWIZZLE.value
    0
    """

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def assert_int_or_pair(arg, arg_name, message):
    """AssertionError with `message`, in which `arg_name` takes the place of {}, unless `arg` is an int or has two elements.

    >>> F.assert_int_or_pair((2, 3), "kernel_size", "{} must be an int or two")
    """
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))


def _groups(count, offs):
    if offs.dtype != torch.int32:
        raise RuntimeError(f"grouped_mm: Offsets have to be int32, got {offs.dtype}")
    if offs.dim() != 1:
        raise RuntimeError(f"grouped_mm: offs has to be 1-d, got shape {tuple(offs.shape)}")
    ends = offs.tolist()
    if not ends:
        raise RuntimeError("grouped_mm: offs is empty")
    starts = [0, *ends[:-1]]
    if any(start > end for start, end in zip(starts, ends)) or ends[-1] > count:
        raise RuntimeError(f"grouped_mm: offs must ascend up to at most {count}, got {ends}")
    return list(zip(starts, ends))


def _grouped(name, mat_a, mat_b, offs, product):
    """product(a, b, group) over the groups of two matrices or stacks of them."""
    if mat_a.dim() not in (2, 3) or mat_b.dim() not in (2, 3):
        raise RuntimeError(f"{name}: both matrices have to be 2- or 3-d, got shapes {tuple(mat_a.shape)} and {tuple(mat_b.shape)}")
    if (offs is not None) != (mat_a.dim() == 2 or mat_b.dim() == 2):
        raise RuntimeError(f"{name}: Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError(f"{name}: contraction dimension of mat_a and mat_b must match, got shapes {tuple(mat_a.shape)} and {tuple(mat_b.shape)}")
    if mat_a.dim() == 3 and mat_b.dim() == 3:
        if len(mat_a) != len(mat_b):
            raise RuntimeError(f"{name}: batched dimension has to match, got shapes {tuple(mat_a.shape)} and {tuple(mat_b.shape)}")
        return torch.stack([product(a, b, i) for i, (a, b) in enumerate(zip(mat_a, mat_b))])
    along = mat_a.shape[1] if mat_a.dim() == mat_b.dim() else mat_a.shape[0] if mat_a.dim() == 2 else mat_b.shape[1]
    groups = _groups(along, offs)
    stack = mat_b if mat_b.dim() == 3 else mat_a if mat_a.dim() == 3 else None
    if stack is not None and len(stack) != len(groups):
        raise RuntimeError(f"{name}: matrix batch sizes have to match, got {len(stack)} matrices and {len(groups)} offsets")
    if stack is None:
        return torch.stack([product(mat_a[:, s:e], mat_b[s:e], i) for i, (s, e) in enumerate(groups)])
    if stack is mat_b:
        parts = [product(mat_a[s:e], mat_b[i], i) for i, (s, e) in enumerate(groups)]
        rest = mat_a.shape[0] - groups[-1][1]
        return torch.cat([*parts, parts[0].new_zeros(rest, mat_b.shape[2])]) if rest else torch.cat(parts)
    parts = [product(mat_a[i], mat_b[:, s:e], i) for i, (s, e) in enumerate(groups)]
    rest = mat_b.shape[1] - groups[-1][1]
    return torch.cat([*parts, parts[0].new_zeros(mat_a.shape[1], rest)], 1) if rest else torch.cat(parts, 1)


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
    if mat_a.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        raise RuntimeError(f"grouped_mm: Expected mat_a to be Float32, BFloat16 or Float16 matrix, got {mat_a.dtype}")
    if mat_b.dtype != mat_a.dtype:
        raise RuntimeError(f"grouped_mm: expected matrices of one dtype, got {mat_a.dtype} and {mat_b.dtype}")
    if bias is not None:
        raise RuntimeError("grouped_mm: Bias not supported yet")
    if out_dtype not in (None, mat_a.dtype):
        raise RuntimeError(f"grouped_mm: Grouped gemm output dtype must match `mat_a` dtype, got {out_dtype} and {mat_a.dtype}")
    return _grouped("grouped_mm", mat_a, mat_b, offs, lambda a, b, group: a @ b)


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
    if bias is not None:
        raise RuntimeError("scaled_grouped_mm: Bias not supported yet")
    if mat_a.element_size() != 1 or mat_b.element_size() != 1:
        raise RuntimeError(f"scaled_grouped_mm: expected float8 matrices, got {mat_a.dtype} and {mat_b.dtype}")
    scale_a, scale_b = _single("scaled_grouped_mm", scale_a), _single("scaled_grouped_mm", scale_b)
    groups = len(mat_a) if mat_a.dim() == 3 else len(mat_b) if mat_b.dim() == 3 else len(offs) if offs is not None else 0
    both = mat_a.dim() == mat_b.dim() == 2
    wanted_a = (mat_a.shape[0] * groups,) if both else mat_a.shape[:-1]
    wanted_b = (mat_b.shape[1] * groups,) if both else (*mat_b.shape[:-2], mat_b.shape[-1])
    if scale_a.shape != torch.Size(wanted_a) or scale_b.shape != torch.Size(wanted_b):
        raise RuntimeError(f"scaled_grouped_mm: expected scales of shapes {tuple(wanted_a)} and {tuple(wanted_b)}, got {tuple(scale_a.shape)} and {tuple(scale_b.shape)}")
    if both:
        scale_a, scale_b = scale_a.view(groups, -1, 1), scale_b.view(groups, 1, -1)
        plain = _grouped("scaled_grouped_mm", mat_a.float(), mat_b.float(), offs, lambda a, b, group: a @ b)
        return (plain * scale_a * scale_b).to(output_dtype)
    a, b = mat_a.float() * scale_a.unsqueeze(-1), mat_b.float() * scale_b.unsqueeze(-2)
    return _grouped("scaled_grouped_mm", a, b, offs, lambda a, b, group: a @ b).to(output_dtype)


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
    ones = torch.ones((*size[2:], 1), dtype=theta.dtype, device=theta.device)
    axes = [_centres(extent, bool(align_corners), theta) for extent in reversed(size[2:])]  # x, y, z
    columns = [axis.view(-1, *[1] * i).expand(size[2:]).unsqueeze(-1) for i, axis in enumerate(axes)]
    points = torch.cat([*columns, ones], -1).view(1, -1, n + 1).expand(size[0], -1, -1)
    return (points @ theta.mT).view(size[0], *size[2:], n)


def _centres(extent, aligned, like):
    if extent == 1:
        return torch.zeros(1, dtype=like.dtype, device=like.device)
    places = torch.linspace(-1, 1, extent, dtype=like.dtype, device=like.device)
    return places if aligned else places * (extent - 1) / extent
