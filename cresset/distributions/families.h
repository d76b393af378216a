#pragma once
// The distributions. Parameters and defaults are PyTorch's; what may be given in one of several forms is left out as `{}`.

#include "cresset/distributions/transforms.h"

namespace cresset::distributions {

using Validate = std::optional<bool>;

// The normal (Gaussian) distribution of mean `loc` and standard deviation `scale`.
class CRESSET_API Normal : public ExponentialFamily {
 public:
  static const Kind kKind;
  using ExponentialFamily::ExponentialFamily;
  Normal(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args = {});
  Tensor loc() const { return slot(0); }
  Tensor scale() const { return slot(1); }
};

// The Cauchy (Lorentz) distribution of median `loc` and half width at half maximum `scale`.
class CRESSET_API Cauchy : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  Cauchy(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args = {});
  Tensor loc() const { return slot(0); }
  Tensor scale() const { return slot(1); }
};

// The distribution of density exp(-|x - loc| / scale) / (2 scale).
class CRESSET_API Laplace : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  Laplace(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args = {});
  Tensor loc() const { return slot(0); }
  Tensor scale() const { return slot(1); }
};

// Student's t distribution of `df` degrees of freedom, moved by `loc` and stretched by `scale`.
class CRESSET_API StudentT : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  explicit StudentT(const TensorOrNumber& df, const TensorOrNumber& loc = 0.0, const TensorOrNumber& scale = 1.0, Validate validate_args = {});
  Tensor df() const { return slot(0); }
  Tensor loc() const { return slot(1); }
  Tensor scale() const { return slot(2); }
};

// The von Mises distribution of angles in [-pi, pi): `loc` is the mode, `concentration` as one over the variance of a normal distribution.
class CRESSET_API VonMises : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  VonMises(const TensorOrNumber& loc, const TensorOrNumber& concentration, Validate validate_args = {});
  Tensor loc() const { return slot(0); }
  Tensor concentration() const { return slot(1); }
};

// The uniform distribution on [`low`, `high`).
class CRESSET_API Uniform : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  Uniform(const TensorOrNumber& low, const TensorOrNumber& high, Validate validate_args = {});
  Tensor low() const { return slot(0); }
  Tensor high() const { return slot(1); }
};

// The generalized Pareto distribution of exceedances: location, scale, and shape (0: exponential; -1: uniform).
class CRESSET_API GeneralizedPareto : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  GeneralizedPareto(const TensorOrNumber& loc, const TensorOrNumber& scale, const TensorOrNumber& concentration, Validate validate_args = {});
  Tensor loc() const { return slot(0); }
  Tensor scale() const { return slot(1); }
  Tensor concentration() const { return slot(2); }
  // log P(X > value) and log P(X <= value).
  Tensor log_survival_function(const Tensor& value) const;
  Tensor log_cdf(const Tensor& value) const;
};

// The exponential distribution of rate `rate`.
class CRESSET_API Exponential : public ExponentialFamily {
 public:
  static const Kind kKind;
  using ExponentialFamily::ExponentialFamily;
  explicit Exponential(const TensorOrNumber& rate, Validate validate_args = {});
  Tensor rate() const { return slot(0); }
};

// The gamma distribution of shape `concentration` and inverse scale `rate`.
class CRESSET_API Gamma : public ExponentialFamily {
 public:
  static const Kind kKind;
  using ExponentialFamily::ExponentialFamily;
  Gamma(const TensorOrNumber& concentration, const TensorOrNumber& rate, Validate validate_args = {});
  Tensor concentration() const { return slot(0); }
  Tensor rate() const { return slot(1); }
};

// The chi-square distribution of `df` degrees of freedom: Gamma(df / 2, 1 / 2).
class CRESSET_API Chi2 : public Gamma {
 public:
  static const Kind kKind;
  using Gamma::Gamma;
  explicit Chi2(const TensorOrNumber& df, Validate validate_args = {});
  Tensor df() const { return argument(0); }
};

// The F distribution: the ratio of two chi-square variables, each over its degrees of freedom.
class CRESSET_API FisherSnedecor : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  FisherSnedecor(const TensorOrNumber& df1, const TensorOrNumber& df2, Validate validate_args = {});
  Tensor df1() const { return slot(0); }
  Tensor df2() const { return slot(1); }
};

// The Dirichlet distribution on the simplex, of density proportional to the product of x_i^(concentration_i - 1).
class CRESSET_API Dirichlet : public ExponentialFamily {
 public:
  static const Kind kKind;
  using ExponentialFamily::ExponentialFamily;
  explicit Dirichlet(const Tensor& concentration, Validate validate_args = {});
  Tensor concentration() const { return slot(0); }
};

// The beta distribution on [0, 1], of density x^(concentration1 - 1) (1 - x)^(concentration0 - 1) / B.
class CRESSET_API Beta : public ExponentialFamily {
 public:
  static const Kind kKind;
  using ExponentialFamily::ExponentialFamily;
  Beta(const TensorOrNumber& concentration1, const TensorOrNumber& concentration0, Validate validate_args = {});
  Tensor concentration1() const { return argument(0); }
  Tensor concentration0() const { return argument(1); }
};

// 1 with probability `probs`, given as such or as log odds `logits`, else 0.
class CRESSET_API Bernoulli : public ExponentialFamily {
 public:
  static const Kind kKind;
  using ExponentialFamily::ExponentialFamily;
  explicit Bernoulli(const TensorOrNumber& probs, const TensorOrNumber& logits = {}, Validate validate_args = {});
  Tensor probs() const { return slot(0); }
  Tensor logits() const { return slot(1); }
  Shape param_shape() const { return probs().sizes().vec(); }
};

// The distribution on [0, 1] of density proportional to probs^x (1 - probs)^(1 - x); between the two `lims` Taylor series replace formulas
// that cancel.
class CRESSET_API ContinuousBernoulli : public ExponentialFamily {
 public:
  static const Kind kKind;
  using ExponentialFamily::ExponentialFamily;
  explicit ContinuousBernoulli(const TensorOrNumber& probs, const TensorOrNumber& logits = {}, std::pair<double, double> lims = {0.499, 0.501},
                               Validate validate_args = {});
  Tensor probs() const { return slot(0); }
  Tensor logits() const { return slot(1); }
  Shape param_shape() const { return probs().sizes().vec(); }
};

// How many of `total_count` trials succeed, each with probability `probs` or log odds `logits`.
class CRESSET_API Binomial : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  explicit Binomial(const TensorOrNumber& total_count, const TensorOrNumber& probs = {}, const TensorOrNumber& logits = {}, Validate validate_args = {});
  Tensor total_count() const { return slot(2); }
  Tensor probs() const { return slot(0); }
  Tensor logits() const { return slot(1); }
  Shape param_shape() const { return probs().sizes().vec(); }
};

// How many trials fail before the first success.
class CRESSET_API Geometric : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  explicit Geometric(const TensorOrNumber& probs, const TensorOrNumber& logits = {}, Validate validate_args = {});
  Tensor probs() const { return slot(0); }
  Tensor logits() const { return slot(1); }
};

// How many trials succeed before `total_count` have failed.
class CRESSET_API NegativeBinomial : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  explicit NegativeBinomial(const TensorOrNumber& total_count, const TensorOrNumber& probs = {}, const TensorOrNumber& logits = {},
                            Validate validate_args = {});
  Tensor total_count() const { return slot(2); }
  Tensor probs() const { return slot(0); }
  Tensor logits() const { return slot(1); }
  Shape param_shape() const { return probs().sizes().vec(); }
};

// The number of events where `rate` are expected.
class CRESSET_API Poisson : public ExponentialFamily {
 public:
  static const Kind kKind;
  using ExponentialFamily::ExponentialFamily;
  explicit Poisson(const TensorOrNumber& rate, Validate validate_args = {});
  Tensor rate() const { return slot(0); }
};

// One of the numbers 0 ... K-1; the last dimension of `probs`, brought to a sum of 1, or of the log weights `logits`, says how
// probable.
class CRESSET_API Categorical : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  explicit Categorical(const Tensor& probs, const Tensor& logits = {}, Validate validate_args = {});
  Tensor probs() const { return slot(0); }
  Tensor logits() const { return slot(1); }
  Shape param_shape() const { return probs().sizes().vec(); }
};

// As Categorical, with one-hot vectors as values.
class CRESSET_API OneHotCategorical : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  explicit OneHotCategorical(const Tensor& probs, const Tensor& logits = {}, Validate validate_args = {});
  Tensor probs() const { return argument(0); }
  Tensor logits() const { return argument(1); }
  Shape param_shape() const { return probs().sizes().vec(); }
};

// OneHotCategorical whose samples pass gradients on to the probabilities as they are.
class CRESSET_API OneHotCategoricalStraightThrough : public OneHotCategorical {
 public:
  static const Kind kKind;
  using OneHotCategorical::OneHotCategorical;
  explicit OneHotCategoricalStraightThrough(const Tensor& probs, const Tensor& logits = {}, Validate validate_args = {});
};

// How often each of K numbers comes up in `total_count` draws from Categorical(probs, logits).
class CRESSET_API Multinomial : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  explicit Multinomial(int64_t total_count, const Tensor& probs = {}, const Tensor& logits = {}, Validate validate_args = {});
  int64_t total_count() const;
  Tensor probs() const { return argument(0); }
  Tensor logits() const { return argument(1); }
  Shape param_shape() const { return probs().sizes().vec(); }
};

// The normal distribution of vectors. Exactly one of `covariance_matrix`, its inverse and its Cholesky factor is given; the last costs
// least.
class CRESSET_API MultivariateNormal : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  explicit MultivariateNormal(const Tensor& loc, const Tensor& covariance_matrix = {}, const Tensor& precision_matrix = {}, const Tensor& scale_tril = {},
                              Validate validate_args = {});
  Tensor loc() const { return slot(0); }
  Tensor covariance_matrix() const { return slot(1); }
  Tensor precision_matrix() const { return slot(2); }
  Tensor scale_tril() const { return slot(3); }
};

// The normal distribution of vectors of covariance `cov_factor` `cov_factor`' + diag(`cov_diag`); only a matrix of the rank's size is
// factored.
class CRESSET_API LowRankMultivariateNormal : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  LowRankMultivariateNormal(const Tensor& loc, const Tensor& cov_factor, const Tensor& cov_diag, Validate validate_args = {});
  Tensor loc() const { return slot(0); }
  Tensor cov_factor() const { return slot(1); }
  Tensor cov_diag() const { return slot(2); }
  Tensor covariance_matrix() const;
  Tensor precision_matrix() const;
  Tensor scale_tril() const;
};

// The distribution of sums of `df` outer products of normal vectors of mean 0 and a covariance, given as for MultivariateNormal.
class CRESSET_API Wishart : public ExponentialFamily {
 public:
  static const Kind kKind;
  using ExponentialFamily::ExponentialFamily;
  explicit Wishart(const TensorOrNumber& df, const Tensor& covariance_matrix = {}, const Tensor& precision_matrix = {}, const Tensor& scale_tril = {},
                   Validate validate_args = {});
  Tensor df() const { return slot(0); }
  Tensor covariance_matrix() const { return slot(1); }
  Tensor precision_matrix() const { return slot(2); }
  Tensor scale_tril() const { return slot(3); }
  // Samples that turn out singular are drawn again, at most `max_try_correction` times, 10 where it is left out.
  Tensor rsample(IntArrayRef sample_shape = {}, std::optional<int64_t> max_try_correction = {}) const;
};

// The distribution of Cholesky factors of correlation matrices M of density proportional to det(M)^(`concentration` - 1).
class CRESSET_API LKJCholesky : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  explicit LKJCholesky(int64_t dim, const TensorOrNumber& concentration = 1.0, Validate validate_args = {});
  Tensor concentration() const { return slot(0); }
  int64_t dim() const { return event_shape()[0]; }
};

// A distribution with the last `reinterpreted_batch_ndims` dimensions of its batch as parts of one event.
class CRESSET_API Independent : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  Independent(const Distribution& base_distribution, int64_t reinterpreted_batch_ndims, Validate validate_args = {});
  Distribution base_dist() const { return impl().part(0); }
  int64_t reinterpreted_batch_ndims() const;
};

// A mixture of the distributions along the last batch dimension of `component_distribution`, chosen by a Categorical.
class CRESSET_API MixtureSameFamily : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  MixtureSameFamily(const Distribution& mixture_distribution, const Distribution& component_distribution, Validate validate_args = {});
  Categorical mixture_distribution() const;
  Distribution component_distribution() const { return impl().part(1); }
};

// The distribution of f(X), where X follows `base_distribution` and f is a list of transforms, the first applied first.
class CRESSET_API TransformedDistribution : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  TransformedDistribution(const Distribution& base_distribution, const Transform& transform, Validate validate_args = {});
  TransformedDistribution(const Distribution& base_distribution, const std::vector<Transform>& transforms, Validate validate_args = {});
  Distribution base_dist() const { return impl().part(0); }
  std::vector<Transform> transforms() const;
};

// The distribution of exp(X) where X follows Normal(`loc`, `scale`).
class CRESSET_API LogNormal : public TransformedDistribution {
 public:
  static const Kind kKind;
  using TransformedDistribution::TransformedDistribution;
  LogNormal(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args = {});
  Tensor loc() const { return argument(0); }
  Tensor scale() const { return argument(1); }
};

// The distribution of |X| where X follows Normal(0, `scale`).
class CRESSET_API HalfNormal : public TransformedDistribution {
 public:
  static const Kind kKind;
  using TransformedDistribution::TransformedDistribution;
  explicit HalfNormal(const TensorOrNumber& scale, Validate validate_args = {});
  Tensor scale() const { return argument(0); }
};

// The distribution of |X| where X follows Cauchy(0, `scale`).
class CRESSET_API HalfCauchy : public TransformedDistribution {
 public:
  static const Kind kKind;
  using TransformedDistribution::TransformedDistribution;
  explicit HalfCauchy(const TensorOrNumber& scale, Validate validate_args = {});
  Tensor scale() const { return argument(0); }
};

// The distribution on the simplex of a vector that is broken off a stick, as in StickBreakingTransform, by normal numbers.
class CRESSET_API LogisticNormal : public TransformedDistribution {
 public:
  static const Kind kKind;
  using TransformedDistribution::TransformedDistribution;
  LogisticNormal(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args = {});
  Tensor loc() const { return argument(0); }
  Tensor scale() const { return argument(1); }
};

// The Gumbel distribution of largest values, with mode `loc` and spread `scale`.
class CRESSET_API Gumbel : public TransformedDistribution {
 public:
  static const Kind kKind;
  using TransformedDistribution::TransformedDistribution;
  Gumbel(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args = {});
  Tensor loc() const { return slot(0); }
  Tensor scale() const { return slot(1); }
};

// The distribution of 1 / X where X follows Gamma(`concentration`, `rate`).
class CRESSET_API InverseGamma : public TransformedDistribution {
 public:
  static const Kind kKind;
  using TransformedDistribution::TransformedDistribution;
  InverseGamma(const TensorOrNumber& concentration, const TensorOrNumber& rate, Validate validate_args = {});
  Tensor concentration() const { return argument(0); }
  Tensor rate() const { return argument(1); }
};

// The Kumaraswamy distribution on (0, 1), of distribution function 1 - (1 - x^concentration1)^concentration0.
class CRESSET_API Kumaraswamy : public TransformedDistribution {
 public:
  static const Kind kKind;
  using TransformedDistribution::TransformedDistribution;
  Kumaraswamy(const TensorOrNumber& concentration1, const TensorOrNumber& concentration0, Validate validate_args = {});
  Tensor concentration1() const { return slot(0); }
  Tensor concentration0() const { return slot(1); }
};

// The Pareto distribution of type 1 on [`scale`, inf), with tail exponent `alpha`.
class CRESSET_API Pareto : public TransformedDistribution {
 public:
  static const Kind kKind;
  using TransformedDistribution::TransformedDistribution;
  Pareto(const TensorOrNumber& scale, const TensorOrNumber& alpha, Validate validate_args = {});
  Tensor scale() const { return slot(0); }
  Tensor alpha() const { return slot(1); }
};

// The Weibull distribution of scale `scale` and shape `concentration`.
class CRESSET_API Weibull : public TransformedDistribution {
 public:
  static const Kind kKind;
  using TransformedDistribution::TransformedDistribution;
  Weibull(const TensorOrNumber& scale, const TensorOrNumber& concentration, Validate validate_args = {});
  Tensor scale() const { return slot(0); }
  Tensor concentration() const { return slot(1); }
  Tensor concentration_reciprocal() const { return slot(2); }
};

// The log odds of a RelaxedBernoulli variable.
class CRESSET_API LogitRelaxedBernoulli : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  explicit LogitRelaxedBernoulli(const Tensor& temperature, const TensorOrNumber& probs = {}, const TensorOrNumber& logits = {}, Validate validate_args = {});
  Tensor temperature() const { return slot(2); }
  Tensor probs() const { return slot(0); }
  Tensor logits() const { return slot(1); }
  Shape param_shape() const { return probs().sizes().vec(); }
};

// A distribution on (0, 1) that tends to Bernoulli(probs, logits) as `temperature` falls, and has gradients with respect to its samples.
class CRESSET_API RelaxedBernoulli : public TransformedDistribution {
 public:
  static const Kind kKind;
  using TransformedDistribution::TransformedDistribution;
  explicit RelaxedBernoulli(const Tensor& temperature, const TensorOrNumber& probs = {}, const TensorOrNumber& logits = {}, Validate validate_args = {});
  Tensor temperature() const { return impl().part(0).impl().slot(2); }
  Tensor probs() const { return argument(0); }
  Tensor logits() const { return argument(1); }
};

// The logarithm of a RelaxedOneHotCategorical variable.
class CRESSET_API ExpRelaxedCategorical : public Distribution {
 public:
  static const Kind kKind;
  using Distribution::Distribution;
  explicit ExpRelaxedCategorical(const Tensor& temperature, const Tensor& probs = {}, const Tensor& logits = {}, Validate validate_args = {});
  Tensor temperature() const { return slot(0); }
  Tensor probs() const { return argument(0); }
  Tensor logits() const { return argument(1); }
  Shape param_shape() const { return probs().sizes().vec(); }
};

// A distribution on the simplex that tends to OneHotCategorical(probs, logits) as `temperature` falls, and has gradients with respect to its samples.
class CRESSET_API RelaxedOneHotCategorical : public TransformedDistribution {
 public:
  static const Kind kKind;
  using TransformedDistribution::TransformedDistribution;
  explicit RelaxedOneHotCategorical(const Tensor& temperature, const Tensor& probs = {}, const Tensor& logits = {}, Validate validate_args = {});
  Tensor temperature() const { return impl().part(0).impl().slot(0); }
  Tensor probs() const { return argument(0); }
  Tensor logits() const { return argument(1); }
};

}  // namespace cresset::distributions
