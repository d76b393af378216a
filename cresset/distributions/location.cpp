// Distributions with a location and a spread.

#include "cresset/distributions/implementation.h"
#include "cresset/distributions/rows.h"

namespace cresset::ops::composite {

using namespace distributions;

Tensor _laplace_rsample(IntArrayRef shape, const Tensor& loc, const Tensor& scale) {
  const Tensor u = uniform_tensor(shape, loc.options(), finfo(loc.scalar_type()).eps - 1, 1);
  return loc - scale * u.sign() * log1p(-u.abs());
}

Tensor _studentt_variance(const Tensor& df, const Tensor& scale) {
  const Tensor large = scale.pow(2) * df / where(df > 2, df - 2, ones_like(df));
  return large.masked_fill(df <= 2, kInfinity).masked_fill(df <= 1, kNan);
}

Tensor _studentt_rsample(IntArrayRef shape, const Tensor& df, const Tensor& loc, const Tensor& scale) {
  const Tensor normal = standard_normal(shape, df.options());
  const Tensor chi2 = composite::_gamma_rsample(shape, 0.5 * df, full_like(df, 0.5));
  return loc + scale * (normal * rsqrt(chi2 / df));
}

Tensor _studentt_log_prob(const Tensor& value, const Tensor& df, const Tensor& loc, const Tensor& scale) {
  const Tensor y = (value - loc) / scale;
  Tensor norm = scale.log();
  norm = norm + 0.5 * df.log() + 0.5 * std::log(kPi);
  norm = norm + lgamma(0.5 * df);
  norm = norm - lgamma(0.5 * (df + 1.0));
  const Tensor power = -0.5 * (df + 1.0);
  return power * log1p(y.pow(2.0) / df) - norm;
}

Tensor _studentt_entropy(const Tensor& df, const Tensor& scale) {
  constexpr double kLgammaHalf = 0.5723649429247004;  // math.lgamma(0.5) as Python has it, 3 units off in the last place
  const Tensor half = 0.5 * df, next_half = 0.5 * (df + 1);
  const Tensor beta = lgamma(half) + kLgammaHalf - lgamma(next_half);
  return scale.log() + next_half * (digamma(next_half) - digamma(half)) + 0.5 * df.log() + beta;
}

namespace {

// Abramowitz and Stegun, Handbook of Mathematical Functions, 9.8.1 to 9.8.4, with its coefficients.
constexpr double kSmall[2][7] = {{1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2},
                                 {0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3}};
constexpr double kLarge[2][9] = {
    {0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2, -0.2057706e-1, 0.2635537e-1, -0.1647633e-1, 0.392377e-2},
    {0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1, 0.2282967e-1, -0.2895312e-1, 0.1787654e-1, -0.420059e-2}};

Tensor polynomial(const Tensor& x, const double* coefficients, int count) {
  Tensor result = coefficients[count - 2] + x * coefficients[count - 1];
  for (int i = count - 3; i >= 0; i--) result = coefficients[i] + x * result;
  return result;
}

// The logarithm of the modified Bessel function of the first kind, of order 0 or 1, for positive x.
Tensor log_modified_bessel(const Tensor& x, int order) {
  Tensor small = polynomial((x / 3.75).square(), kSmall[order], 7).log();
  if (order == 1) small = x.abs().log() + small;
  Tensor large = x - 0.5 * x.log();
  large = large + polynomial(3.75 / x, kLarge[order], 9).log();
  return where(x < 3.75, small, large);
}

}  // namespace

// The circular variance.
Tensor _vonmises_variance(const Tensor& concentration) { return 1 - (log_modified_bessel(concentration, 1) - log_modified_bessel(concentration, 0)).exp(); }

// Rejection from a wrapped Cauchy distribution (Best and Fisher, "Efficient simulation of the von Mises distribution", 1979), in float64.
Tensor _vonmises_sample(IntArrayRef shape, const Tensor& loc, const Tensor& concentration) {
  const Tensor small = concentration.to(ScalarType::Double);
  const Tensor tau = 1 + (1 + 4 * small.pow(2)).sqrt();
  const Tensor rho = (tau - (2 * tau).sqrt()) / (2 * small);
  // For tiny concentrations, where the above cancels, its Taylor series.
  const Tensor r = where(small < 1e-5, 1 / small + small, (1 + rho.pow(2)) / (2 * rho)).expand(shape);
  const Tensor k = small.expand(shape), start = loc.to(ScalarType::Double).expand(shape);
  Tensor x = empty(shape, start.options()), done = zeros(shape, start.options().dtype(ScalarType::Bool));
  while (!all_true(done)) {
    const std::vector<Tensor> u = rand(join({3}, shape), start.options()).unbind();
    const Tensor z = cos(kPi * u[0]);
    const Tensor f = (1 + r * z) / (r + z);
    const Tensor c = k * (r - f);
    const Tensor accept = (c * (2 - c) - u[1] > 0) | ((c / u[1]).log() + 1 - c >= 0);
    x = where(accept, (u[2] - 0.5).sign() * f.acos(), x);
    done = done | accept;
  }
  return ((x + kPi + start) % (2 * kPi) - kPi).to(loc.scalar_type());
}

Tensor _vonmises_log_prob(const Tensor& value, const Tensor& loc, const Tensor& concentration) {
  const Tensor start = concentration * cos(value - loc) - std::log(2 * kPi);
  return start - log_modified_bessel(concentration, 0);
}

namespace {

// Close to 0, where its powers are those of an exponential distribution, the concentration is replaced by 1.
struct Tail {
  explicit Tail(const Tensor& concentration)
      : flat(isclose(concentration, zeros_like(concentration))), c(where(flat, ones_like(concentration), concentration)) {}
  Tensor flat, c;
};

}  // namespace

Tensor _generalizedpareto_variance(const Tensor& scale, const Tensor& concentration) {
  const Tensor& c = concentration;
  return (scale.pow(2) / ((1 - c).pow(2) * (1 - 2 * c))).masked_fill(c >= 0.5, kNan);
}

Tensor _generalizedpareto_log_prob(const Tensor& value, const Tensor& loc, const Tensor& scale, const Tensor& concentration) {
  const Tensor z = (value - loc) / scale;
  const Tail tail(concentration);
  return -scale.log() - where(tail.flat, z, (1 / tail.c + 1.0) * log1p(tail.c * z));
}

Tensor _generalizedpareto_log_survival_function(const Tensor& value, const Tensor& loc, const Tensor& scale, const Tensor& concentration) {
  const Tensor z = (value - loc) / scale;
  const Tail tail(concentration);
  return where(tail.flat, -z, -log1p(tail.c * z) / tail.c);
}

Tensor _generalizedpareto_icdf(const Tensor& value, const Tensor& loc, const Tensor& scale, const Tensor& concentration) {
  const Tail tail(concentration);
  const Tensor left = log1p(-value);
  return where(tail.flat, loc - scale * left, loc + scale / tail.c * expm1(-tail.c * left));
}

}  // namespace cresset::ops::composite

namespace cresset::distributions {

namespace {

using NormalImpl = Plain<Normal, kLocScale, constraints::real, FamilyImpl>;
using CauchyImpl = Plain<Cauchy, kLocScale, constraints::real>;
using LaplaceImpl = Plain<Laplace, kLocScale, constraints::real>;

constexpr Argument kStudentT[] = {{"df", 0, constraints::positive}, {"loc", 1, constraints::real}, {"scale", 2, constraints::positive}};
using StudentTImpl = Plain<StudentT, kStudentT, constraints::real>;

constexpr Argument kVonMises[] = {{"loc", 0, constraints::real}, {"concentration", 1, constraints::positive}};
using VonMisesImpl = Plain<VonMises, kVonMises, constraints::real>;

constexpr Argument kUniform[] = {{"low", 0, nullptr}, {"high", 1, nullptr}};

struct UniformImpl final : Plain<Uniform, kUniform, nullptr> {
  using Plain::Plain;
  DistributionImpl* copy() const override { return new UniformImpl(*this); }
  Constraint constraint_of(const Argument& a) const override { return a.slot == 0 ? constraints::less_than(kept(1)) : constraints::greater_than(kept(0)); }
  Constraint support() const override { return constraints::interval(kept(0), kept(1)); }
};

constexpr Argument kGeneralizedPareto[] = {{"loc", 0, constraints::real}, {"scale", 1, constraints::positive}, {"concentration", 2, constraints::real}};

struct GeneralizedParetoImpl final : Plain<GeneralizedPareto, kGeneralizedPareto, nullptr> {
  using Plain::Plain;
  DistributionImpl* copy() const override { return new GeneralizedParetoImpl(*this); }
  Constraint support() const override {
    const Tensor &loc = kept(0), &scale = kept(1), &c = kept(2);
    return constraints::interval(loc, where(c < 0, loc - scale / c, kInfinity));
  }
};

}  // namespace

const Kind Normal::kKind{"Normal", &ExponentialFamily::kKind, true, false, &normal_formulas};
const Kind Cauchy::kKind{"Cauchy", &Distribution::kKind, true, false, &cauchy_formulas};
const Kind Laplace::kKind{"Laplace", &Distribution::kKind, true, false, &laplace_formulas};
const Kind StudentT::kKind{"StudentT", &Distribution::kKind, true, false, &studentt_formulas};
const Kind VonMises::kKind{"VonMises", &Distribution::kKind, false, false, &vonmises_formulas};
const Kind Uniform::kKind{"Uniform", &Distribution::kKind, true, false, &uniform_formulas};
const Kind GeneralizedPareto::kKind{"GeneralizedPareto", &Distribution::kKind, true, false, &generalizedpareto_formulas};

Normal::Normal(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args) : ExponentialFamily(new NormalImpl{loc, scale}, validate_args) {}
Cauchy::Cauchy(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args) : Distribution(new CauchyImpl{loc, scale}, validate_args) {}
Laplace::Laplace(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args) : Distribution(new LaplaceImpl{loc, scale}, validate_args) {}
StudentT::StudentT(const TensorOrNumber& df, const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args)
    : Distribution(new StudentTImpl{df, loc, scale}, validate_args) {}
VonMises::VonMises(const TensorOrNumber& loc, const TensorOrNumber& concentration, Validate validate_args)
    : Distribution(new VonMisesImpl{loc, concentration}, validate_args) {}
Uniform::Uniform(const TensorOrNumber& low, const TensorOrNumber& high, Validate validate_args) : Distribution(new UniformImpl{low, high}, validate_args) {}
GeneralizedPareto::GeneralizedPareto(const TensorOrNumber& loc, const TensorOrNumber& scale, const TensorOrNumber& concentration, Validate validate_args)
    : Distribution(new GeneralizedParetoImpl{loc, scale, concentration}, validate_args) {}
Tensor GeneralizedPareto::log_survival_function(const Tensor& value) const {
  impl().check(value);
  return _generalizedpareto_log_survival_function(value, loc(), scale(), concentration());
}
Tensor GeneralizedPareto::log_cdf(const Tensor& value) const {
  impl().check(value);
  return _generalizedpareto_log_cdf(value, loc(), scale(), concentration());
}

}  // namespace cresset::distributions
