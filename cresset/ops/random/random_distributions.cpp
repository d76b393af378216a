// Samples of distributions that take a varying count of draws each, and how they move with the parameters.

#include <cmath>
#include <limits>

#include "cresset/base/parallel.h"
#include "cresset/core/random/generator_impl.h"
#include "cresset/kernels/random/random.h"
#include "cresset/ops/bodies_random.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

using Gen = std::optional<Generator>;

enum Sampled : int64_t { kPoisson, kBinomial, kGamma, kSlopes };

void check_single_or_double(const char* op, const Tensor& t) {
  CRESSET_CHECK_NOT_IMPLEMENTED(t.scalar_type() == kFloat || t.scalar_type() == kDouble, op, ": not implemented for dtype ", t.scalar_type());
}

void check_same_dtype(const char* op, const Tensor& t, const Tensor& expected) {
  CRESSET_CHECK(t.scalar_type() == expected.scalar_type(), op, ": found dtype ", t.scalar_type(), " but expected ", expected.scalar_type());
}

}  // namespace

namespace cpu {

// Numbers are drawn in rows, whatever the strides.
Tensor _sample_distribution(const Tensor& self, const std::optional<Tensor>& other, int64_t distribution, double low, double high, const Gen& generator) {
  const ScalarType dtype = self.scalar_type();
  const bool narrow = distribution == kSlopes && dtype != kDouble;  // slopes of half precision are drawn as floats
  const ScalarType compute = narrow ? kFloat : dtype;
  const Tensor x = (other ? self.expand(broadcast_shapes(self.sizes(), other->sizes())) : self).to(compute).contiguous();
  const Tensor y = other ? other->expand(x.sizes()).contiguous() : Tensor();
  const Tensor out(make_dense(x.sizes(), compute, x.device()));
  if (!out.lacks_data() && out.numel() > 0) {
    GeneratorImpl& g = generator_or_default(generator.value_or(Generator()));
    std::lock_guard<std::mutex> lock(g.mutex_);
    const int64_t n = out.numel();
    if (distribution == kPoisson) {
      kernels::poisson(g.state, out.data_ptr(), x.data_ptr(), dtype, n);
    } else if (distribution == kBinomial) {
      kernels::binomial(g.state, out.data_ptr(), x.data_ptr(), y.data_ptr(), dtype, n);
    } else if (distribution == kGamma) {
      kernels::standard_gamma(g.state, out.data_ptr(), x.data_ptr(), dtype, n);
    } else {
      const Tensor product(make_dense(x.sizes(), compute, x.device()));
      kernels::rrelu(g.state, product.data_ptr(), out.data_ptr(), x.data_ptr(), compute, n, low, high);
    }
  }
  return out.to(dtype);
}

Tensor _sample_slope(const Tensor& self, const Tensor& sample, const std::optional<Tensor>& total) {
  DimVector shape = broadcast_shapes(self.sizes(), sample.sizes());
  if (total) shape = broadcast_shapes(shape, total->sizes());
  const Tensor out(make_dense(shape, self.scalar_type(), self.device()));
  if (out.lacks_data()) return out;
  const auto packed = [&](const Tensor& t) { return t.to(kDouble).expand(shape).contiguous(); };
  const Tensor a = packed(self), x = packed(sample), t = total ? packed(*total) : Tensor();
  const Tensor slopes(make_dense(shape, kDouble, self.device()));
  const double *pa = a.data_ptr<double>(), *px = x.data_ptr<double>(), *pt = total ? t.data_ptr<double>() : nullptr;
  double* const to = slopes.data_ptr<double>();
  parallel_for(0, out.numel(), 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) to[i] = pt ? kernels::beta_slope(px[i], pa[i], pt[i] - pa[i]) / (1 - px[i]) : kernels::gamma_slope(px[i], pa[i]);
  });
  out.copy_(slopes);
  return out;
}

}  // namespace cpu

namespace composite {

Tensor poisson(const Tensor& self, const Gen& generator) {
  CRESSET_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "poisson: not implemented for dtype ", self.scalar_type());
  return cresset::_sample_distribution(self, {}, kPoisson, 0, 0, generator);
}
Tensor binomial(const Tensor& count, const Tensor& prob, const Gen& generator) {
  CRESSET_CHECK_VALUE(count.is_floating_point(), "binomial: only supports floating-point dtypes for count, got ", count.scalar_type());
  CRESSET_CHECK_VALUE(prob.is_floating_point(), "binomial: only supports floating-point dtypes for prob, got ", prob.scalar_type());
  check_single_or_double("binomial", count);
  check_same_dtype("binomial", prob, count);
  return cresset::_sample_distribution(count, prob, kBinomial, 0, 0, generator);
}
Tensor _standard_gamma(const Tensor& self, const Gen& generator) {
  check_single_or_double("_standard_gamma", self);
  return cresset::_sample_distribution(self, {}, kGamma, 0, 0, generator);
}
Tensor _sample_dirichlet(const Tensor& self, const Gen& generator) {
  check_single_or_double("_sample_dirichlet", self);
  const bool single = self.scalar_type() == kFloat;
  const double least = single ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
  const double most = 1 - (single ? std::numeric_limits<float>::epsilon() / 2.0 : std::numeric_limits<double>::epsilon() / 2);
  const Tensor parts = cresset::_standard_gamma(self.to(kDouble), generator);
  return (parts / parts.sum(IntArrayRef(-1), true)).to(self.scalar_type()).clamp(least, most);
}

// Factors of a randomised leaky ReLU: a draw for each element that is not positive, 1 elsewhere.
Tensor _rrelu_noise(const Tensor& self, double lower, double upper, const Gen& generator) {
  CRESSET_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "rrelu: not implemented for dtype ", self.scalar_type());
  return cresset::_sample_distribution(self.detach(), {}, kSlopes, lower, upper, generator);
}

Tensor _standard_gamma_grad(const Tensor& self, const Tensor& output) {
  check_single_or_double("_standard_gamma_grad", self);
  check_same_dtype("_standard_gamma_grad", output, self);
  return cresset::_sample_slope(self, output, {});
}
Tensor _dirichlet_grad(const Tensor& x, const Tensor& alpha, const Tensor& total) {
  check_single_or_double("_dirichlet_grad", x);
  check_same_dtype("_dirichlet_grad", alpha, x);
  check_same_dtype("_dirichlet_grad", total, x);
  return cresset::_sample_slope(alpha, x, total);
}

}  // namespace composite

}  // namespace cresset::ops
