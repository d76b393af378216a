#pragma once
// Texts of distributions, constraints and transforms, errors among them: front_ends_test.py asks the same of Python.

#include <cmath>
#include <cstdio>

#include "distributions/every_distribution.h"
#include "error_of.h"

namespace cresset::distributions {

using Texts = std::map<std::string, std::string>;

inline std::string numbers_text(const Tensor& t) {
  std::string s = dtype_name(t.scalar_type());
  for (const int64_t size : t.sizes()) s += " " + std::to_string(size);
  s += ":";
  const Tensor plain = t.detach().to(ScalarType::Double).contiguous();
  for (int64_t i = 0; i < plain.numel(); i++) {
    char text[64];
    const double x = plain.data_ptr<double>()[i];
    std::snprintf(text, sizeof text, " %a", x == x ? x : NAN);
    s += text;
  }
  return s;
}

inline std::string shape_text(const std::vector<int64_t>& shape) {
  std::string s;
  for (const int64_t size : shape) s += std::to_string(size) + " ";
  return s;
}

// The text of what `f` gives, or of its error.
inline std::string text_or_error(const std::function<std::string()>& f) {
  try {
    return f();
  } catch (const NotImplementedError&) { return "not implemented"; } catch (const Error& e) {
    return e.what();
  }
}

inline Tensor floats(std::vector<double> numbers, std::vector<int64_t> shape = {-1}) { return from_numbers(numbers).to(ScalarType::Float).reshape(shape); }

inline Texts mistakes() {
  const auto t = [](std::vector<double> numbers, std::vector<int64_t> shape = {-1}) { return floats(std::move(numbers), std::move(shape)); };
  const Tensor many = zeros({1001}), eye2 = eye(2), bad = t({1.0, 2.0, 2.0, 1.0}, {2, 2});
  const std::vector<std::pair<std::string, std::function<void()>>> all = {
      {"Normal scale",
       [=] {
         Normal(t({0, 0}), t({1, -1}));
       }},
      {"Normal numbers", [=] { Normal(0.0, -1.0); }},
      {"Normal small number", [=] { Normal(0.0, -0.1); }},
      {"Normal nan",
       [=] {
         Normal(t({NAN, 0.5}), 1.0);
       }},
      {"Normal double",
       [=] {
         Normal(from_numbers({0, 0}), from_numbers({1, -1.25}));
       }},
      {"Normal matrix",
       [=] {
         Normal(0.0, t({1, -1, 2, -2.5, 1e-5, 3}, {2, 3}));
       }},
      {"Normal wide numbers",
       [=] {
         Normal(0.0, t({1, -1e9, 2.5}));
       }},
      {"Normal three dims",
       [=] {
         Normal(0.0, t({1, -1, 2, -2, 1, 3, 7, 8}, {2, 2, 2}));
       }},
      {"Normal long", [=] { Normal(0.0, many - 0.5); }},
      {"Normal line", [=] { Normal(0.0, arange(30).to(ScalarType::Float)); }},
      {"Normal leaf",
       [=] {
         Normal(0.0, t({1, -1}).requires_grad_());
       }},
      {"Normal recorded",
       [=] {
         Normal(0.0, t({1, -1}).requires_grad_() * 2);
       }},
      {"Normal inf",
       [=] {
         Normal(0.0, t({INFINITY, -INFINITY, 0.25}));
       }},
      {"Bernoulli probs", [=] { Bernoulli(1.5); }},
      {"Bernoulli both", [=] { Bernoulli(0.5, 0.5); }},
      {"Bernoulli none", [=] { Bernoulli(TensorOrNumber(), TensorOrNumber()); }},
      {"Bernoulli logits", [=] { Bernoulli({}, t({NAN})); }},
      {"ContinuousBernoulli probs",
       [=] {
         ContinuousBernoulli(t({0.5, 2}), {}, {0.499, 0.501}, true);
       }},
      {"Categorical number", [=] { Categorical(scalar_tensor(0.5)); }},
      {"Categorical logits number", [=] { Categorical({}, scalar_tensor(0.5)); }},
      {"Categorical negative",
       [=] {
         Categorical(t({-0.5, 1.5}));
       }},
      {"Categorical none", [=] { Categorical(Tensor{}, Tensor{}); }},
      {"Multinomial probs",
       [=] {
         Multinomial(3, t({-0.5, 1.5}));
       }},
      {"OneHotCategorical probs",
       [=] {
         OneHotCategorical(t({-0.5, 1.5}));
       }},
      {"Uniform",
       [=] {
         Uniform(t({0, 2}), t({1, 1}));
       }},
      {"Uniform numbers", [=] { Uniform(1.0, 0.0); }},
      {"Dirichlet",
       [=] {
         Dirichlet(t({1, 0}));
       }},
      {"Dirichlet number", [=] { Dirichlet(scalar_tensor(1.0)); }},
      {"Beta",
       [=] {
         Beta(t({1, 2}), t({1, 0}));
       }},
      {"Gamma",
       [=] {
         Gamma(t({1, 0}), 1.0);
       }},
      {"Chi2",
       [=] {
         Chi2(t({1, -2}));
       }},
      {"Exponential", [=] { Exponential(0.0); }},
      {"FisherSnedecor",
       [=] {
         FisherSnedecor(t({1, 0}), 1.0);
       }},
      {"StudentT",
       [=] {
         StudentT(t({1, 2}), 0.0, t({1, -1}));
       }},
      {"Poisson",
       [=] {
         Poisson(t({1, -1}));
       }},
      {"Binomial",
       [=] {
         Binomial(-1, t({0.5, 0.25}));
       }},
      {"Binomial fraction",
       [=] {
         Binomial(t({1.5, 2}), t({0.5, 0.25}));
       }},
      {"NegativeBinomial",
       [=] {
         NegativeBinomial(3, t({0.5, 1.0}));
       }},
      {"Geometric",
       [=] {
         Geometric(t({0.5, 0.0}));
       }},
      {"Geometric number", [=] { Geometric(1.5); }},
      {"Gumbel", [=] { Gumbel(0.0, 0.0); }},
      {"HalfNormal",
       [=] {
         HalfNormal(t({1, -1}));
       }},
      {"HalfCauchy", [=] { HalfCauchy(-1.0); }},
      {"LogNormal", [=] { LogNormal(0.0, -1.0); }},
      {"InverseGamma", [=] { InverseGamma(1.0, -1.0); }},
      {"Kumaraswamy", [=] { Kumaraswamy(1.0, -1.0); }},
      {"Pareto", [=] { Pareto(1.0, -1.0); }},
      {"Pareto scale",
       [=] {
         Pareto(t({1.0, -1.0}), 2.0);
       }},
      {"Weibull",
       [=] {
         Weibull(1.0, t({1.0, -1.0}));
       }},
      {"VonMises",
       [=] {
         VonMises(1.0, t({1.0, -1.0}));
       }},
      {"GeneralizedPareto",
       [=] {
         GeneralizedPareto(1.0, t({1.0, -1.0}), 0.5);
       }},
      {"RelaxedBernoulli",
       [=] {
         RelaxedBernoulli(scalar_tensor(1.0), t({0.5, 1.5}));
       }},
      {"RelaxedOneHotCategorical",
       [=] {
         RelaxedOneHotCategorical(scalar_tensor(1.0), t({-0.5, 1.5}));
       }},
      {"MultivariateNormal number", [=] { MultivariateNormal(scalar_tensor(0.0), eye2); }},
      {"MultivariateNormal none", [=] { MultivariateNormal(zeros({2})); }},
      {"MultivariateNormal two", [=] { MultivariateNormal(zeros({2}), eye2, {}, eye2); }},
      {"MultivariateNormal vector", [=] { MultivariateNormal(zeros({2}), {}, {}, ones({2})); }},
      {"MultivariateNormal covariance vector", [=] { MultivariateNormal(zeros({2}), ones({2})); }},
      {"MultivariateNormal indefinite", [=] { MultivariateNormal(zeros({2}), bad); }},
      {"MultivariateNormal precision", [=] { MultivariateNormal(zeros({2}), {}, bad); }},
      {"MultivariateNormal tril", [=] { MultivariateNormal(zeros({2}), {}, {}, bad); }},
      {"LowRank number",
       [=] {
         LowRankMultivariateNormal(scalar_tensor(0.0), ones({2, 1}), ones({2}));
       }},
      {"LowRank vector", [=] { LowRankMultivariateNormal(zeros({2}), ones({2}), ones({2})); }},
      {"LowRank rows",
       [=] {
         LowRankMultivariateNormal(zeros({2}), ones({3, 1}), ones({2}));
       }},
      {"LowRank diag",
       [=] {
         LowRankMultivariateNormal(zeros({2}), ones({2, 1}), ones({3}));
       }},
      {"LowRank batch",
       [=] {
         LowRankMultivariateNormal(zeros({3, 2}), ones({2, 2, 1}), ones({2}));
       }},
      {"LowRank negative",
       [=] {
         LowRankMultivariateNormal(zeros({2}), ones({2, 1}), t({1, -1}));
       }},
      {"Wishart none", [=] { Wishart(3.0); }},
      {"Wishart vector", [=] { Wishart(3.0, ones({2})); }},
      {"Wishart df", [=] { Wishart(1.0, eye2); }},
      {"Wishart df vector",
       [=] {
         Wishart(t({3, 1}), eye2);
       }},
      {"Wishart indefinite", [=] { Wishart(3.0, bad); }},
      {"LKJCholesky dim", [=] { LKJCholesky(1); }},
      {"LKJCholesky", [=] { LKJCholesky(2, -1.0); }},
      {"Independent", [=] { Independent(Normal(0.0, 1.0), 1); }},
      {"Mixture", [=] { MixtureSameFamily(Normal(0.0, 1.0), Normal(zeros({2}), 1.0)); }},
      {"Mixture batch",
       [=] {
         MixtureSameFamily(Categorical(ones({3, 2})), Normal(zeros({2, 2}), 1.0));
       }},
      {"Mixture count", [=] { MixtureSameFamily(Categorical(ones({3})), Normal(zeros({2}), 1.0)); }},
      {"Transformed", [=] { TransformedDistribution(Normal(0.0, 1.0), StickBreakingTransform()); }},
      {"value Bernoulli",
       [=] {
         Bernoulli(t({0.5, 0.25})).log_prob(t({0.5, 1}));
       }},
      {"value Categorical", [=] { Categorical(ones({3})).log_prob(arange(4)); }},
      {"value Uniform",
       [=] {
         Uniform(0.0, t({1, 2})).log_prob(scalar_tensor(1.5));
       }},
      {"value Uniform cdf", [=] { Uniform(0.0, 1.0).cdf(t({1.5})); }},
      {"value Dirichlet", [=] { Dirichlet(ones({3})).log_prob(ones({3})); }},
      {"value Multinomial",
       [=] {
         Multinomial(3, ones({2})).log_prob(t({2, 2}));
       }},
      {"value OneHot",
       [=] {
         OneHotCategorical(ones({2})).log_prob(t({1, 1}));
       }},
      {"value Normal", [=] { Normal(0.0, 1.0).log_prob(scalar_tensor(NAN)); }},
      {"value LogNormal", [=] { LogNormal(0.0, 1.0).log_prob(scalar_tensor(-1.0)); }},
      {"value Poisson",
       [=] {
         Poisson(t({1, 2})).log_prob(scalar_tensor(1.5));
       }},
      {"value Pareto",
       [=] {
         Pareto(t({1, 2}), 1.0).log_prob(t({1.5, 1.5}));
       }},
      {"value size", [=] { MultivariateNormal(zeros({2}), eye2).log_prob(zeros({3})); }},
      {"value number", [=] { MultivariateNormal(zeros({2}), eye2).log_prob(scalar_tensor(0.0)); }},
      {"value batch", [=] { Normal(zeros({2}), 1.0).log_prob(zeros({3})); }},
      {"value LKJ", [=] { LKJCholesky(2).log_prob(bad); }},
      {"value Wishart", [=] { Wishart(3.0, eye2).log_prob(bad); }},
      {"value Mixture", [=] { MixtureSameFamily(Categorical(ones({2})), Exponential(ones({2}))).log_prob(t({-1})); }},
      {"value Independent",
       [=] {
         Independent(Exponential(ones({2})), 1).log_prob(t({1, -1}));
       }},
      {"value Exponential cdf", [=] { Exponential(1.0).cdf(scalar_tensor(-1.0)); }},
      {"value HalfNormal", [=] { HalfNormal(1.0).log_prob(scalar_tensor(-1.0)); }},
      {"KL", [=] { kl_divergence(Normal(0.0, 1.0), Bernoulli(0.5)); }},
      {"KL sizes", [=] { kl_divergence(MultivariateNormal(zeros({2}), eye2), MultivariateNormal(zeros({3}), eye(3))); }},
      {"KL counts", [=] { kl_divergence(Binomial(2, t({0.5})), Binomial(3, t({0.5}))); }},
      {"enumerate", [=] { Independent(Bernoulli(t({0.5})), 1).enumerate_support(); }},
      {"count",
       [=] {
         Binomial(t({1, 2}), t({0.5, 0.5})).enumerate_support();
       }},
      {"dependent", [=] { constraints::dependent().check(t({1})); }},
      {"dependent dim", [=] { constraints::dependent().event_dim(); }},
      {"independent dims", [=] { constraints::independent(constraints::real(), 2).check(t({1})); }},
      {"independent negative", [=] { constraints::independent(constraints::real(), -1); }},
      {"cat lengths",
       [=] {
         constraints::cat({constraints::real()}, 0, {1, 2});
       }},
      {"cat dim", [=] { constraints::cat({constraints::real()}, 3).check(t({1})); }},
      {"biject_to", [=] { biject_to(constraints::boolean()); }},
      {"transform_to", [=] { transform_to(constraints::MixtureSameFamilyConstraint(constraints::real())); }},
      {"cache size", [=] { ExpTransform(2); }},
      {"reshape", [=] { ReshapeTransform({2}, {3}); }},
      {"reshape shape",
       [=] {
         ReshapeTransform({2, 3}, {6}).forward_shape({4, 2, 2});
       }},
      {"reshape dims",
       [=] {
         ReshapeTransform({2, 3}, {6}).forward_shape({3});
       }},
      {"reshape event_dim",
       [=] {
         ReshapeTransform({2, 3}, {6}).event_dim();
       }},
      {"stick dims", [=] { StickBreakingTransform().forward_shape({}); }},
      {"corr count", [=] { CorrCholeskyTransform().forward_shape({4}); }},
      {"corr square",
       [=] {
         CorrCholeskyTransform().inverse_shape({2, 3});
       }},
      {"corr vector",
       [=] {
         CorrCholeskyTransform()(t({1, 2}));
       }},
      {"independent transform", [=] { IndependentTransform(ExpTransform(), 1)(scalar_tensor(1.0)); }},
      {"cat transform lengths",
       [=] {
         CatTransform({ExpTransform()}, 0, {1, 2});
       }},
      {"cat transform size",
       [=] {
         CatTransform({ExpTransform(), ExpTransform()}, 0)(t({1, 2, 3}));
       }},
      {"stack transform dim", [=] { StackTransform({ExpTransform()}, 2)(t({1})); }},
      {"tril", [=] { tril_matrix_to_vec(eye2, 2); }},
  };
  Texts found;
  for (const auto& [name, f] : all) found["mistake " + name] = error_of(f);
  return found;
}

// The text of a distribution, its support and its constraints, before and after all that is computed lazily is there.
inline Texts selves() {
  Texts found;
  for (const auto& [name, make] : distributions()) {
    Leaves leaves(ScalarType::Float);
    const Distribution distribution = make(leaves);
    found["distribution " + name] = distribution.str();
    found["support " + name] = text_or_error([&] { return distribution.support().str(); });
    std::string all;
    for (const auto& [argument, constraint] : distribution.arg_constraints()) all += argument + ": " + constraint.str() + " ";
    found["arguments " + name] = all;
    text_or_error([&] { return distribution.entropy().toString(); });
    text_or_error([&] { return distribution.mean().toString(); });
    found["distribution used " + name] = distribution.str();
    found["able " + name] = std::to_string(distribution.has_rsample()) + std::to_string(distribution.has_enumerate_support());
    found["expanded " + name] = distribution.expand(std::vector<int64_t>(1 + distribution.batch_shape().size(), 2)).str();
  }
  return found;
}

inline std::vector<std::pair<std::string, Constraint>> regions() {
  namespace c = constraints;
  return {{"boolean", c::boolean()},
          {"one_hot", c::one_hot()},
          {"integer_interval", c::integer_interval(-1, 2)},
          {"integer_interval tensor", c::integer_interval(0, floats({1, 2, 3, 0.5}))},
          {"nonnegative_integer", c::nonnegative_integer()},
          {"positive_integer", c::positive_integer()},
          {"real", c::real()},
          {"real_vector", c::real_vector()},
          {"positive", c::positive()},
          {"nonnegative", c::nonnegative()},
          {"greater_than", c::greater_than(0.1)},
          {"greater_than tensor", c::greater_than(floats({0, 1, 2, 0.5}))},
          {"greater_than_eq", c::greater_than_eq(1)},
          {"less_than", c::less_than(1e20)},
          {"less_than tensor", c::less_than(scalar_tensor(0.5))},
          {"unit_interval", c::unit_interval()},
          {"interval", c::interval(-2.5, 1e-7)},
          {"half_open_interval", c::half_open_interval(0.0, 1.0)},
          {"half_open wide", c::half_open_interval(floats({0, 0, 1, 1}), 2.0)},
          {"simplex", c::simplex()},
          {"multinomial", c::multinomial(3)},
          {"lower_triangular", c::lower_triangular()},
          {"lower_cholesky", c::lower_cholesky()},
          {"corr_cholesky", c::corr_cholesky()},
          {"square", c::square()},
          {"symmetric", c::symmetric()},
          {"positive_semidefinite", c::positive_semidefinite()},
          {"positive_definite", c::positive_definite()},
          {"independent", c::independent(c::positive(), 2)},
          {"mixture", c::MixtureSameFamilyConstraint(c::positive())},
          {"mixture of vectors", c::MixtureSameFamilyConstraint(c::simplex())},
          {"cat", c::cat({c::positive(), c::real()}, -1, {1, 3})},
          {"cat first", c::cat({c::positive(), c::real()}, 0)},
          {"stack", c::stack({c::positive(), c::real(), c::boolean(), c::real()}, -1)}};
}

inline std::vector<std::pair<std::string, Tensor>> values() {
  return {{"vector", floats({0, 1, 2, 0.5})},
          {"shares", floats({0.25, 0.25, 0.5, 0})},
          {"negative", floats({-1, -2.5, NAN, 0})},
          {"matrix", floats({1, 0.5, 0.5, 2}, {2, 2})},
          {"lower", floats({1, 0, 0.6, 0.8}, {2, 2})},
          {"indefinite", floats({1, 2, 2, 1}, {2, 2})},
          {"stacked", floats({1, 0, 0.6, 0.8, 1, 0, 0, 1}, {2, 2, 2})},
          {"wide", floats({1, 0, 0, 0, 1, 0, 0, 2}, {2, 4})}};
}

inline Texts checks() {
  Texts found;
  for (const auto& [name, region] : regions()) {
    found["region " + name] = region.str() + std::to_string(region.is_discrete()) + std::to_string(region.event_dim());
    for (const auto& [of, value] : values()) found["check " + name + " " + of] = text_or_error([&] { return numbers_text(region.check(value)); });
    for (const auto* registry : {&biject_to, &transform_to})
      found[std::string(registry == &biject_to ? "biject_to " : "transform_to ") + name] = text_or_error([&] { return (*registry)(region).str(); });
  }
  return found;
}

inline std::vector<std::tuple<std::string, Transform, Tensor>> transforms() {
  const Tensor v = floats({0.5, -1.25, 2, 0.125, -0.75, 0.25}), p = floats({0.5, 1.25, 2, 0.125, 0.75, 0.25}), m = v.reshape({2, 3}),
               s = floats({0.5, -1.25, 2, 0.125}, {2, 2});
  const Transform exp = ExpTransform(), two = AffineTransform(0.5, 2.0);
  return {{"exp", exp, v},
          {"exp inverse", exp.inv(), p},
          {"power", PowerTransform(2.0), p},
          {"power tensor", PowerTransform(floats({1, -2, 3})), p.reshape({2, 3})},
          {"sigmoid", SigmoidTransform(), v},
          {"softplus", SoftplusTransform(), v * 20},
          {"tanh", TanhTransform(), v},
          {"abs", AbsTransform(), v},
          {"affine", two, v},
          {"affine integers", AffineTransform(1, -3), v},
          {"affine event", AffineTransform(floats({1, 2, 3}), floats({-1, 2, 3}), 1), m},
          {"affine number event", AffineTransform(0.5, 2.0, 1), m},
          {"softmax", SoftmaxTransform(), m},
          {"stick", StickBreakingTransform(), m},
          {"corr", CorrCholeskyTransform(), v},
          {"corr batch", CorrCholeskyTransform(), m},
          {"lower cholesky", LowerCholeskyTransform(), s},
          {"positive definite", PositiveDefiniteTransform(), s},
          {"cumulative", CumulativeDistributionTransform(Normal(0.5, 2.0)), v},
          {"reshape", ReshapeTransform({2, 3}, {6}), m},
          {"compose", ComposeTransform({two, exp, StickBreakingTransform()}), m},
          {"compose inverse", ComposeTransform({two, exp}).inv(), p},
          {"compose nothing", identity_transform(), v},
          {"independent", IndependentTransform(exp, 1), m},
          {"independent inverse", IndependentTransform(exp, 1).inv(), p.reshape({2, 3})},
          {"cat", CatTransform({exp, two, SigmoidTransform()}, 0, {1, 3, 2}), v},
          {"cat ones", CatTransform({exp, two}, 0), m},
          {"cat columns", CatTransform({exp, StickBreakingTransform()}, -1, {3, 3}), v.reshape({1, 6})},
          {"stack", StackTransform({exp, two, SigmoidTransform()}, 1), m}};
}

inline Texts transformed() {
  Texts found;
  for (const auto& [name, given, x] : transforms()) {
    const Transform& t = given;
    const Tensor value = x, y = t(value);
    found["transform " + name] = t.str();
    found["forward " + name] = numbers_text(y);
    found["back " + name] = text_or_error([&] { return numbers_text(t.inv()(y)); });
    found["jacobian " + name] = text_or_error([&] { return numbers_text(t.log_abs_det_jacobian(value, y)); });
    found["inverse jacobian " + name] = text_or_error([&] { return numbers_text(t.inv().log_abs_det_jacobian(y, value)); });
    found["sides " + name] = text_or_error([&] { return t.domain().str() + t.codomain().str() + std::to_string(t.bijective()); });
    found["event " + name] = text_or_error([&] { return std::to_string(t.event_dim()); });
    found["sign " + name] = text_or_error([&] {
      const TensorOrNumber sign = t.sign();
      return sign.is_number() ? std::to_string(static_cast<int>(sign.number().to<double>())) : numbers_text(sign.tensor());
    });
    found["shapes " + name] = text_or_error([&] { return shape_text(t.forward_shape(value.sizes())) + shape_text(t.inverse_shape(y.sizes())); });
    found["inverse " + name] = t.inv().str();
    for (const auto& [other, u, unused] : transforms()) found["equal " + name + ", " + other] = std::to_string(t == u);
  }
  return found;
}

}  // namespace cresset::distributions
