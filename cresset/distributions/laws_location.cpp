// Laws with a location and a spread.

#include "cresset/distributions/law_of.h"

namespace cresset::distributions {

namespace {

constexpr Argument kLocScale[] = {{"loc", 0, constraints::real}, {"scale", 1, constraints::positive}};

struct NormalLaw final : LawOf<NormalLaw, Normal, PlainFamilyImpl> {
  using LawOf::LawOf;
  const Tensor& loc() const { return kept(0); }
  const Tensor& scale() const { return kept(1); }
  ArrayRef<Argument> arguments() const override { return kLocScale; }
  Constraint support() const override { return constraints::real(); }
  Tensor mean() const override { return loc(); }
  Tensor mode() const override { return loc(); }
  Tensor stddev() const override { return scale(); }
  Tensor variance() const override { return scale().pow(2); }
  Tensor sample(IntArrayRef sample_shape) const override {
    const Shape shape = extended(sample_shape);
    return cresset::normal(loc().expand(shape), scale().expand(shape));
  }
  Tensor rsample(IntArrayRef sample_shape) const override {
    return loc() + standard_normal(extended(sample_shape), loc().options()) * scale();
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    return -((value - loc()).pow(2)) / (2 * scale().pow(2)) - scale().log() - std::log(std::sqrt(2 * kPi));
  }
  Tensor cdf(const Tensor& value) const override {
    check(value);
    return 0.5 * (1 + erf((value - loc()) * scale().reciprocal() / std::sqrt(2.0)));
  }
  Tensor icdf(const Tensor& value) const override { return loc() + scale() * erfinv(2 * value - 1) * std::sqrt(2.0); }
  Tensor entropy() const override { return 0.5 + 0.5 * std::log(2 * kPi) + scale().log(); }
  double mean_carrier_measure() const override { return 0; }
  std::vector<Tensor> natural_params() const override { return {loc() / scale().pow(2), -0.5 * scale().pow(2).reciprocal()}; }
  Tensor log_normalizer(const std::vector<Tensor>& n) const override { return -0.25 * n[0].pow(2) / n[1] + 0.5 * log(-kPi / n[1]); }
};

struct CauchyLaw final : LawOf<CauchyLaw, Cauchy, PlainImpl> {
  using LawOf::LawOf;
  const Tensor& loc() const { return kept(0); }
  const Tensor& scale() const { return kept(1); }
  ArrayRef<Argument> arguments() const override { return kLocScale; }
  Constraint support() const override { return constraints::real(); }
  Tensor mean() const override { return full_like(loc(), kNan).expand(extended({})); }
  Tensor mode() const override { return loc(); }
  Tensor variance() const override { return full_like(loc(), kInfinity).expand(extended({})); }
  Tensor rsample(IntArrayRef sample_shape) const override {
    return loc() + empty(extended(sample_shape), loc().options()).cauchy_() * scale();
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    return -std::log(kPi) - scale().log() - ((value - loc()) / scale()).pow(2).log1p();
  }
  Tensor cdf(const Tensor& value) const override {
    check(value);
    return atan((value - loc()) / scale()) / kPi + 0.5;
  }
  Tensor icdf(const Tensor& value) const override { return tan(kPi * (value - 0.5)) * scale() + loc(); }
  Tensor entropy() const override { return std::log(4 * kPi) + scale().log(); }
};

struct LaplaceLaw final : LawOf<LaplaceLaw, Laplace, PlainImpl> {
  using LawOf::LawOf;
  const Tensor& loc() const { return kept(0); }
  const Tensor& scale() const { return kept(1); }
  ArrayRef<Argument> arguments() const override { return kLocScale; }
  Constraint support() const override { return constraints::real(); }
  Tensor mean() const override { return loc(); }
  Tensor mode() const override { return loc(); }
  Tensor variance() const override { return 2 * scale().pow(2); }
  Tensor stddev() const override { return std::sqrt(2.0) * scale(); }
  Tensor rsample(IntArrayRef sample_shape) const override {
    const Tensor u = uniform_tensor(extended(sample_shape), loc().options(), finfo(loc().scalar_type()).eps - 1, 1);
    return loc() - scale() * u.sign() * log1p(-u.abs());
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    return -log(2 * scale()) - abs(value - loc()) / scale();
  }
  Tensor cdf(const Tensor& value) const override {
    check(value);
    const Tensor away = value - loc();
    return 0.5 - 0.5 * away.sign() * expm1(-away.abs() / scale());
  }
  Tensor icdf(const Tensor& value) const override {
    const Tensor term = value - 0.5;
    return loc() - scale() * term.sign() * log1p(-2 * term.abs());
  }
  Tensor entropy() const override { return 1 + log(2 * scale()); }
};

constexpr Argument kStudentT[] = {
    {"df", 0, constraints::positive}, {"loc", 1, constraints::real}, {"scale", 2, constraints::positive}};

constexpr double kLgammaHalf = 0.5723649429247004;  // math.lgamma(0.5) as Python has it, 3 units off in the last place

struct StudentTLaw final : LawOf<StudentTLaw, StudentT, PlainImpl> {
  StudentTLaw(const TensorOrNumber& df, const TensorOrNumber& loc, const TensorOrNumber& scale) : LawOf{df, loc, scale} {
    parts_ = {Chi2(kept(0))};
  }
  const Tensor& df() const { return kept(0); }
  const Tensor& loc() const { return kept(1); }
  const Tensor& scale() const { return kept(2); }
  ArrayRef<Argument> arguments() const override { return kStudentT; }
  Constraint support() const override { return constraints::real(); }
  Tensor mean() const override { return loc().masked_fill(df() <= 1, kNan); }
  Tensor mode() const override { return loc(); }
  Tensor variance() const override {
    const Tensor large = scale().pow(2) * df() / where(df() > 2, df() - 2, ones_like(df()));
    return large.masked_fill(df() <= 2, kInfinity).masked_fill(df() <= 1, kNan);
  }
  Tensor rsample(IntArrayRef sample_shape) const override {
    const Tensor normal = standard_normal(extended(sample_shape), df().options());
    const Tensor chi2 = parts_[0].rsample(sample_shape);
    return loc() + scale() * (normal * rsqrt(chi2 / df()));
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    const Tensor y = (value - loc()) / scale();
    Tensor norm = scale().log();
    norm = norm + 0.5 * df().log() + 0.5 * std::log(kPi);
    norm = norm + lgamma(0.5 * df());
    norm = norm - lgamma(0.5 * (df() + 1.0));
    const Tensor power = -0.5 * (df() + 1.0);
    return power * log1p(y.pow(2.0) / df()) - norm;
  }
  Tensor entropy() const override {
    const Tensor half = 0.5 * df(), next_half = 0.5 * (df() + 1);
    const Tensor beta = lgamma(half) + kLgammaHalf - lgamma(next_half);
    return scale().log() + next_half * (digamma(next_half) - digamma(half)) + 0.5 * df().log() + beta;
  }
};

// Abramowitz and Stegun, Handbook of Mathematical Functions, 9.8.1 to 9.8.4, as PyTorch takes them.
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

constexpr Argument kVonMises[] = {{"loc", 0, constraints::real}, {"concentration", 1, constraints::positive}};

struct VonMisesLaw final : LawOf<VonMisesLaw, VonMises, PlainImpl> {
  using LawOf::LawOf;
  const Tensor& loc() const { return kept(0); }
  const Tensor& concentration() const { return kept(1); }
  ArrayRef<Argument> arguments() const override { return kVonMises; }
  Constraint support() const override { return constraints::real(); }
  Tensor mean() const override { return loc(); }
  Tensor mode() const override { return loc(); }
  // The circular variance.
  Tensor variance() const override {
    return 1 - (log_modified_bessel(concentration(), 1) - log_modified_bessel(concentration(), 0)).exp();
  }
  // Rejection from a wrapped Cauchy law (Best and Fisher, "Efficient simulation of the von Mises distribution", 1979), in float64.
  Tensor sample(IntArrayRef sample_shape) const override {
    const Shape shape = extended(sample_shape);
    const Tensor small = concentration().to(ScalarType::Double);
    const Tensor tau = 1 + (1 + 4 * small.pow(2)).sqrt();
    const Tensor rho = (tau - (2 * tau).sqrt()) / (2 * small);
    // For tiny concentrations, where the above cancels, its Taylor series.
    const Tensor r = where(small < 1e-5, 1 / small + small, (1 + rho.pow(2)) / (2 * rho)).expand(shape);
    const Tensor k = small.expand(shape), start = loc().to(ScalarType::Double).expand(shape);
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
    return ((x + kPi + start) % (2 * kPi) - kPi).to(loc().scalar_type());
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    const Tensor start = concentration() * cos(value - loc()) - std::log(2 * kPi);
    return start - log_modified_bessel(concentration(), 0);
  }
};

constexpr Argument kUniform[] = {{"low", 0, nullptr}, {"high", 1, nullptr}};

struct UniformLaw final : LawOf<UniformLaw, Uniform, PlainImpl> {
  using LawOf::LawOf;
  const Tensor& low() const { return kept(0); }
  const Tensor& high() const { return kept(1); }
  ArrayRef<Argument> arguments() const override { return kUniform; }
  Constraint constraint_of(const Argument& a) const override {
    return a.slot == 0 ? constraints::less_than(high()) : constraints::greater_than(low());
  }
  Constraint support() const override { return constraints::interval(low(), high()); }
  Tensor mean() const override { return (high() + low()) / 2; }
  Tensor mode() const override { return kNan * high(); }
  Tensor stddev() const override { return (high() - low()) / std::sqrt(12.0); }
  Tensor variance() const override { return (high() - low()).pow(2) / 12; }
  Tensor rsample(IntArrayRef sample_shape) const override {
    const Tensor u = rand(extended(sample_shape), low().options());
    return low() + u * (high() - low());
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    const Tensor inside = low().le(value).type_as(low()) * high().gt(value).type_as(low());
    return log(inside) - log(high() - low());
  }
  Tensor cdf(const Tensor& value) const override {
    check(value);
    return ((value - low()) / (high() - low())).clamp(Scalar(0), Scalar(1));
  }
  Tensor icdf(const Tensor& value) const override { return value * (high() - low()) + low(); }
  Tensor entropy() const override { return log(high() - low()); }
};

constexpr Argument kGeneralizedPareto[] = {
    {"loc", 0, constraints::real}, {"scale", 1, constraints::positive}, {"concentration", 2, constraints::real}};

struct GeneralizedParetoLaw final : LawOf<GeneralizedParetoLaw, GeneralizedPareto, PlainImpl> {
  using LawOf::LawOf;
  const Tensor& loc() const { return kept(0); }
  const Tensor& scale() const { return kept(1); }
  const Tensor& concentration() const { return kept(2); }
  Tensor standard(const Tensor& value) const { return (value - loc()) / scale(); }
  Tensor is_exponential() const { return isclose(concentration(), zeros_like(concentration())); }
  Tensor safe(const Tensor& flat) const { return where(flat, ones_like(concentration()), concentration()); }
  ArrayRef<Argument> arguments() const override { return kGeneralizedPareto; }
  Constraint support() const override {
    return constraints::interval(loc(), where(concentration() < 0, loc() - scale() / concentration(), kInfinity));
  }
  Tensor mean() const override {
    const Tensor& c = concentration();
    return (loc() + scale() / (1 - c)).masked_fill(c >= 1, kNan);
  }
  Tensor mode() const override { return loc(); }
  Tensor variance() const override {
    const Tensor& c = concentration();
    return (scale().pow(2) / ((1 - c).pow(2) * (1 - 2 * c))).masked_fill(c >= 0.5, kNan);
  }
  Tensor rsample(IntArrayRef sample_shape) const override { return icdf(rand(extended(sample_shape), loc().options())); }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    const Tensor z = standard(value), flat = is_exponential(), c = safe(flat);
    return -scale().log() - where(flat, z, (1 / c + 1.0) * log1p(c * z));
  }
  Tensor log_survival(const Tensor& value) const {
    check(value);
    const Tensor z = standard(value), flat = is_exponential(), c = safe(flat);
    return where(flat, -z, -log1p(c * z) / c);
  }
  Tensor log_cdf(const Tensor& value) const { return log1p(-log_survival(value).exp()); }
  Tensor cdf(const Tensor& value) const override { return log_cdf(value).exp(); }
  Tensor icdf(const Tensor& value) const override {
    const Tensor flat = is_exponential(), c = safe(flat), left = log1p(-value);
    return where(flat, loc() - scale() * left, loc() + scale() / c * expm1(-c * left));
  }
  Tensor entropy() const override { return (scale().log() + concentration() + 1).expand(batch_shape_); }
};

}  // namespace

const Kind Normal::kKind{"Normal", &ExponentialFamily::kKind, true};
const Kind Cauchy::kKind{"Cauchy", &Distribution::kKind, true};
const Kind Laplace::kKind{"Laplace", &Distribution::kKind, true};
const Kind StudentT::kKind{"StudentT", &Distribution::kKind, true};
const Kind VonMises::kKind{"VonMises", &Distribution::kKind};
const Kind Uniform::kKind{"Uniform", &Distribution::kKind, true};
const Kind GeneralizedPareto::kKind{"GeneralizedPareto", &Distribution::kKind, true};

Normal::Normal(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args)
    : ExponentialFamily(new NormalLaw{loc, scale}, validate_args) {}
Cauchy::Cauchy(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args)
    : Distribution(new CauchyLaw{loc, scale}, validate_args) {}
Laplace::Laplace(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args)
    : Distribution(new LaplaceLaw{loc, scale}, validate_args) {}
StudentT::StudentT(const TensorOrNumber& df, const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args)
    : Distribution(new StudentTLaw(df, loc, scale), validate_args) {}
VonMises::VonMises(const TensorOrNumber& loc, const TensorOrNumber& concentration, Validate validate_args)
    : Distribution(new VonMisesLaw{loc, concentration}, validate_args) {}
Uniform::Uniform(const TensorOrNumber& low, const TensorOrNumber& high, Validate validate_args)
    : Distribution(new UniformLaw{low, high}, validate_args) {}
GeneralizedPareto::GeneralizedPareto(const TensorOrNumber& loc, const TensorOrNumber& scale, const TensorOrNumber& concentration,
                                     Validate validate_args)
    : Distribution(new GeneralizedParetoLaw{loc, scale, concentration}, validate_args) {}
Tensor GeneralizedPareto::log_survival_function(const Tensor& value) const {
  return static_cast<const GeneralizedParetoLaw&>(impl()).log_survival(value);
}
Tensor GeneralizedPareto::log_cdf(const Tensor& value) const {
  return static_cast<const GeneralizedParetoLaw&>(impl()).log_cdf(value);
}

}  // namespace cresset::distributions
