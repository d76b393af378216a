"""Invertible functions of tensors with the determinants of their derivatives. Formulas are rows of ops/distributions/transforms.toml."""

import functools
import itertools
import math
import operator
import weakref

import cresset as torch

from . import constraints
from ._rows import from_rows, of, row
from .utils import _sum_rightmost, broadcast_all, lazy_property

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
    _arguments = None  # names of the constructor's arguments that `with_cache` passes on

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ValueError(f"Transform: expected a cache_size of 0 or 1, got {cache_size}")
        self._cache_size, self._inv = cache_size, None
        self._known = (None, None)  # the last pair of argument and result
        super().__init__()

    def __getstate__(self):
        return {**vars(self), "_inv": None}

    @property
    def event_dim(self):
        """The dimensions of an event, where the two sides agree about it."""
        taken, made = self.domain.event_dim, self.codomain.event_dim
        if taken != made:
            raise ValueError(f"Transform: domain and codomain have events of different dimensions, got {taken} and {made}; ask one of them")
        return taken

    def _new_inverse(self):
        return _InverseTransform(self)

    @property
    def inv(self):
        """The inverse, whose `inv` is this transform."""
        known = self._inv and self._inv()
        if known is None:
            known = self._new_inverse()
            self._inv = weakref.ref(known)
        return known

    def _missing(self, what):
        return NotImplementedError(f"{type(self).__name__} does not implement {what}")

    @property
    def sign(self):
        """+1 or -1 as the function increases or decreases."""
        raise self._missing("sign")

    def with_cache(self, cache_size=1):
        """The same transform with another cache."""
        if cache_size == self._cache_size:
            return self
        if self._arguments is None and type(self).__init__ is not Transform.__init__:
            raise self._missing("with_cache")
        return type(self)(*(getattr(self, name) for name in self._arguments or ()), cache_size=cache_size)

    def __eq__(self, other):
        return self is other

    __hash__ = None

    def _remembered(self, function, given, backwards):
        """The function's value, taken from the remembered pair where that has it."""
        if self._cache_size == 0:
            return function(given)
        if self._known[backwards] is not given:
            pair = (given, function(given))
            self._known = pair[::-1] if backwards else pair
        return self._known[not backwards]

    def __call__(self, x):
        """The function's value."""
        return self._remembered(self._call, x, False)

    def _inv_call(self, y):
        return self._remembered(self._inverse, y, True)

    def _call(self, x):
        raise self._missing("_call")

    def _inverse(self, y):
        raise self._missing("_inverse")

    def log_abs_det_jacobian(self, x, y):
        """log |det dy/dx| of each event."""
        raise self._missing("log_abs_det_jacobian")

    def __repr__(self):
        return f"{type(self).__name__}()"

    def forward_shape(self, shape):
        """The shape of the result for an argument of `shape`."""
        return shape

    def inverse_shape(self, shape):
        """The shape of the argument for a result of `shape`."""
        return shape


def _plain(cls):
    """A transform without parameters: its functions are rows, and all of its class are equal."""
    cls.__eq__ = lambda self, other: isinstance(other, cls)
    return from_rows()(cls)


def _at_least(count, shape):
    if len(shape) < count:
        raise ValueError(f"Transform: expected at least {count} dimensions, got shape {shape}")


class _InverseTransform(Transform):
    bijective, sign, inv = of("_inv.bijective"), of("_inv.sign"), of("_inv")

    def __init__(self, transform):
        Transform.__init__(self, transform._cache_size)
        self._inv = transform

    def __getstate__(self):
        return vars(self).copy()

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return type(other) is type(self) and other._inv == self._inv

    def __repr__(self):
        return f"{type(self).__name__}({self._inv})"

    def __call__(self, x):
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return self._inv.log_abs_det_jacobian(y, x).neg()

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

    _arguments = ("parts",)

    def __init__(self, parts, cache_size=0):
        Transform.__init__(self, cache_size)
        self.parts = [step.with_cache(cache_size) for step in parts] if cache_size else parts

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and other.parts == self.parts

    def _side(self, near, far):
        """The constraint of one side: that of the outermost part, with the dimensions that the others need."""
        steps = self.parts if near == "domain" else self.parts[::-1]
        if not steps:
            return constraints.real
        outermost, needed = getattr(steps[0], near), getattr(steps[-1], far).event_dim
        for step in steps[::-1]:
            taken = getattr(step, near).event_dim
            needed = max(taken, needed + taken - getattr(step, far).event_dim)
        more = needed - outermost.event_dim
        return constraints.independent(outermost, more) if more > 0 else outermost

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._side("domain", "codomain")

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._side("codomain", "domain")

    @lazy_property
    def bijective(self):
        return all(step.bijective for step in self.parts)

    @lazy_property
    def sign(self):
        return functools.reduce(operator.mul, (step.sign for step in self.parts), 1)

    def _new_inverse(self):
        inverse = ComposeTransform([step.inv for step in self.parts[::-1]])
        inverse._inv = weakref.ref(self)
        return inverse

    def __call__(self, x):
        return functools.reduce(lambda value, step: step(value), self.parts, x)

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return torch.zeros_like(x)
        values = [*itertools.accumulate(self.parts[:-1], lambda value, step: step(value), initial=x), y]
        dim, terms = self.domain.event_dim, []
        for i, step in enumerate(self.parts):
            taken = step.domain.event_dim
            terms.append(_sum_rightmost(step.log_abs_det_jacobian(*values[i : i + 2]), dim - taken))
            dim = dim - taken + step.codomain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape):
        return functools.reduce(lambda sizes, step: step.forward_shape(sizes), self.parts, shape)

    def inverse_shape(self, shape):
        return functools.reduce(lambda sizes, step: step.inverse_shape(sizes), self.parts[::-1], shape)

    def __repr__(self):
        lines = ",\n    ".join(map(repr, self.parts))
        return f"{type(self).__name__}(\n    {lines}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last `reinterpreted_batch_ndims` dimensions of places make up one event: their log determinants are summed.

    >>> t = torch.distributions.IndependentTransform(torch.distributions.ExpTransform(), 1)
    >>> x = torch.ones(3)
    >>> t.log_abs_det_jacobian(x, t(x))
    tensor(3.)
    """

    _arguments = ("base_transform", "reinterpreted_batch_ndims")
    bijective, sign = of("base_transform.bijective"), of("base_transform.sign")
    forward_shape, inverse_shape = of("base_transform.forward_shape"), of("base_transform.inverse_shape")

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        Transform.__init__(self, cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform.with_cache(cache_size), reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    def _call(self, x):
        _at_least(self.domain.event_dim, x.shape)
        return self.base_transform(x)

    def _inverse(self, y):
        _at_least(self.codomain.event_dim, y.shape)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_transform}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Events of shape `in_shape` as events of shape `out_shape`. Raises ValueError where they differ in number of elements.

    >>> torch.distributions.ReshapeTransform((2, 3), (6,))(torch.zeros(4, 2, 3)).shape
    torch.Size([4, 6])
    """

    bijective = True
    _arguments = ("in_shape", "out_shape")

    def __init__(self, in_shape, out_shape, cache_size=0):
        Transform.__init__(self, cache_size)
        self.in_shape, self.out_shape = torch.Size(in_shape), torch.Size(out_shape)
        if math.prod(in_shape) != math.prod(out_shape):
            raise ValueError(f"ReshapeTransform: in_shape and out_shape differ in their number of elements, got {self.in_shape} and {self.out_shape}")

    @constraints.dependent_property
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    @staticmethod
    def _cut(shape, old):
        return shape[: len(shape) - len(old)]

    def _call(self, x):
        return x.reshape(self._cut(x.shape, self.in_shape) + self.out_shape)

    def _inverse(self, y):
        return y.reshape(self._cut(y.shape, self.out_shape) + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(self._cut(x.shape, self.in_shape))

    def _replaced(self, shape, old, new):
        """`shape` with its end `old` replaced by `new`."""
        _at_least(len(old), shape)
        if self._cut(shape, old) + old != shape:
            raise ValueError(f"ReshapeTransform: expected a shape that ends in {old}, got {shape}")
        return self._cut(shape, old) + new

    def forward_shape(self, shape):
        return self._replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return self._replaced(shape, self.out_shape, self.in_shape)


@_plain
class ExpTransform(Transform):
    """y = exp(x).

    >>> torch.distributions.ExpTransform()(torch.tensor(0.0))
    tensor(1.)
    """

    domain, codomain = constraints.real, constraints.positive
    bijective, sign = True, 1


@_plain
class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)).

    >>> torch.distributions.SigmoidTransform()(torch.tensor(0.0))
    tensor(0.5000)
    """

    domain, codomain = constraints.real, constraints.unit_interval
    bijective, sign = True, 1


@_plain
class SoftplusTransform(Transform):
    """y = log(1 + exp(x)); x itself above 20.

    >>> torch.distributions.SoftplusTransform()(torch.tensor(30.0))
    tensor(30.)
    """

    domain, codomain = constraints.real, constraints.positive
    bijective, sign = True, 1


@_plain
class TanhTransform(Transform):
    """y = tanh(x). Give it a cache where results close to 1 or -1 are taken back.

    >>> torch.distributions.TanhTransform()(torch.tensor(0.0))
    tensor(0.)
    """

    domain, codomain = constraints.real, constraints.interval(-1.0, 1.0)
    bijective, sign = True, 1


@_plain
class AbsTransform(Transform):
    """y = |x|; not bijective: the inverse is the identity.

    >>> torch.distributions.AbsTransform()(torch.tensor(-2.0))
    tensor(2.)
    """

    domain, codomain = constraints.real, constraints.positive


class _Broadcasting(Transform):
    """A transform of parameters that broadcast against its argument."""

    def forward_shape(self, shape):
        return torch.broadcast_shapes(shape, *(value.shape for value in map(vars(self).get, self._arguments) if isinstance(value, torch.Tensor)))

    inverse_shape = forward_shape


@from_rows()
class PowerTransform(_Broadcasting):
    """y = x to the power `exponent`.

    >>> torch.distributions.PowerTransform(2.0)(torch.tensor(3.0))
    tensor(9.)
    """

    domain = codomain = constraints.positive
    bijective = True
    _arguments = ("exponent",)

    def __init__(self, exponent, cache_size=0):
        Transform.__init__(self, cache_size)
        self.exponent = broadcast_all(exponent)[0]

    @lazy_property
    def sign(self):
        return torch.sign(self.exponent)

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and _equal(self.exponent, other.exponent)


def _equal(a, b):
    """Equality of numbers or tensors."""
    same = a == b
    return bool(same.all()) if isinstance(same, torch.Tensor) else same


@from_rows()
class AffineTransform(_Broadcasting):
    """y = `loc` + `scale` x; with `event_dim` more than 0 the last dimensions make up one event.

    >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor(3.0))
    tensor(7.)
    """

    bijective = True
    event_dim = of("_event_dim")
    _arguments = ("loc", "scale", "event_dim")

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        Transform.__init__(self, cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    def __eq__(self, other):
        return isinstance(other, AffineTransform) and all(_equal(a, b) for a, b in ((self.loc, other.loc), (self.scale, other.scale)))

    @property
    def sign(self):
        if isinstance(self.scale, torch.Tensor):
            return torch.sign(self.scale)
        return int(self.scale > 0) - int(self.scale < 0)

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, torch.Tensor):
            slope = row("_affinetransform_log_slope")(self.scale)
        else:
            slope = torch.full_like(x, math.log(abs(self.scale)))
        return _sum_rightmost(slope, self._event_dim).expand(x.shape[: x.dim() - self._event_dim])


@from_rows()
class CorrCholeskyTransform(Transform):
    r"""From D (D - 1) / 2 real numbers to the Cholesky factor of a D x D correlation matrix.

    The tanh of each number is a partial correlation: row by row, each takes its share of what is left of the row's unit length
    (Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion method", 2009).

    >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def forward_shape(self, shape):
        _at_least(1, shape)
        *batch, count = shape
        rows = (1 + math.isqrt(1 + 8 * count)) // 2
        if rows * (rows - 1) != 2 * count:
            raise ValueError(f"CorrCholeskyTransform: expected n (n - 1) / 2 numbers, got {count}")
        return torch.Size((*batch, rows, rows))

    def inverse_shape(self, shape):
        _at_least(2, shape)
        *batch, rows, columns = shape
        if rows != columns:
            raise ValueError(f"CorrCholeskyTransform: expected square matrices, got shape {shape}")
        return torch.Size((*batch, math.comb(rows, 2)))


@_plain
class SoftmaxTransform(Transform):
    """From real vectors to the simplex by exponents and division; the inverse is the logarithm. Not bijective.

    >>> torch.distributions.SoftmaxTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def forward_shape(self, shape):
        _at_least(1, shape)
        return shape

    inverse_shape = forward_shape


@_plain
class StickBreakingTransform(Transform):
    """From real vectors to a simplex of one dimension more: each number breaks off its share of what is left of a stick.

    >>> torch.distributions.StickBreakingTransform()(torch.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    def forward_shape(self, shape, more=1):
        _at_least(1, shape)
        *batch, count = shape
        return torch.Size((*batch, count + more))

    def inverse_shape(self, shape):
        return self.forward_shape(shape, -1)


@_plain
class LowerCholeskyTransform(Transform):
    """From square matrices to lower triangular ones with a positive diagonal, the exponential of the argument's.

    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky


@_plain
class PositiveDefiniteTransform(Transform):
    """From square matrices to positive definite ones: the product of a Cholesky factor with its transpose.

    >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite


class _OfPieces(Transform):
    """Transforms of pieces along a dimension. Subclasses say how values are cut, and how they are put together."""

    def __init__(self, tseq, dim, cache_size):
        Transform.__init__(self, cache_size)
        for step in tseq:
            if not isinstance(step, Transform):
                raise AssertionError(f"{type(self).__name__}: expected transforms, got {type(step).__name__}")
        self.transforms = [step.with_cache(cache_size) if cache_size else step for step in tseq]
        self.dim = dim

    def _pieces(self, value, name):
        kind, dim = type(self).__name__, self.dim
        if dim not in range(-value.dim(), value.dim()):
            raise AssertionError(f"{kind}: dim is out of range, got {dim} for {name} of {value.dim()} dimensions")
        if value.size(dim) != self._length():
            raise AssertionError(f"{kind}: expected size {self._length()} at dim {dim} of {name}, got {value.size(dim)}")
        return self._cut(value)

    def _call(self, x):
        return self._join([step(piece) for step, piece in zip(self.transforms, self._pieces(x, "x"), strict=True)], self.dim)

    def _inverse(self, y):
        return self._join([step.inv(piece) for step, piece in zip(self.transforms, self._pieces(y, "y"), strict=True)], self.dim)

    def _jacobians(self, x, y):
        sides = zip(self.transforms, self._pieces(x, "x"), self._pieces(y, "y"), strict=True)
        return [step.log_abs_det_jacobian(before, after) for step, before, after in sides]

    @property
    def bijective(self):
        return all(step.bijective for step in self.transforms)

    @constraints.dependent_property
    def domain(self):
        return self._side("domain")

    @constraints.dependent_property
    def codomain(self):
        return self._side("codomain")


class CatTransform(_OfPieces):
    """Transforms of pieces of the lengths `lengths`, 1 by default, along `dim`.

    >>> T = torch.distributions
    >>> T.CatTransform([T.ExpTransform(), T.identity_transform], 0, [1, 2])(torch.zeros(3))
    tensor([1., 0., 0.])
    """

    _arguments = ("transforms", "dim", "lengths")
    _join = staticmethod(torch.cat)

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = list(lengths or [1] * len(self.transforms))
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"CatTransform: expected a length for each of {len(self.transforms)} transforms, got {len(self.lengths)}")

    @lazy_property
    def event_dim(self):
        return max(step.event_dim for step in self.transforms)

    def _length(self):
        return sum(self.lengths)

    length = property(_length)

    def _cut(self, value):
        return value.split(self.lengths, self.dim)

    def _side(self, name):
        return constraints.cat([getattr(step, name) for step in self.transforms], self.dim, self.lengths)

    def log_abs_det_jacobian(self, x, y):
        most = self.event_dim
        terms = [_sum_rightmost(term, most - step.event_dim) for term, step in zip(self._jacobians(x, y), self.transforms, strict=True)]
        place = most + (self.dim - x.dim() if self.dim >= 0 else self.dim)
        return torch.cat(terms, place) if place < 0 else sum(terms)


class StackTransform(_OfPieces):
    """Transforms of the slices along `dim`.

    >>> T = torch.distributions
    >>> T.StackTransform([T.ExpTransform(), T.identity_transform])(torch.zeros(2))
    tensor([1., 0.])
    """

    _arguments = ("transforms", "dim")
    _join = staticmethod(torch.stack)

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(tseq, dim, cache_size)

    def _length(self):
        return len(self.transforms)

    def _cut(self, value):
        return value.unbind(self.dim)

    def _side(self, name):
        return constraints.stack([getattr(step, name) for step in self.transforms], self.dim)

    def log_abs_det_jacobian(self, x, y):
        return torch.stack(self._jacobians(x, y), self.dim)


class CumulativeDistributionTransform(Transform):
    """y = the probability of values up to x under a distribution.

    >>> t = torch.distributions.CumulativeDistributionTransform(torch.distributions.Normal(0.0, 1.0))
    >>> t(torch.tensor(0.0))
    tensor(0.5000)
    """

    bijective, sign = True, 1
    codomain = constraints.unit_interval
    domain = of("distribution.support")
    _call, _inverse = of("distribution.cdf"), of("distribution.icdf")
    _arguments = ("distribution",)

    def __init__(self, distribution, cache_size=0):
        Transform.__init__(self, cache_size)
        self.distribution = distribution

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)
