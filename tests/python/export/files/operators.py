"""Functions of tensors as exported programs: families of operators, dtypes, forms of indices, random numbers."""

import math

import torch
import torch.nn.functional as F
from programs import function, i, r
from torch.export import Dim

X = lambda: (r(3, 4),)  # noqa: E731
XY = lambda: (r(3, 4), r(3, 4))  # noqa: E731
SQUARE = lambda: (r(2, 3, 3),)  # noqa: E731
ANY = ({0: Dim.AUTO},)


def wider():
    """More rows than `X`."""
    return (r(5, 4),)


# ---- pointwise ------------------------------------------------------------------------------------------------------------
function("arithmetic", lambda m, x, y: [x + y, x - y, x * y, x / y, x // y, x % y, x**2, 2**x, -x, x + 1, 1 - x, 2 / x, 7 // x, 5 % x, abs(x), +x], XY)
function(
    "arithmetic with factors",
    lambda m, x, y: [
        torch.add(x, y, alpha=2),
        torch.sub(x, y, alpha=0.5),
        torch.rsub(x, 1, alpha=3),
        torch.addcmul(x, x, y, value=2),
        torch.addcdiv(x, x, y),
        torch.lerp(x, y, 0.3),
        torch.lerp(x, y, y),
    ],
    XY,
)
function("comparisons", lambda m, x, y: [x < y, x <= 1, x == y, x != 0, x > y, x >= 2, torch.isclose(x, y), torch.maximum(x, y), torch.fmin(x, y)], XY)
function(
    "logic",
    lambda m, x, y: [
        (x > 0) & (y > 0),
        (x > 0) | (y > 0),
        (x > 0) ^ (y > 0),
        ~(x > 0),
        torch.logical_not(x),
        torch.logical_xor(x, y),
        (x > 0).all(),
        (x > 0).any(1),
    ],
    XY,
)
function("functions of one number", lambda m, x: [getattr(torch, name)(x) for name in "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh atanh erf erfc erfinv sigmoid logit reciprocal square sign sgn floor ceil round trunc frac abs neg lgamma digamma i0 sinc relu nan_to_num isnan isinf isfinite signbit deg2rad rad2deg positive".split()],
         lambda: (torch.rand(3, 4) * 0.8 + 0.1,))  # fmt: skip
function("special functions", lambda m, x: [getattr(torch.special, name)(x) for name in "bessel_j0 bessel_j1 bessel_y0 entr erfcx i0e i1 i1e log_ndtr ndtr ndtri modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 airy_ai psi gammaln expit".split()],
         lambda: (torch.rand(3, 4) * 0.8 + 0.1,))  # fmt: skip
function("polynomials", lambda m, x: [getattr(torch.special, name)(x, 3) for name in "chebyshev_polynomial_t chebyshev_polynomial_u hermite_polynomial_h laguerre_polynomial_l legendre_polynomial_p".split()] + [torch.polygamma(1, x), torch.mvlgamma(x + 2, 2), torch.special.zeta(x + 2, 1.5)],
         lambda: (torch.rand(3, 4),))  # fmt: skip
function("functions of two numbers", lambda m, x, y: [torch.atan2(x, y), torch.hypot(x, y), torch.fmod(x, y), torch.remainder(x, 0.3), torch.pow(x, y), torch.copysign(x, -1), torch.nextafter(x, y), torch.logaddexp(x, y), torch.logaddexp2(x, y), torch.xlogy(x, y), torch.special.xlog1py(x, y), torch.heaviside(x, y), torch.float_power(x, 2), torch.ldexp(x, y), torch.special.gammainc(x, y), torch.igammac(x, y)],
         lambda: (torch.rand(3, 4), torch.rand(3, 4)))  # fmt: skip
function(
    "division by modes",
    lambda m, x, y: [torch.div(x, y, rounding_mode=mode) for mode in ("floor", "trunc", None)] + [torch.div(x, 0.3, rounding_mode="floor")],
    XY,
)
function(
    "clamps",
    lambda m, x, y: [
        x.clamp(-0.5, 0.5),
        x.clamp(min=0),
        x.clamp(max=y),
        x.clip(y, y + 1),
        F.hardtanh(x, -0.2, 0.3),
        F.threshold(x, 0.1, 9),
        x.clamp_min(0.1),
        x.clamp_max(0),
    ],
    XY,
)
function("whole numbers", lambda m, x, y: [x + y, x // y, x % y, x / y, x << 1, x >> y, x & y, x | 3, x ^ y, ~x, torch.gcd(x, y), torch.lcm(x, y), x.bool(), x.sum(), x.prod(), x.float().mean()],
         lambda: (i(20, 3, 4), i(5, 3, 4) + 1))  # fmt: skip
function(
    "truth values",
    lambda m, x: [
        x & True,
        x | False,
        x.sum(),
        x.any(0),
        x.all(1),
        x + 1,
        x.float(),
        torch.where(x, 1, 0),
        torch.where(x, 1.5, 2.5),
        x.cumsum(0),
        x.nonzero().shape[1],
        ~x,
    ],
    lambda: (r(3, 4) > 0,),
)
function("complex numbers", lambda m, x, y: [x * y, x.conj() @ y.mT, x.real, x.imag, x.abs(), x.angle(), torch.view_as_real(x), torch.complex(x.real, y.imag), torch.polar(x.abs(), y.real), x.sum(), x.conj().resolve_conj(), x * 2j, x.exp(), torch.isreal(x), x.mean(0)],
         lambda: (r(3, 3, dtype=torch.complex64), r(3, 3, dtype=torch.complex64)))  # fmt: skip
function("complex results", lambda m, x: [x.conj(), x.mH, x.conj().imag, x + 1j], lambda: (r(2, 3, dtype=torch.complex128),))

# ---- dtypes ---------------------------------------------------------------------------------------------------------------
_DTYPES = (torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32, torch.uint8)
for _dtype in _DTYPES:
    function(f"dtype {str(_dtype).rpartition('.')[2]}", lambda m, x, y: [x + y, x * 2, x.sum(), torch.maximum(x, y), x.clone(), x.float() / 3, torch.stack([x, y]), x @ y.T, x.sort(1)[0], x == y],
             lambda dtype=_dtype: ((r(3, 4) * 3).abs().to(dtype), (r(3, 4) * 3).abs().to(dtype)))  # fmt: skip
for _dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz):
    function(f"dtype {str(_dtype).rpartition('.')[2]}", lambda m, x, dtype=_dtype: [x.float() * 2, x.clone(), (x.float() + 1).to(dtype), x.view(torch.uint8), torch.zeros(2, dtype=dtype)],
             lambda dtype=_dtype: (r(3, 4).to(dtype),))  # fmt: skip
for _dtype in (torch.uint16, torch.uint32, torch.uint64):
    function(
        f"dtype {str(_dtype).rpartition('.')[2]}",
        lambda m, x: [x.to(torch.int64) + 1, x.clone(), x.reshape(4, 3)],
        lambda dtype=_dtype: (i(9, 3, 4).to(dtype),),
    )
function("dtype complex32", lambda m, x: [torch.view_as_complex(x).to(torch.complex64) * 2, torch.view_as_complex(x)], lambda: (r(3, 4, 2).half(),))
function(
    "conversions",
    lambda m, x: [
        x.to(torch.float64),
        x.half(),
        x.bfloat16(),
        x.int(),
        x.long(),
        x.bool(),
        x.to(x.int()),
        x.to("cpu"),
        x.to(torch.float32, copy=True),
        x.type(torch.int16),
        x.to(torch.complex64),
        x.double().float(),
        x.byte(),
        x.type_as(x.half()),
    ],
    X,
)
function(
    "promotion",
    lambda m, x, n: [x + n, n + 1.5, n / 2, x * True, n * 2j, n.bool() + x.half(), torch.result_type(x, n) == torch.float32, torch.where(n > 1, x, n)],
    lambda: (r(3, 4), i(5, 3, 4)),
)
function(
    "views of bits",
    lambda m, x: [x.view(torch.int32), x.view(torch.int16), x.view(torch.uint8).view(torch.float32), torch.view_as_complex(x.reshape(3, 2, 2))],
    X,
)

# ---- shapes ---------------------------------------------------------------------------------------------------------------
function(
    "views",
    lambda m, x: [
        x.view(4, 3),
        x.reshape(-1),
        x.t(),
        x.T,
        x.unsqueeze(1),
        x[None, :, None].squeeze(0),
        x.permute(1, 0),
        x.transpose(0, 1),
        x.flatten(),
        x.expand(2, 3, 4),
        x.unfold(1, 2, 1),
        x.diagonal(),
        x.as_strided((2, 2), (4, 1), 1),
        x.narrow(1, 1, 2),
        x.movedim(0, 1),
        x.swapaxes(0, 1),
        x.ravel(),
        x.unflatten(1, (2, 2)),
        x.select(0, 1),
        x.view_as(x),
    ],
    X,
)
function(
    "joins",
    lambda m, x, y: [
        torch.cat([x, y]),
        torch.cat((x, y), -1),
        torch.stack([x, y], 1),
        torch.hstack([x, y]),
        torch.vstack([x, y]),
        torch.dstack([x, y]),
        torch.column_stack([x, y]),
        torch.block_diag(x, y),
        torch.concat([x, y]),
    ],
    XY,
)
function(
    "splits",
    lambda m, x: [*x.split(2), *x.split([1, 2]), *x.chunk(2, 1), *x.unbind(), *torch.tensor_split(x, 2), *torch.hsplit(x, 2), *x.tensor_split([1], 1)],
    X,
)
function(
    "repeats",
    lambda m, x: [
        x.repeat(2, 1),
        x.tile(2),
        x.repeat_interleave(2, 0),
        torch.repeat_interleave(x, torch.tensor([1, 0, 2]), 0, output_size=3),
        x.roll(1, 0),
        x.flip(1),
        torch.rot90(x),
        x.fliplr(),
        x.flipud(),
        torch.kron(x, x),
    ],
    X,
)
function(
    "broadcasts",
    lambda m, x, y: [
        *torch.broadcast_tensors(x, y),
        x.broadcast_to(3, 4),
        torch.atleast_3d(x),
        *torch.meshgrid(y, y, indexing="ij"),
        torch.cartesian_prod(y, y),
    ],
    lambda: (r(3, 1), r(4)),
)
function(
    "triangles",
    lambda m, x: [
        x.tril(),
        x.triu(1),
        torch.tril_indices(3, 4),
        torch.triu_indices(3, 3),
        x.diag(),
        torch.diag_embed(x),
        x.diagonal(1),
        torch.vander(x[0]),
        x.trace(),
    ],
    X,
)
function(
    "new tensors",
    lambda m, x: [
        torch.zeros(2, 3),
        torch.ones(2),
        torch.full((2,), 3.5),
        torch.full((2,), True),
        torch.arange(5),
        torch.arange(1, 2, 0.25),
        torch.linspace(0, 1, 5),
        torch.logspace(0, 2, 3),
        torch.eye(3),
        torch.zeros_like(x),
        torch.ones_like(x, dtype=torch.int64),
        torch.full_like(x, 2),
        x.new_zeros(2),
        x.new_ones(2),
        x.new_full((2,), 7),
        torch.tensor([1, 2]),
        torch.tensor(2.5),
        torch.scalar_tensor(3),
        torch.hann_window(5),
        torch.hamming_window(4),
        torch.kaiser_window(5),
        torch.bartlett_window(4),
        torch.blackman_window(4),
    ],
    X,
)
function(
    "copies",
    lambda m, x: [
        x.clone(),
        x.contiguous(),
        x.t().contiguous(),
        x.detach(),
        x.clone(memory_format=torch.preserve_format),
        x.t().clone(),
        torch.empty_like(x).copy_(x),
        torch.empty(3, 4).fill_(2),
        torch.empty_strided((3, 4), (1, 3)).zero_(),
    ],
    X,
)

# ---- reductions -----------------------------------------------------------------------------------------------------------
function(
    "reductions",
    lambda m, x: [
        x.sum(),
        x.sum(0),
        x.sum((0, 1), keepdim=True),
        x.mean(),
        x.mean(-1),
        x.prod(),
        x.prod(1),
        x.amax(0),
        x.amin((0, 1)),
        x.max(),
        x.min(),
        x.std(),
        x.var(1, correction=0),
        x.std(0, keepdim=True),
        x.norm(),
        x.norm(1, 0),
        x.norm(p=float("inf")),
        x.logsumexp(0),
        x.median(),
        x.nansum(),
        x.nanmean(),
        x.count_nonzero(0),
        x.sum(dtype=torch.float64),
    ],
    X,
    wider,
    shapes=ANY,
)
function(
    "reductions with indices",
    lambda m, x: [
        *x.max(1),
        *x.min(0),
        *x.median(1),
        *x.mode(1),
        *x.kthvalue(2),
        *x.aminmax(dim=0),
        x.argmax(),
        x.argmin(1),
        x.argmax(0, keepdim=True),
        *x.cummax(0),
        *x.cummin(1),
        *x.nanmedian(0),
    ],
    X,
)
function(
    "means and deviations",
    lambda m, x: [
        *torch.std_mean(x),
        *torch.var_mean(x, 1),
        x.var(unbiased=False),
        torch.quantile(x, 0.3),
        torch.quantile(x, torch.tensor([0.2, 0.7]), 1),
        torch.nanquantile(x, 0.5, interpolation="lower"),
        x.softmax(0),
        x.log_softmax(-1),
        x.logcumsumexp(1),
    ],
    X,
)
function(
    "sums in a row",
    lambda m, x: [
        x.cumsum(0),
        x.cumprod(1),
        torch.diff(x),
        torch.trapezoid(x),
        torch.cumulative_trapezoid(x, dx=0.5),
        *torch.gradient(x),
        torch.renorm(x, 2, 0, 1.0),
        x.cumsum(1, dtype=torch.float64),
    ],
    X,
)
function(
    "histograms",
    lambda m, x, n: [
        torch.bincount(n, minlength=7),
        torch.histc(x, 4, -2, 2),
        torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])),
        torch.searchsorted(torch.tensor([-1.0, 0.0, 1.0]), x, right=True),
    ],
    lambda: (r(3, 4), i(5, 9)),
)

# ---- sorting --------------------------------------------------------------------------------------------------------------
function(
    "sorting",
    lambda m, x: [
        *x.sort(),
        *x.sort(0, True),
        *torch.sort(x, stable=True, dim=1),
        x.argsort(1),
        *x.topk(2),
        *x.topk(3, 0, largest=False),
        x.msort(),
        *x.kthvalue(1),
    ],
    X,
    wider,
    shapes=ANY,
)
function(
    "unique",
    lambda m, x: [*torch.unique(x, return_inverse=True, return_counts=True), *torch.unique_consecutive(x, return_counts=True), torch.unique(x, dim=0)],
    lambda: (i(4, 3, 4),),
)
function("lists among the results", lambda m, x: (lambda h, edges: (h, *edges))(*torch.histogramdd(x, (3, 2))), lambda: (r(5, 2),))
function("membership", lambda m, x: [torch.isin(x, torch.tensor([1, 3])), torch.isin(x, 2)], lambda: (i(5, 3, 4),))

# ---- indexing -------------------------------------------------------------------------------------------------------------
function(
    "slices",
    lambda m, x: [x[1], x[-1], x[1:], x[:2, 1:3], x[::2], x[..., 0], x[None], x[:, None, 1], x[0, 1], x[-2:, ::3], x[()], x[...]],
    X,
    wider,
    shapes=ANY,
)
function(
    "indices",
    lambda m, x, n: [
        x[n],
        x[:, n],
        x[n, n],
        x[n[:, None], n],
        x[None, n],
        x[n, None],
        x[[0, 2]],
        x[torch.tensor([True, False, True])],
        x[n, 1:3],
        x[1, n],
        x[..., n],
        x[n, ..., None],
    ],
    lambda: (r(3, 4), torch.tensor([0, 2, 1])),
)
function(
    "masks", lambda m, x: [x[x > 0], x[x[:, 0] > 0], x[:, x[0] > 0], x.masked_select(x < 0), (x > 0).nonzero(), torch.argwhere(x > 0), *torch.where(x > 1)], X
)
function(
    "gathers",
    lambda m, x, n: [x.gather(1, n), x.gather(0, n % 3), x.take(n), x.take_along_dim(n, 1), x.index_select(0, n[0]), torch.take_along_dim(x, x.argsort(1), 1)],
    lambda: (r(3, 4), i(3, 3, 4)),
)
function(
    "scatters",
    lambda m, x, n: [
        x.scatter(1, n, 1.5),
        x.scatter(0, n, x * 2),
        x.scatter_add(1, n, x),
        x.scatter_reduce(0, n, x, "amax"),
        x.scatter_reduce(1, n, x, "mean", include_self=False),
        x.scatter(1, n, 2.0, reduce="multiply"),
        x.scatter_reduce(0, n, x, "prod"),
    ],
    lambda: (r(3, 4), torch.stack([torch.randperm(3) for _ in range(4)], 1)),
)
function(
    "index writes",
    lambda m, x, n: [
        x.index_add(0, n, x, alpha=2),
        x.index_copy(0, n, x + 1),
        x.index_fill(1, n, 3.0),
        x.index_fill(0, n, torch.tensor(2.0)),
        x.index_put((n,), x),
        x.index_put((n, n), x[:, 0], accumulate=True),
        x.index_reduce(0, n, x, "amin"),
    ],
    lambda: (r(3, 4), torch.tensor([2, 0, 1])),
)
function(
    "masked writes",
    lambda m, x: [
        x.masked_fill(x > 0, 1.5),
        x.masked_fill(x > 0, torch.tensor(2.0)),
        x.masked_scatter(x > 0, x.abs() + 1),
        torch.where(x > 0, x, 0.0),
        torch.where(x > 0, 1.0, x),
        x.masked_fill(torch.tensor([True, False, True, False]), -1),
    ],
    X,
)
function(
    "scatters of slices",
    lambda m, x: [
        x.slice_scatter(torch.zeros(3, 2), 1, 1, 3),
        x.select_scatter(torch.ones(4), 0, 1),
        x.diagonal_scatter(torch.zeros(3)),
        x.as_strided_scatter(torch.zeros(2, 2), (2, 2), (4, 1)),
    ],
    X,
)


def assigned(m, x, n):
    """Every form of an assignment to a part."""
    y = x.clone()
    y[0] = 1.0
    y[1:, 2] = x[1:, 0]
    y[n] = 2
    y[:, n] += 1
    y[y > 1.5] = 0.5
    y[n, n] = torch.tensor([3.0, 4.0])
    y[..., -1] *= 2
    z = torch.zeros(4, dtype=torch.int64)
    z[n] = 7
    z[2:] -= 1
    return y, z


function("assignments", assigned, lambda: (r(3, 4), torch.tensor([0, 2])))

# ---- linear algebra -------------------------------------------------------------------------------------------------------
function(
    "products",
    lambda m, x, y: [
        x @ y.T,
        torch.mm(x, y.T),
        x.matmul(y[0]),
        torch.mv(x, y[0]),
        torch.dot(x[0], y[0]),
        torch.outer(x[0], y[0]),
        torch.inner(x, y),
        torch.addmm(x, x @ y.T, y, beta=0.5, alpha=2),
        torch.addmv(x[:, 0], x, y[0]),
        torch.addr(x, x[:, 0], y[0]),
        torch.linalg.multi_dot([x, y.T, x]),
        torch.chain_matmul(x, y.T),
        torch.vdot(x[0], y[0]),
        torch.linalg.vecdot(x, y),
        torch.cross(x[:, :3], y[:, :3], dim=1),
    ],
    XY,
)
function(
    "products of batches",
    lambda m, x: [
        x.bmm(x),
        torch.baddbmm(x, x, x, beta=0.3),
        torch.addbmm(x[0], x, x),
        x @ x[0],
        x[0] @ x,
        torch.tensordot(x, x[0], 1),
        torch.tensordot(x, x, ([1, 2], [1, 2])),
        torch.linalg.matrix_power(x, 3),
        torch.matrix_exp(x),
    ],
    SQUARE,
)
function(
    "einsum",
    lambda m, x: [
        torch.einsum("bij,bjk->bik", x, x),
        torch.einsum("bii->b", x),
        torch.einsum("bij->ji", x),
        torch.einsum("...i,...i->...", x, x),
        torch.einsum("bij,j,k->bk", x, x[0, 0], x[0, 1]),
    ],
    SQUARE,
)
function(
    "solutions",
    lambda m, x: [
        torch.linalg.inv(x),
        torch.linalg.solve(x, x[..., :1]),
        torch.linalg.det(x),
        *torch.linalg.slogdet(x),
        torch.linalg.pinv(x),
        torch.linalg.matrix_rank(x),
        torch.linalg.cond(x),
        torch.linalg.solve(x, x, left=False),
        torch.logdet(x @ x.mT),
    ],
    lambda: (r(2, 3, 3) + 3 * torch.eye(3),),
)
function(
    "factors",
    lambda m, x: [
        torch.linalg.cholesky(x),
        *torch.linalg.lu_factor(x),
        *torch.linalg.lu(x),
        torch.cholesky_inverse(torch.linalg.cholesky(x)),
        torch.cholesky_solve(x, torch.linalg.cholesky(x)),
        torch.linalg.solve_triangular(x.tril(), x, upper=False),
        torch.linalg.eigvalsh(x),
        torch.linalg.svdvals(x),
        *torch.linalg.ldl_factor(x),
    ],
    lambda: ((a := r(2, 3, 3)) @ a.mT + torch.eye(3),),
)
function(
    "norms of matrices",
    lambda m, x: [
        torch.linalg.norm(x),
        torch.linalg.norm(x, dim=(1, 2), ord="fro"),
        torch.linalg.vector_norm(x, 3),
        torch.linalg.matrix_norm(x, "nuc"),
        torch.linalg.matrix_norm(x, 1),
        torch.dist(x, x + 1),
        torch.cdist(x, x),
        torch.pdist(x[0]),
        x.norm(dim=(1, 2)),
    ],
    SQUARE,
)
function(
    "decompositions by their products",
    lambda m, x: [
        (lambda q, s: q @ s)(*torch.linalg.qr(x)),
        (lambda u, s, v: (u * s.unsqueeze(-2)) @ v)(*torch.linalg.svd(x, full_matrices=False)),
        (lambda s, v: (v * s.unsqueeze(-2)) @ v.mT)(*torch.linalg.eigh(x @ x.mT)),
    ],
    SQUARE,
)

# ---- transforms -----------------------------------------------------------------------------------------------------------
function(
    "fft",
    lambda m, x: [
        torch.fft.fft(x),
        torch.fft.ifft(x, norm="ortho"),
        torch.fft.rfft(x, 6),
        torch.fft.irfft(torch.fft.rfft(x)),
        torch.fft.fft2(x),
        torch.fft.rfft2(x),
        torch.fft.fftn(x, dim=(0, 1)),
        torch.fft.hfft(x),
        torch.fft.ihfft(x),
        torch.fft.fftshift(x),
        torch.fft.ifftshift(x, 0),
        torch.fft.fftfreq(5),
        torch.fft.rfftfreq(4, 0.5),
        torch.fft.irfftn(torch.fft.rfftn(x)),
    ],
    X,
)
function(
    "stft",
    lambda m, x: [
        torch.view_as_real(s := torch.stft(x, 8, 4, window=torch.hann_window(8), return_complex=True)),
        torch.istft(s, 8, 4, window=torch.hann_window(8)),
    ],
    lambda: (r(2, 32),),
)
function(
    "convolutions as functions",
    lambda m, x, w: [
        F.conv1d(x, w, padding=1),
        F.conv_transpose1d(x, w.transpose(0, 1), stride=2),
        torch.conv1d(x, w, groups=1, dilation=2),
        F.unfold(x[..., None], (2, 1)),
        F.avg_pool1d(x, 2),
        F.max_pool1d(x, 2),
    ],
    lambda: (r(2, 3, 8), r(4, 3, 3)),
)

# ---- random numbers -------------------------------------------------------------------------------------------------------
function(
    "random tensors",
    lambda m, x: [
        torch.rand(3),
        torch.randn(2, 3),
        torch.randint(5, (4,)),
        torch.randint(2, 9, (3,)),
        torch.randperm(5),
        torch.rand_like(x),
        torch.randn_like(x),
        torch.randint_like(x, 7),
        torch.normal(0.0, 1.0, (3,)),
        torch.rand(2, dtype=torch.float64),
    ],
    X,
)
function(
    "random values",
    lambda m, x: [
        torch.bernoulli(x.sigmoid()),
        torch.bernoulli(x, 0.3),
        torch.multinomial(x.abs() + 0.1, 2),
        torch.normal(x, 1.0),
        torch.normal(0.0, x.abs()),
        torch.normal(x, x.abs()),
        torch.poisson(x.abs() * 3),
        F.dropout(x, 0.5, True),
    ],
    X,
)
function(
    "random writes",
    lambda m, x: [
        x.clone().uniform_(-1, 1),
        x.clone().normal_(2, 3),
        x.clone().bernoulli_(0.4),
        x.clone().exponential_(2.0),
        x.clone().random_(5),
        x.clone().geometric_(0.3),
        x.clone().cauchy_(),
        x.clone().log_normal_(),
    ],
    X,
)

# ---- the rest -------------------------------------------------------------------------------------------------------------
function(
    "writes in place",
    lambda m, x, y: [
        x.clone().add_(y).mul_(2).clamp_(min=0),
        x.clone().copy_(y),
        x.clone().fill_(1),
        x.clone().zero_(),
        x.clone().index_add_(0, torch.tensor([0]), y[:1]),
        x.clone().masked_fill_(y > 0, 2),
        x.clone().sigmoid_(),
        x.clone().transpose_(0, 1),
        x.clone().squeeze_(),
        x.clone().unsqueeze_(0),
        x.clone().t_().contiguous(),
        x.clone().tril_(),
        x.clone().lerp_(y, 0.5),
        x.clone().sub_(1).div_(2).pow_(2),
    ],
    XY,
)
function(
    "fake quantization",
    lambda m, x: [
        torch.ops.aten.fake_quantize_per_tensor_affine(x, 0.1, 3, -20, 20),
        torch.ops.aten.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2], dtype=torch.int32), 0, 0, 255),
    ],
    X,
)
function(
    "numbers of sizes",
    lambda m, x: [
        x.size(0),
        x.shape[0] * 2,
        x.numel(),
        x.dim(),
        x.shape[0] // 2 + 1,
        max(x.shape[0], 3),
        x.reshape(x.shape[0] * 2, 2),
        torch.arange(x.shape[0]),
        torch.zeros(x.shape[0], x.shape[1] + 1),
        x / x.shape[0],
        x.sum() + x.shape[0],
        math.prod(x.shape),
    ],
    X,
    wider,
    shapes=ANY,
)
function("numbers of the program", lambda m, x: [1, 2.5, True, None, x, torch.pi], X)
function("text among the results", lambda m, x: ["text", x], X)
