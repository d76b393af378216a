#pragma once
// One distribution of each kind, and what all their methods give: front_ends_test.py asks the same of Python, golden_distributions.py of PyTorch.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cresset/autograd/autograd.h"
#include "cresset/distributions.h"
#include "cresset/tensor.h"

namespace cresset::distributions {

inline Tensor from_numbers(const std::vector<double>& numbers) {
  Tensor t = empty({static_cast<int64_t>(numbers.size())}, ScalarType::Double);
  for (size_t i = 0; i < numbers.size(); i++) t.data_ptr<double>()[i] = numbers[i];
  return t;
}

// Makes the tensors that distributions are made of, as leaves of a dtype.
class Leaves {
 public:
  explicit Leaves(ScalarType dtype) : dtype_(dtype) {}
  Tensor operator()(std::vector<double> numbers, std::vector<int64_t> shape = {-1}) {
    leaves.push_back(from_numbers(numbers).to(dtype_).reshape(shape).detach());
    leaves.back().requires_grad_();
    return leaves.back();
  }
  Tensor operator()(double number) { return (*this)({number}, {}); }
  std::vector<Tensor> leaves;

 private:
  ScalarType dtype_;
};

using Make = std::function<Distribution(Leaves&)>;

inline const std::vector<std::pair<std::string, Make>>& distributions() {
  static const std::vector<std::pair<std::string, Make>> all = {
      {"Bernoulli",
       [](Leaves& t) {
         return Bernoulli(t({0.2, 0.7}));
       }},
      {"BernoulliLogits",
       [](Leaves& t) {
         return Bernoulli({}, t({-1.5, 0.25}));
       }},
      {"Beta",
       [](Leaves& t) {
         auto a = t({0.5, 2.0});
         return Beta(a, t({1.5, 3.0}));
       }},
      {"Binomial",
       [](Leaves& t) {
         return Binomial(7, t({0.2, 0.7}));
       }},
      {"BinomialLogits",
       [](Leaves& t) {
         return Binomial(4, {}, t({-1.5, 0.25}));
       }},
      {"Categorical",
       [](Leaves& t) {
         return Categorical(t({0.2, 0.3, 0.5, 1.0, 2.0, 1.5}, {2, 3}));
       }},
      {"CategoricalLogits",
       [](Leaves& t) {
         return Categorical({}, t({0.2, -0.3, 1.5}));
       }},
      {"Cauchy",
       [](Leaves& t) {
         auto a = t({0.0, 1.0});
         return Cauchy(a, t({1.0, 2.0}));
       }},
      {"Chi2",
       [](Leaves& t) {
         return Chi2(t({1.5, 4.0}));
       }},
      {"ContinuousBernoulli",
       [](Leaves& t) {
         return ContinuousBernoulli(t({0.2, 0.5}));
       }},
      {"ContinuousBernoulliLogits",
       [](Leaves& t) {
         return ContinuousBernoulli({}, t({-1.5, 0.25}));
       }},
      {"Dirichlet",
       [](Leaves& t) {
         return Dirichlet(t({0.5, 2.0, 3.0}));
       }},
      {"DirichletCorner",
       [](Leaves& t) {
         return Dirichlet(t({0.5, 0.25, 0.75, 2.0, 1.5, 4.0}, {2, 3}));
       }},
      {"Exponential",
       [](Leaves& t) {
         return Exponential(t({0.5, 2.0}));
       }},
      {"FisherSnedecor",
       [](Leaves& t) {
         auto a = t({3.0, 5.0});
         return FisherSnedecor(a, t({6.0, 9.0}));
       }},
      {"Gamma",
       [](Leaves& t) {
         auto a = t({0.5, 2.0});
         return Gamma(a, t({1.5, 3.0}));
       }},
      {"GeneralizedPareto",
       [](Leaves& t) {
         auto a = t({0.0, 1.0}), b = t({1.0, 2.0});
         return GeneralizedPareto(a, b, t({0.2, -0.3}));
       }},
      {"GeneralizedParetoFlat",
       [](Leaves& t) {
         auto a = t({0.0, 1.0}), b = t({1.0, 2.0});
         return GeneralizedPareto(a, b, t({0.0, 0.7}));
       }},
      {"Geometric",
       [](Leaves& t) {
         return Geometric(t({0.2, 0.7}));
       }},
      {"GeometricLogits",
       [](Leaves& t) {
         return Geometric({}, t({-1.5, 0.25}));
       }},
      {"Gumbel",
       [](Leaves& t) {
         auto a = t({0.0, 1.0});
         return Gumbel(a, t({1.0, 2.0}));
       }},
      {"HalfCauchy",
       [](Leaves& t) {
         return HalfCauchy(t({0.5, 2.0}));
       }},
      {"HalfNormal",
       [](Leaves& t) {
         return HalfNormal(t({0.5, 2.0}));
       }},
      {"Independent",
       [](Leaves& t) {
         auto a = t({0.0, 1.0});
         return Independent(Normal(a, t({1.0, 2.0})), 1);
       }},
      {"IndependentBernoulli",
       [](Leaves& t) {
         return Independent(Bernoulli(t({0.2, 0.7})), 0);
       }},
      {"InverseGamma",
       [](Leaves& t) {
         auto a = t({2.5, 3.0});
         return InverseGamma(a, t({1.5, 3.0}));
       }},
      {"Kumaraswamy",
       [](Leaves& t) {
         auto a = t({0.5, 2.0});
         return Kumaraswamy(a, t({1.5, 3.0}));
       }},
      {"LKJCholesky", [](Leaves& t) { return LKJCholesky(3, t(1.5)); }},
      {"LKJCholeskyBatch",
       [](Leaves& t) {
         return LKJCholesky(3, t({1.5, 0.75}));
       }},
      {"Laplace",
       [](Leaves& t) {
         auto a = t({0.0, 1.0});
         return Laplace(a, t({1.0, 2.0}));
       }},
      {"LogNormal",
       [](Leaves& t) {
         auto a = t({0.0, 1.0});
         return LogNormal(a, t({1.0, 0.5}));
       }},
      {"LogisticNormal",
       [](Leaves& t) {
         auto a = t({0.0, 1.0});
         return LogisticNormal(a, t({1.0, 0.5}));
       }},
      {"LowRankMultivariateNormal",
       [](Leaves& t) {
         auto a = t({0.0, 1.0}), b = t({1.0, 0.5}, {2, 1});
         return LowRankMultivariateNormal(a, b, t({1.0, 0.5}));
       }},
      {"MixtureSameFamily",
       [](Leaves& t) {
         auto a = t({0.2, 0.8}), b = t({0.0, 1.0});
         return MixtureSameFamily(Categorical(a), Normal(b, t({1.0, 2.0})));
       }},
      {"MixtureOfVectors",
       [](Leaves& t) {
         auto a = t({0.2, 0.8}), b = t({0.0, 1.0, -1.0, 2.0}, {2, 2});
         return MixtureSameFamily(Categorical(a), Independent(Normal(b, 1.5), 1));
       }},
      {"Multinomial",
       [](Leaves& t) {
         return Multinomial(5, t({0.2, 0.3, 0.5}));
       }},
      {"MultivariateNormal",
       [](Leaves& t) {
         auto a = t({0.0, 1.0});
         return MultivariateNormal(a, t({2.0, 0.5, 0.5, 1.0}, {2, 2}));
       }},
      {"MultivariateNormalPrecision",
       [](Leaves& t) {
         auto a = t({0.0, 1.0, 2.0, 0.5}, {2, 2});
         return MultivariateNormal(a, {}, t({2.0, 0.5, 0.5, 1.0}, {2, 2}));
       }},
      {"MultivariateNormalTril",
       [](Leaves& t) {
         auto a = t({0.0, 1.0});
         return MultivariateNormal(a, {}, {}, t({1.5, 0.0, 0.5, 1.0}, {2, 2}));
       }},
      {"NegativeBinomial",
       [](Leaves& t) {
         auto a = t({2.0, 3.5});
         return NegativeBinomial(a, t({0.2, 0.7}));
       }},
      {"NegativeBinomialLogits",
       [](Leaves& t) {
         auto a = t({2.0, 3.5});
         return NegativeBinomial(a, {}, t({-1.5, 0.25}));
       }},
      {"Normal",
       [](Leaves& t) {
         auto a = t({0.0, 1.0});
         return Normal(a, t({1.0, 2.0}));
       }},
      {"OneHotCategorical",
       [](Leaves& t) {
         return OneHotCategorical(t({0.2, 0.3, 0.5}));
       }},
      {"OneHotCategoricalBatch",
       [](Leaves& t) {
         return OneHotCategorical({}, t({0.2, 0.3, 0.5, 1.0, 2.0, 1.5}, {2, 3}));
       }},
      {"OneHotCategoricalStraightThrough",
       [](Leaves& t) {
         return OneHotCategoricalStraightThrough(t({0.2, 0.3, 0.5}));
       }},
      {"Pareto",
       [](Leaves& t) {
         auto a = t({0.5, 2.0});
         return Pareto(a, t({3.5, 3.0}));
       }},
      {"Poisson",
       [](Leaves& t) {
         return Poisson(t({0.5, 12.0}));
       }},
      {"RelaxedBernoulli",
       [](Leaves& t) {
         auto a = t(0.7);
         return RelaxedBernoulli(a, t({0.2, 0.7}));
       }},
      {"LogitRelaxedBernoulli",
       [](Leaves& t) {
         auto a = t(0.7);
         return LogitRelaxedBernoulli(a, {}, t({-1.5, 0.25}));
       }},
      {"RelaxedOneHotCategorical",
       [](Leaves& t) {
         auto a = t(0.7);
         return RelaxedOneHotCategorical(a, t({0.2, 0.3, 0.5}));
       }},
      {"ExpRelaxedCategorical",
       [](Leaves& t) {
         auto a = t(0.7);
         return ExpRelaxedCategorical(a, {}, t({0.2, 0.3, 0.5}));
       }},
      {"StudentT",
       [](Leaves& t) {
         auto a = t({3.0, 5.0}), b = t({0.0, 1.0});
         return StudentT(a, b, t({1.0, 2.0}));
       }},
      {"TransformedDistribution",
       [](Leaves& t) {
         auto a = t({0.0, 1.0}), b = t({1.0, 2.0});
         return TransformedDistribution(Normal(a, b), {AffineTransform(0.5, -2.0), SigmoidTransform(), AffineTransform(1.0, 3.0)});
       }},
      {"Uniform",
       [](Leaves& t) {
         auto a = t({0.0, 1.0});
         return Uniform(a, t({1.0, 3.0}));
       }},
      {"VonMises",
       [](Leaves& t) {
         auto a = t({0.0, 1.0});
         return VonMises(a, t({1.0, 2.0}));
       }},
      {"VonMisesWide",
       [](Leaves& t) {
         auto a = t({0.0, 1.0});
         return VonMises(a, t({1e-7, 5.0}));
       }},
      {"Weibull",
       [](Leaves& t) {
         auto a = t({0.5, 2.0});
         return Weibull(a, t({3.5, 3.0}));
       }},
      {"Wishart",
       [](Leaves& t) {
         auto a = t(3.5);
         return Wishart(a, t({2.0, 0.5, 0.5, 1.0}, {2, 2}));
       }},
      {"WishartTril",
       [](Leaves& t) {
         auto a = t({3.5, 2.5});
         return Wishart(a, {}, {}, t({1.5, 0.0, 0.5, 1.0}, {2, 2}));
       }},
  };
  return all;
}

// A shape of three places that broadcasts against the distribution's batch and event.
inline std::vector<int64_t> three_before(const Distribution& distribution) {
  std::vector<int64_t> shape{3};
  shape.resize(1 + distribution.batch_shape().size() + distribution.event_shape().size(), 1);
  return shape;
}

// Results of a distribution's methods, by name; methods that it does not have are left out.
inline std::map<std::string, Tensor> numbers_of(const Make& make, ScalarType dtype) {
  std::map<std::string, Tensor> found;
  Leaves leaves(dtype);
  const bool low = dtype == ScalarType::Half || dtype == ScalarType::BFloat16;
  Distribution distribution;
  try {
    distribution = make(leaves);
  } catch (const Error&) {
    if (!low) throw;
    return found;
  }
  const auto add = [&](const std::string& name, const std::function<Tensor()>& f) {
    manual_seed(11);
    try {
      found[name] = f();
    } catch (const NotImplementedError&) {
    } catch (const Error&) {  // some ops lack a dtype
      if (!low) throw;
    }
  };
  const auto add_gradients = [&](const std::string& name) {
    const auto at = found.find(name);
    if (at == found.end() || !at->second.requires_grad()) return;
    const Tensor weights = linspace(0.5, 1.5, at->second.numel(), dtype).reshape(at->second.sizes());
    const auto grads = autograd::grad({(at->second * weights).sum()}, leaves.leaves, {}, true, false, true);
    for (size_t i = 0; i < grads.size(); i++)
      if (grads[i].defined()) found[name + ".grad" + std::to_string(i)] = grads[i];
  };
  add("sample", [&] { return distribution.sample({3}); });
  if (!found.count("sample")) return found;
  const Tensor value = found.at("sample");
  add("rsample", [&] { return distribution.rsample({3}); });
  add_gradients("rsample");
  add("log_prob", [&] { return distribution.log_prob(value); });
  add_gradients("log_prob");
  add("cdf", [&] { return distribution.cdf(value); });
  add("icdf", [&] { return distribution.icdf(linspace(0.1, 0.9, 3, dtype).reshape(three_before(distribution))); });
  add("entropy", [&] { return distribution.entropy(); });
  add_gradients("entropy");
  add("perplexity", [&] { return distribution.perplexity(); });
  add("mean", [&] { return distribution.mean(); });
  add("mode", [&] { return distribution.mode(); });
  add("variance", [&] { return distribution.variance(); });
  add("stddev", [&] { return distribution.stddev(); });
  add("enumerate", [&] { return distribution.enumerate_support(); });
  add("enumerate_narrow", [&] { return distribution.enumerate_support(false); });
  std::vector<int64_t> wide{4};
  for (const int64_t size : distribution.batch_shape()) wide.push_back(size);
  const Distribution expanded = distribution.expand(wide);
  add("expanded", [&] { return expanded.sample({2}); });
  if (!found.count("expanded")) return found;
  const Tensor wide_value = found.at("expanded");
  add("expanded_log_prob", [&] { return expanded.log_prob(wide_value); });
  return found;
}

}  // namespace cresset::distributions
