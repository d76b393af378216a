"""Regions in which the parameters and the values of distributions lie."""

import cresset as torch

__all__ = [
    "Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than", "greater_than_eq", "independent",
    "integer_interval", "interval", "half_open_interval", "is_dependent", "less_than", "lower_cholesky", "lower_triangular",
    "MixtureSameFamilyConstraint", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_semidefinite",
    "positive_definite", "positive_integer", "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A region; `check` says of each event in a tensor whether it lies inside.

    `is_discrete`: whether the region is. `event_dim`: how many of the last dimensions make up an event.

    >>> torch.distributions.constraints.positive.check(torch.tensor([-1.0, 2.0]))
    tensor([False,  True])
    """

    is_discrete = False
    event_dim = 0

    def check(self, value):
        """A bool for each event in `value`: of its shape without the last `event_dim` dimensions."""
        raise NotImplementedError(f"{type(self).__name__} does not implement check")

    def __repr__(self):
        return type(self).__name__.lstrip("_") + "()"


def _known(fact):
    """A property that is a fact about a dependent region, where that is known beforehand."""

    def get(self):
        value = getattr(self, "_" + fact)
        if value is NotImplemented:
            raise NotImplementedError(f"{fact} of a dependent constraint is not known before there is a value")
        return value

    return property(get)


class _Dependent(Constraint):
    """Stands for a region that depends on other values, so that it cannot be checked alone.

    >>> constraints = torch.distributions.constraints
    >>> constraints.dependent(is_discrete=False, event_dim=1).event_dim
    1
    """

    is_discrete, event_dim = _known("is_discrete"), _known("event_dim")

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        """The same with facts that are known beforehand."""
        given = {"is_discrete": is_discrete, "event_dim": event_dim}
        return _Dependent(**{name: getattr(self, "_" + name) if value is NotImplemented else value for name, value in given.items()})

    def check(self, x):
        raise ValueError("a dependent constraint cannot be checked: it depends on other values")


def is_dependent(constraint):
    """Whether a constraint depends on other values, so that it cannot be checked alone.

    >>> torch.distributions.constraints.is_dependent(torch.distributions.Uniform.support)
    True
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of objects that is a dependent constraint when asked of their class.

    >>> class Below:
    ...     @torch.distributions.constraints.dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return torch.distributions.constraints.less_than(1.0)
    >>> Below.support, Below().support
    (DependentProperty(), LessThan(upper_bound=1.0))
    """

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn):
        """As a decorator: the property of `fn`."""
        return type(self)(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _OfBase(Constraint):
    """A constraint of values that another one, `base_constraint`, checks parts of."""

    def __init__(self, base_constraint):
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"{type(self).__name__.lstrip('_')}: expected a constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)

    def _whole(self, inside, value, dims):
        """Events of `dims` more dimensions: inside where all their parts are."""
        if value.dim() < self.event_dim:
            raise ValueError(f"constraint: expected at least {self.event_dim} dimensions, got {value.dim()}")
        return inside.flatten(inside.dim() - dims).all(-1) if dims else inside.unsqueeze(-1).all(-1)


class _IndependentConstraint(_OfBase):
    """A constraint whose last `reinterpreted_batch_ndims` dimensions of places make up one event: inside where all of them are.

    >>> constraints = torch.distributions.constraints
    >>> constraints.independent(constraints.positive, 1).check(torch.tensor([[1.0, 2.0], [1.0, -2.0]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        super().__init__(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(f"IndependentConstraint: expected reinterpreted_batch_ndims of at least 0, got {reinterpreted_batch_ndims}")
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    event_dim = property(lambda self: self.reinterpreted_batch_ndims + self.base_constraint.event_dim)

    def check(self, value):
        return self._whole(self.base_constraint.check(value), value, self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"IndependentConstraint({self.base_constraint}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_OfBase):
    """The support of a `MixtureSameFamily`: a value is checked against the constraint of each component.

    >>> constraints = torch.distributions.constraints
    >>> constraints.MixtureSameFamilyConstraint(constraints.positive).check(torch.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    event_dim = property(lambda self: self.base_constraint.event_dim)

    def check(self, value):
        inside = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return self._whole(inside, value, inside.dim() - value.dim() + self.event_dim)

    def __repr__(self):
        return f"MixtureSameFamilyConstraint({self.base_constraint})"


class _Bounded(Constraint):
    """Regions within bounds, shown by name."""

    def __repr__(self):
        return f"{type(self).__name__[1:]}({', '.join(f'{name}={bound}' for name, bound in vars(self).items())})"


class _WithLower(_Bounded):
    def __init__(self, lower_bound):
        self.lower_bound = lower_bound


class _WithUpper(_Bounded):
    def __init__(self, upper_bound):
        self.upper_bound = upper_bound


class _WithBoth(_Bounded):
    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


def _whole_numbers(value):
    return value.remainder(1) == 0


class _GreaterThan(_WithLower):
    """Numbers above `lower_bound`.

    >>> torch.distributions.constraints.greater_than(0.5).check(torch.tensor([0.5, 0.6]))
    tensor([False,  True])
    """

    def check(self, value):
        return value > self.lower_bound


class _GreaterThanEq(_WithLower):
    """Numbers from `lower_bound` on.

    >>> torch.distributions.constraints.greater_than_eq(0.5).check(torch.tensor([0.4, 0.5]))
    tensor([False,  True])
    """

    def check(self, value):
        return value >= self.lower_bound


class _IntegerGreaterThan(_WithLower):
    is_discrete = True

    def check(self, value):
        return _whole_numbers(value) & (value >= self.lower_bound)


class _LessThan(_WithUpper):
    """Numbers below `upper_bound`.

    >>> torch.distributions.constraints.less_than(0.5).check(torch.tensor([0.4, 0.5]))
    tensor([ True, False])
    """

    def check(self, value):
        return value < self.upper_bound


class _IntegerLessThan(_WithUpper):
    is_discrete = True

    def check(self, value):
        return _whole_numbers(value) & (value <= self.upper_bound)


class _Multinomial(_WithUpper):
    """Counts whose sum is at most `upper_bound`; PyTorch checks no more either.

    >>> torch.distributions.constraints.multinomial(3).check(torch.tensor([[1.0, 2.0], [2.0, 2.0]]))
    tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1
    __repr__ = Constraint.__repr__

    def check(self, x):
        return (x.sum(-1) <= self.upper_bound) & (x >= 0).all(-1)


class _Interval(_WithBoth):
    """Numbers from `lower_bound` to `upper_bound`, both included.

    >>> torch.distributions.constraints.interval(0.0, 1.0).check(torch.tensor([0.0, 1.0, 1.5]))
    tensor([ True,  True, False])
    """

    def check(self, value):
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(_WithBoth):
    """Numbers from `lower_bound`, included, to `upper_bound`, not included.

    >>> torch.distributions.constraints.half_open_interval(0.0, 1.0).check(torch.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    def check(self, value):
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _IntegerInterval(_WithBoth):
    """Whole numbers from `lower_bound` to `upper_bound`, both included.

    >>> torch.distributions.constraints.integer_interval(0, 2).check(torch.tensor([0.5, 2.0, 3.0]))
    tensor([False,  True, False])
    """

    is_discrete = True

    def check(self, value):
        return _whole_numbers(value) & (value >= self.lower_bound) & (value <= self.upper_bound)


class _Real(Constraint):
    def check(self, value):
        return ~value.isnan()


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 1) | (value == 0)


class _OneHot(_Boolean):
    event_dim = 1

    def check(self, value):
        return super().check(value).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value):
        away = (value.sum(-1) - 1).abs()
        return (away < 1e-6) & (value >= 0).all(-1)


class _Matrices(Constraint):
    event_dim = 2


class _LowerTriangular(_Matrices):
    def check(self, value):
        return (value == value.tril()).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value):
        return super().check(value) & (value.diagonal(0, -2, -1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value):
        length = value.square().sum(-1).sqrt()
        unit = (length - 1).abs() < torch.finfo(value.dtype).eps * value.size(-1) * 10  # as wide as PyTorch takes it
        return unit.all(-1) & super().check(value)


class _Square(_Matrices):
    def check(self, value):
        if value.dim() < 2:
            raise IndexError(f"square: expected matrices, got a tensor of shape {list(value.shape)}")
        *batch, rows, columns = value.shape
        return torch.full(batch, rows == columns, dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value):
        inside = super().check(value)
        return torch.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1) if inside.all() else inside


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        inside = super().check(value)
        return (torch.linalg.eigvalsh(value) >= 0).all(-1) if inside.all() else inside


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        inside = super().check(value)
        return torch.linalg.cholesky_ex(value).info == 0 if inside.all() else inside


class _OfPieces(Constraint):
    """Constraints of pieces of a tensor along `dim`."""

    def __init__(self, cseq, dim):
        if not all(isinstance(part, Constraint) for part in cseq):
            raise AssertionError(f"{type(self).__name__[1:]}: expected constraints, got {[type(part).__name__ for part in cseq]}")
        self.cseq, self.dim = list(cseq), dim

    is_discrete = property(lambda self: any(part.is_discrete for part in self.cseq))
    event_dim = property(lambda self: max(part.event_dim for part in self.cseq))

    def _checked(self, value, pieces):
        return [part.check(piece) for part, piece in zip(self.cseq, pieces, strict=False)]

    def _check_dim(self, value):
        if self.dim not in range(-value.dim(), value.dim()):
            raise AssertionError(f"{type(self).__name__[1:]}: dim is out of range, got {self.dim} for a value of {value.dim()} dimensions")


class _Cat(_OfPieces):
    """Constraints of pieces of the lengths `lengths` along `dim`, as `torch.cat` puts them together.

    >>> constraints = torch.distributions.constraints
    >>> constraints.cat([constraints.positive, constraints.real], -1, [1, 2]).check(torch.tensor([-1.0, -1.0, 2.0]))
    tensor([False,  True,  True])
    """

    def __init__(self, cseq, dim=0, lengths=None):
        super().__init__(cseq, dim)
        self.lengths = list(lengths or [1] * len(self.cseq))
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"Cat: expected a length for each of {len(self.cseq)} constraints, got {len(self.lengths)}")

    def check(self, value):
        self._check_dim(value)
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        pieces = [value.narrow(self.dim, start, length) for start, length in zip(starts, self.lengths, strict=True)]
        return torch.cat(self._checked(value, pieces), self.dim)


class _Stack(_OfPieces):
    """Constraints of the slices along `dim`, as `torch.stack` puts them together.

    >>> constraints = torch.distributions.constraints
    >>> constraints.stack([constraints.positive, constraints.real], -1).check(torch.tensor([-1.0, -1.0]))
    tensor([False,  True])
    """

    def __init__(self, cseq, dim=0):
        super().__init__(cseq, dim)

    @property
    def event_dim(self):
        inner = max(part.event_dim for part in self.cseq)
        return inner + int(inner + self.dim < 0)

    def check(self, value):
        self._check_dim(value)
        return torch.stack(self._checked(value, value.unbind(self.dim)), self.dim)


dependent, dependent_property = _Dependent(), _DependentProperty
independent, cat, stack = _IndependentConstraint, _Cat, _Stack
greater_than, greater_than_eq, less_than = _GreaterThan, _GreaterThanEq, _LessThan
interval, half_open_interval, integer_interval = _Interval, _HalfOpenInterval, _IntegerInterval
multinomial = _Multinomial

boolean, one_hot, real, simplex = _Boolean(), _OneHot(), _Real(), _Simplex()
nonnegative, positive, unit_interval = _GreaterThanEq(0.0), _GreaterThan(0.0), _Interval(0.0, 1.0)
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
real_vector = independent(real, 1)
square, symmetric = _Square(), _Symmetric()
lower_triangular, lower_cholesky, corr_cholesky = _LowerTriangular(), _LowerCholesky(), _CorrCholesky()
positive_semidefinite, positive_definite = _PositiveSemidefinite(), _PositiveDefinite()
