"""torch.distributions: probability distributions."""

from collections.abc import Callable
from typing import Any, Self, TypeAlias, TypeVar

from _cresset import Size, Tensor, _bool, _float, _int, _str

from . import constraints as constraints, transforms as transforms
from .transforms import *

_Value: TypeAlias = Tensor | _float
_Shape: TypeAlias = Size | list[_int] | tuple[_int, ...]
_Rule = TypeVar("_Rule", bound=Callable[..., Any])

class Distribution:
    has_rsample: _bool
    has_enumerate_support: _bool
    def __init__(self, batch_shape: _Shape = ..., event_shape: _Shape = ..., validate_args: _bool | None = None) -> None: ...
    @staticmethod
    def set_default_validate_args(value: _bool) -> None: ...
    def expand(self, batch_shape: _Shape, _instance: Any = None) -> Self: ...
    @property
    def batch_shape(self) -> Size: ...
    @property
    def event_shape(self) -> Size: ...
    @property
    def arg_constraints(self) -> dict[_str, constraints.Constraint]: ...
    @property
    def support(self) -> constraints.Constraint: ...
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    @property
    def variance(self) -> Tensor: ...
    @property
    def stddev(self) -> Tensor: ...
    def sample(self, sample_shape: _Shape = ...) -> Tensor: ...
    def rsample(self, sample_shape: _Shape = ...) -> Tensor: ...
    def sample_n(self, n: _int) -> Tensor: ...
    def log_prob(self, value: Tensor) -> Tensor: ...
    def cdf(self, value: Tensor) -> Tensor: ...
    def icdf(self, value: Tensor) -> Tensor: ...
    def enumerate_support(self, expand: _bool = True) -> Tensor: ...
    def entropy(self) -> Tensor: ...
    def perplexity(self) -> Tensor: ...

class ExponentialFamily(Distribution): ...

class Bernoulli(ExponentialFamily):
    probs: Tensor
    logits: Tensor
    def __init__(self, probs: _Value | None = None, logits: _Value | None = None, validate_args: _bool | None = None) -> None: ...

class Beta(ExponentialFamily):
    @property
    def concentration1(self) -> Tensor: ...
    @property
    def concentration0(self) -> Tensor: ...
    def __init__(self, concentration1: _Value, concentration0: _Value, validate_args: _bool | None = None) -> None: ...

class Binomial(Distribution):
    total_count: Tensor
    probs: Tensor
    logits: Tensor
    def __init__(
        self, total_count: _Value = 1, probs: _Value | None = None, logits: _Value | None = None, validate_args: _bool | None = None,
    ) -> None: ...  # fmt: skip

class Categorical(Distribution):
    probs: Tensor
    logits: Tensor
    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: _bool | None = None) -> None: ...

class Cauchy(Distribution):
    loc: Tensor
    scale: Tensor
    def __init__(self, loc: _Value, scale: _Value, validate_args: _bool | None = None) -> None: ...

class Gamma(ExponentialFamily):
    concentration: Tensor
    rate: Tensor
    def __init__(self, concentration: _Value, rate: _Value, validate_args: _bool | None = None) -> None: ...

class Chi2(Gamma):
    @property
    def df(self) -> Tensor: ...
    def __init__(self, df: _Value, validate_args: _bool | None = None) -> None: ...

class ContinuousBernoulli(ExponentialFamily):
    probs: Tensor
    logits: Tensor
    def __init__(
        self, probs: _Value | None = None, logits: _Value | None = None, lims: tuple[_float, _float] = ..., validate_args: _bool | None = None,
    ) -> None: ...  # fmt: skip

class Dirichlet(ExponentialFamily):
    concentration: Tensor
    def __init__(self, concentration: Tensor, validate_args: _bool | None = None) -> None: ...

class Exponential(ExponentialFamily):
    rate: Tensor
    def __init__(self, rate: _Value, validate_args: _bool | None = None) -> None: ...

class FisherSnedecor(Distribution):
    df1: Tensor
    df2: Tensor
    def __init__(self, df1: _Value, df2: _Value, validate_args: _bool | None = None) -> None: ...

class GeneralizedPareto(Distribution):
    loc: Tensor
    scale: Tensor
    concentration: Tensor
    def __init__(self, loc: _Value, scale: _Value, concentration: _Value, validate_args: _bool | None = None) -> None: ...
    def log_cdf(self, value: Tensor) -> Tensor: ...
    def log_survival_function(self, value: Tensor) -> Tensor: ...

class Geometric(Distribution):
    probs: Tensor
    logits: Tensor
    def __init__(self, probs: _Value | None = None, logits: _Value | None = None, validate_args: _bool | None = None) -> None: ...

class TransformedDistribution(Distribution):
    base_dist: Distribution
    transforms: list[Transform]
    def __init__(self, base_distribution: Distribution, transforms: Transform | list[Transform], validate_args: _bool | None = None) -> None: ...

class Gumbel(TransformedDistribution):
    loc: Tensor
    scale: Tensor
    def __init__(self, loc: _Value, scale: _Value, validate_args: _bool | None = None) -> None: ...

class HalfCauchy(TransformedDistribution):
    @property
    def scale(self) -> Tensor: ...
    def __init__(self, scale: _Value, validate_args: _bool | None = None) -> None: ...

class HalfNormal(TransformedDistribution):
    @property
    def scale(self) -> Tensor: ...
    def __init__(self, scale: _Value, validate_args: _bool | None = None) -> None: ...

class Independent(Distribution):
    base_dist: Distribution
    reinterpreted_batch_ndims: _int
    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: _int, validate_args: _bool | None = None) -> None: ...

class InverseGamma(TransformedDistribution):
    @property
    def concentration(self) -> Tensor: ...
    @property
    def rate(self) -> Tensor: ...
    def __init__(self, concentration: _Value, rate: _Value, validate_args: _bool | None = None) -> None: ...

class Kumaraswamy(TransformedDistribution):
    concentration1: Tensor
    concentration0: Tensor
    def __init__(self, concentration1: _Value, concentration0: _Value, validate_args: _bool | None = None) -> None: ...

class LKJCholesky(Distribution):
    concentration: Tensor
    dim: _int
    def __init__(self, dim: _int, concentration: _Value = 1.0, validate_args: _bool | None = None) -> None: ...

class Laplace(Distribution):
    loc: Tensor
    scale: Tensor
    def __init__(self, loc: _Value, scale: _Value, validate_args: _bool | None = None) -> None: ...

class LogNormal(TransformedDistribution):
    @property
    def loc(self) -> Tensor: ...
    @property
    def scale(self) -> Tensor: ...
    def __init__(self, loc: _Value, scale: _Value, validate_args: _bool | None = None) -> None: ...

class LogisticNormal(TransformedDistribution):
    @property
    def loc(self) -> Tensor: ...
    @property
    def scale(self) -> Tensor: ...
    def __init__(self, loc: _Value, scale: _Value, validate_args: _bool | None = None) -> None: ...

class LowRankMultivariateNormal(Distribution):
    loc: Tensor
    cov_factor: Tensor
    cov_diag: Tensor
    covariance_matrix: Tensor
    precision_matrix: Tensor
    scale_tril: Tensor
    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: _bool | None = None) -> None: ...

class MixtureSameFamily(Distribution):
    @property
    def mixture_distribution(self) -> Categorical: ...
    @property
    def component_distribution(self) -> Distribution: ...
    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: _bool | None = None) -> None: ...

class Multinomial(Distribution):
    @property
    def probs(self) -> Tensor: ...
    @property
    def logits(self) -> Tensor: ...
    total_count: _int
    def __init__(
        self, total_count: _int = 1, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: _bool | None = None,
    ) -> None: ...  # fmt: skip

class MultivariateNormal(Distribution):
    loc: Tensor
    covariance_matrix: Tensor
    precision_matrix: Tensor
    scale_tril: Tensor
    def __init__(
        self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None, validate_args: _bool | None = None,
    ) -> None: ...  # fmt: skip

class NegativeBinomial(Distribution):
    total_count: Tensor
    probs: Tensor
    logits: Tensor
    def __init__(
        self, total_count: _Value, probs: _Value | None = None, logits: _Value | None = None, validate_args: _bool | None = None,
    ) -> None: ...  # fmt: skip

class Normal(ExponentialFamily):
    loc: Tensor
    scale: Tensor
    def __init__(self, loc: _Value, scale: _Value, validate_args: _bool | None = None) -> None: ...

class OneHotCategorical(Distribution):
    @property
    def probs(self) -> Tensor: ...
    @property
    def logits(self) -> Tensor: ...
    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: _bool | None = None) -> None: ...

class OneHotCategoricalStraightThrough(OneHotCategorical): ...

class Pareto(TransformedDistribution):
    alpha: Tensor
    scale: Tensor
    def __init__(self, scale: _Value, alpha: _Value, validate_args: _bool | None = None) -> None: ...

class RelaxedBernoulli(TransformedDistribution):
    @property
    def probs(self) -> Tensor: ...
    @property
    def logits(self) -> Tensor: ...
    @property
    def temperature(self) -> Tensor: ...
    def __init__(
        self, temperature: Tensor, probs: _Value | None = None, logits: _Value | None = None, validate_args: _bool | None = None,
    ) -> None: ...  # fmt: skip

class RelaxedOneHotCategorical(TransformedDistribution):
    @property
    def probs(self) -> Tensor: ...
    @property
    def logits(self) -> Tensor: ...
    @property
    def temperature(self) -> Tensor: ...
    def __init__(
        self, temperature: Tensor, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: _bool | None = None,
    ) -> None: ...  # fmt: skip

class StudentT(Distribution):
    df: Tensor
    loc: Tensor
    scale: Tensor
    def __init__(self, df: _Value, loc: _Value = 0.0, scale: _Value = 1.0, validate_args: _bool | None = None) -> None: ...

class Poisson(ExponentialFamily):
    rate: Tensor
    def __init__(self, rate: _Value, validate_args: _bool | None = None) -> None: ...

class Uniform(Distribution):
    low: Tensor
    high: Tensor
    def __init__(self, low: _Value, high: _Value, validate_args: _bool | None = None) -> None: ...

class VonMises(Distribution):
    loc: Tensor
    concentration: Tensor
    def __init__(self, loc: _Value, concentration: _Value, validate_args: _bool | None = None) -> None: ...

class Weibull(TransformedDistribution):
    scale: Tensor
    concentration: Tensor
    def __init__(self, scale: _Value, concentration: _Value, validate_args: _bool | None = None) -> None: ...

class Wishart(ExponentialFamily):
    covariance_matrix: Tensor
    precision_matrix: Tensor
    scale_tril: Tensor
    df: Tensor
    def __init__(
        self, df: _Value, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None, validate_args: _bool | None = None,
    ) -> None: ...  # fmt: skip

class _ConstraintRegistry:
    def register(self, constraint: Any, factory: Callable[..., Transform] | None = None) -> Any: ...
    def __call__(self, constraint: constraints.Constraint) -> Transform: ...

biject_to: _ConstraintRegistry
transform_to: _ConstraintRegistry

def register_kl(type_p: type[Distribution], type_q: type[Distribution]) -> Callable[[_Rule], _Rule]: ...
def kl_divergence(p: Distribution, q: Distribution) -> Tensor: ...
