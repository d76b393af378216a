"""Invertible functions of tensors with the determinants of their derivatives."""

import functools
import math
import operator
import weakref

import cresset as torch
from cresset.nn import functional as F

from . import constraints
from .utils import _sum_rightmost, broadcast_all, lazy_property, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform", "ExpTransform",
    "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform",
    "SoftplusTransform", "TanhTransform", "SoftmaxTransform", "StackTransform", "StickBreakingTransform", "Transform", "identity_transform",
]  # fmt: skip


class Transform:
    """A function from `domain` to `codomain`, with an inverse, `inv`.

    Subclasses define `_call` or `_inverse` or both, and, where `bijective`, `log_abs_det_jacobian`. With `cache_size=1` the last pair of
    argument and result is remembered, so that the inverse of a result is the very argument. `sign` is +1 or -1 for increasing and decreasing
    functions of one number.

    >>> t = torch.distributions.ExpTransform()
    >>> t.inv(t(torch.tensor(2.0)))
    tensor(2.)
    """

    bijective = False

    def __init__(self, cache_size=0):
        self._cache_size = cache_size
        self._inv = None
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        if cache_size:
            self._cached_x_y = None, None
        super().__init__()

    def __getstate__(self):
        state = self.__dict__.copy()
        state["_inv"] = None
        return state

    @property
    def event_dim(self):
        """The dimensions of an event, where the two sides agree about it."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self):
        """The inverse, whose `inv` is this transform."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self):
        """+1 or -1 as the function increases or decreases."""
        raise NotImplementedError

    def with_cache(self, cache_size=1):
        """The same transform with another cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other):
        return self is other

    __hash__ = None

    def __call__(self, x):
        """The function's value."""
        if not self._cache_size:
            return self._call(x)
        known, value = self._cached_x_y
        if x is known:
            return value
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y):
        if not self._cache_size:
            return self._inverse(y)
        value, known = self._cached_x_y
        if y is known:
            return value
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x):
        raise NotImplementedError

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x, y):
        """log |det dy/dx| of each event."""
        raise NotImplementedError

    def __repr__(self):
        return self.__class__.__name__ + "()"

    def forward_shape(self, shape):
        """The shape of the result for an argument of `shape`."""
        return shape

    def inverse_shape(self, shape):
        """The shape of the argument for a result of `shape`."""
        return shape


def _same_kind(cls):
    """Transforms without parameters are equal where their classes are."""
    cls.__eq__ = lambda self, other: isinstance(other, cls)
    return cls


class _InverseTransform(Transform):
    def __init__(self, transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    @property
    def bijective(self):
        return self._inv.bijective

    @property
    def sign(self):
        return self._inv.sign

    @property
    def inv(self):
        return self._inv

    def __getstate__(self):
        return self.__dict__.copy()

    def with_cache(self, cache_size=1):
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self):
        return f"{self.__class__.__name__}({self._inv!r})"

    def __call__(self, x):
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Transforms one after the other; each remembers for itself.

    >>> T = torch.distributions
    >>> T.ComposeTransform([T.AffineTransform(0.0, 2.0), T.ExpTransform()])(torch.tensor(0.0))
    tensor(1.)
    """

    def __init__(self, parts, cache_size=0):
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    def _side(self, parts, first, last):
        """The constraint of one side: that of the outermost part, with the dimensions that the others need."""
        if not parts:
            return constraints.real
        side = first(parts[0])
        dim = last(parts[-1]).event_dim
        for part in reversed(parts):
            dim += first(part).event_dim - last(part).event_dim
            dim = max(dim, first(part).event_dim)
        return constraints.independent(side, dim - side.event_dim) if dim > side.event_dim else side

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._side(self.parts, operator.attrgetter("domain"), operator.attrgetter("codomain"))

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._side(self.parts[::-1], operator.attrgetter("codomain"), operator.attrgetter("domain"))

    @lazy_property
    def bijective(self):
        return all(p.bijective for p in self.parts)

    @lazy_property
    def sign(self):
        return functools.reduce(lambda sign, part: sign * part.sign, self.parts, 1)

    @property
    def inv(self):
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv = weakref.ref(inverse)
            inverse._inv = weakref.ref(self)
        return inverse

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return torch.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        terms, event_dim = [], self.domain.event_dim
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            terms.append(_sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        return f"{self.__class__.__name__}(\n    " + ",\n    ".join(repr(p) for p in self.parts) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last `reinterpreted_batch_ndims` dimensions of places make up one event: their log determinants are summed.

    >>> t = torch.distributions.IndependentTransform(torch.distributions.ExpTransform(), 1)
    >>> x = torch.ones(3)
    >>> t.log_abs_det_jacobian(x, t(x))
    tensor(3.)
    """

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self):
        return self.base_transform.bijective

    @property
    def sign(self):
        return self.base_transform.sign

    def _call(self, x):
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y):
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"{self.__class__.__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)


def _reshaped(shape, old, new):
    """`shape` with its end `old` replaced by `new`."""
    if len(shape) < len(old):
        raise ValueError("Too few dimensions on input")
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


class ReshapeTransform(Transform):
    """Events of shape `in_shape` as events of shape `out_shape`. Raises ValueError where they differ in number of elements.

    >>> torch.distributions.ReshapeTransform((2, 3), (6,))(torch.zeros(4, 2, 3)).shape
    torch.Size([4, 6])
    """

    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        self.in_shape = torch.Size(in_shape)
        self.out_shape = torch.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x):
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape):
        return _reshaped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return _reshaped(shape, self.out_shape, self.in_shape)


@_same_kind
class ExpTransform(Transform):
    """y = exp(x).

    >>> torch.distributions.ExpTransform()(torch.tensor(0.0))
    tensor(1.)
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """y = x to the power `exponent`.

    >>> torch.distributions.PowerTransform(2.0)(torch.tensor(3.0))
    tensor(9.)
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self):
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and self.exponent.eq(other.exponent).all().item()

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return torch.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    def inverse_shape(self, shape):
        return torch.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))


@_same_kind
class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)).

    >>> torch.distributions.SigmoidTransform()(torch.tensor(0.0))
    tensor(0.5000)
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x):
        info = torch.finfo(x.dtype)
        return torch.sigmoid(x).clamp(min=info.tiny, max=1.0 - info.eps)

    def _inverse(self, y):
        info = torch.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -F.softplus(-x) - F.softplus(x)


@_same_kind
class SoftplusTransform(Transform):
    """y = log(1 + exp(x)); x itself above 20.

    >>> torch.distributions.SoftplusTransform()(torch.tensor(30.0))
    tensor(30.)
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x):
        return F.softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -F.softplus(-x)


@_same_kind
class TanhTransform(Transform):
    """y = tanh(x). Give it a cache where results close to 1 or -1 are taken back.

    >>> torch.distributions.TanhTransform()(torch.tensor(0.0))
    tensor(0.)
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))  # 1 - tanh(x)^2 without cancellation


@_same_kind
class AbsTransform(Transform):
    """y = |x|; not bijective: the inverse is the identity.

    >>> torch.distributions.AbsTransform()(torch.tensor(-2.0))
    tensor(2.)
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


def _equal(a, b):
    """Equality of numbers or tensors."""
    numbers = isinstance(a, (int, float)) and isinstance(b, (int, float))
    return a == b if numbers else bool(torch.as_tensor(a == b).all())


class AffineTransform(Transform):
    """y = `loc` + `scale` x; with `event_dim` more than 0 the last dimensions make up one event.

    >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor(3.0))
    tensor(7.)
    """

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self):
        return self._event_dim

    def _real(self):
        return constraints.real if self.event_dim == 0 else constraints.independent(constraints.real, self.event_dim)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._real()

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._real()

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other):
        return isinstance(other, AffineTransform) and _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    @property
    def sign(self):
        if isinstance(self.scale, torch.Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        shape = x.shape
        if isinstance(self.scale, torch.Tensor):
            result = self.scale.abs().log()
        else:
            result = torch.full_like(x, math.log(abs(self.scale)))
        if self.event_dim:
            result = result.view(result.size()[: -self.event_dim] + (-1,)).sum(-1)
            shape = shape[: -self.event_dim]
        return result.expand(shape)

    def _shape(self, shape):
        return torch.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    def forward_shape(self, shape):
        return self._shape(shape)

    def inverse_shape(self, shape):
        return self._shape(shape)


class CorrCholeskyTransform(Transform):
    r"""From D (D - 1) / 2 real numbers to the Cholesky factor of a D x D correlation matrix.

    The tanh of each number is a partial correlation: row by row, each takes its share of what is left of the row's unit length
    (Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion method", 2009).

    >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        x = torch.tanh(x)
        eps = torch.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r * r).sqrt().cumprod(-1)  # what remains of a row's length after each of its numbers
        r = r + torch.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * F.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        left = 1 - torch.cumsum(y * y, dim=-1)
        vector = tril_matrix_to_vec(y, diag=-1)
        length = tril_matrix_to_vec(F.pad(left[..., :-1], [1, 0], value=1), diag=-1)
        t = vector / length.sqrt()
        return (t.log1p() - t.neg().log1p()) / 2  # the inverse of tanh

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        left = 1 - (y * y).cumsum(dim=-1)
        lengths = tril_matrix_to_vec(left, diag=-2)
        stick = 0.5 * lengths.log().sum(-1)
        return stick - 2 * (x + F.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (size, size)

    def inverse_shape(self, shape):
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        size = shape[-1]
        return shape[:-2] + (size * (size - 1) // 2,)


@_same_kind
class SoftmaxTransform(Transform):
    """From real vectors to the simplex by exponents and division; the inverse is the logarithm. Not bijective.

    >>> torch.distributions.SoftmaxTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x):
        shares = (x - x.max(-1, True)[0]).exp()
        return shares / shares.sum(-1, True)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    def inverse_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape


@_same_kind
class StickBreakingTransform(Transform):
    """From real vectors to a simplex of one dimension more: each number breaks off its share of what is left of a stick.

    >>> torch.distributions.StickBreakingTransform()(torch.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _parts_left(self, x):
        """How many parts there are still to be made at each number, less the one made."""
        return x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)

    def _call(self, x):
        share = SigmoidTransform()(x - self._parts_left(x).log())
        left = (1 - share).cumprod(-1)
        return F.pad(share, [0, 1], value=1) * F.pad(left, [1, 0], value=1)

    def _inverse(self, y):
        cut = y[..., :-1]
        left = (1 - cut.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return cut.log() - left.log() + self._parts_left(cut).log()

    def log_abs_det_jacobian(self, x, y):
        x = x - self._parts_left(x).log()
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape[:-1] + (shape[-1] - 1,)


@_same_kind
class LowerCholeskyTransform(Transform):
    """From square matrices to lower triangular ones with a positive diagonal, the exponential of the argument's.

    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


@_same_kind
class PositiveDefiniteTransform(Transform):
    """From square matrices to positive definite ones: the product of a Cholesky factor with its transpose.

    >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        x = LowerCholeskyTransform()(x)
        return x @ x.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


def _check_sequence(tseq):
    if not all(isinstance(t, Transform) for t in tseq):
        raise AssertionError("All elements of tseq must be Transform instances")


def _check_dim(dim, value, name):
    if not -value.dim() <= dim < value.dim():
        raise AssertionError(f"dim {dim} out of range for {name} with {value.dim()} dimensions")


class CatTransform(Transform):
    """Transforms of pieces of the lengths `lengths`, 1 by default, along `dim`.

    >>> T = torch.distributions
    >>> T.CatTransform([T.ExpTransform(), T.identity_transform], 0, [1, 2])(torch.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        _check_sequence(tseq)
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")
        self.dim = dim

    @lazy_property
    def event_dim(self):
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self):
        return sum(self.lengths)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _pieces(self, value, name):
        _check_dim(self.dim, value, name)
        if value.size(self.dim) != self.length:
            raise AssertionError(f"{name} size at dim {self.dim} is {value.size(self.dim)}, expected {self.length}")
        return value.split(self.lengths, self.dim)

    def _call(self, x):
        return torch.cat([t(piece) for t, piece in zip(self.transforms, self._pieces(x, "x"), strict=True)], dim=self.dim)

    def _inverse(self, y):
        return torch.cat([t.inv(piece) for t, piece in zip(self.transforms, self._pieces(y, "y"), strict=True)], dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        terms = []
        for t, before, after in zip(self.transforms, self._pieces(x, "x"), self._pieces(y, "y"), strict=True):
            term = t.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, self.event_dim - t.event_dim) if t.event_dim < self.event_dim else term)
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return torch.cat(terms, dim=dim) if dim < 0 else sum(terms)

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """Transforms of the slices along `dim`.

    >>> T = torch.distributions
    >>> T.StackTransform([T.ExpTransform(), T.identity_transform])(torch.zeros(2))
    tensor([1., 0.])
    """

    def __init__(self, tseq, dim=0, cache_size=0):
        _check_sequence(tseq)
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _slice(self, z):
        return [z.select(self.dim, i) for i in range(z.size(self.dim))]

    def _slices(self, value, name):
        _check_dim(self.dim, value, name)
        if value.size(self.dim) != len(self.transforms):
            raise AssertionError(f"{name} size at dim {self.dim} is {value.size(self.dim)}, expected {len(self.transforms)}")
        return self._slice(value)

    def _call(self, x):
        return torch.stack([t(v) for t, v in zip(self.transforms, self._slices(x, "x"), strict=True)], dim=self.dim)

    def _inverse(self, y):
        return torch.stack([t.inv(v) for t, v in zip(self.transforms, self._slices(y, "y"), strict=True)], dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        pairs = zip(self.transforms, self._slices(x, "x"), self._slices(y, "y"), strict=True)
        return torch.stack([t.log_abs_det_jacobian(before, after) for t, before, after in pairs], dim=self.dim)

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """y = the probability of values up to x under a distribution.

    >>> t = torch.distributions.CumulativeDistributionTransform(torch.distributions.Normal(0.0, 1.0))
    >>> t(torch.tensor(0.0))
    tensor(0.5000)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else CumulativeDistributionTransform(self.distribution, cache_size=cache_size)


def __getattr__(name):
    from cresset import _missing

    return _missing.found(__name__, name)
