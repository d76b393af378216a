#pragma once
// Sampling for generators of programs: functions that a program registers under CustomRNGKeyId, over the class of its generator. Every number is drawn
// on the calling thread, row by row, while the generator's mutex is held; normal numbers come in pairs, at any size.
//
// `uniform_impl_` and the like check the arguments and call a kernel of the program, or one of `cpu` here, which takes a TensorIterator or a tensor, the
// parameters and the generator.

#include <mutex>

#include "cresset/core/random/cpu_generator.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/random/samplers.h"
#include "cresset/ops/tensor_iterator.h"

namespace cresset::templates {

namespace cpu {

// `draw` gives a V for each element.
template <class V, class RNG, class F> void fill(const Tensor& out, RNG* generator, F&& draw) {
  const std::lock_guard<std::mutex> lock(generator->mutex_);
  const Tensor numbers = cresset::empty(out.sizes(), TensorOptions(dtype_of<V>));
  V* const data = numbers.data_ptr<V>();
  for (int64_t i = 0; i < numbers.numel(); i++) data[i] = draw(generator);
  Tensor target = out;
  target.copy_(numbers);
}

template <class RNG> void uniform_kernel(TensorIterator& iter, double from, double to, RNG* generator) {
  const Tensor& out = iter.output();
  if (out.scalar_type() == kDouble) return fill<double>(out, generator, uniform_real_distribution<double>(from, to));
  fill<float>(out, generator, uniform_real_distribution<float>(static_cast<float>(from), static_cast<float>(to)));
}
template <class RNG> void normal_kernel(const Tensor& self, double mean, double std, RNG* generator) {
  fill<double>(self, generator, normal_distribution<double>(mean, std));
}
template <class RNG> void log_normal_kernel(TensorIterator& iter, double mean, double std, RNG* generator) {
  fill<double>(iter.output(), generator, lognormal_distribution<double>(mean, std));
}
template <class RNG> void exponential_kernel(TensorIterator& iter, double lambda, RNG* generator) {
  fill<double>(iter.output(), generator, exponential_distribution<double>(lambda));
}
template <class RNG> void cauchy_kernel(TensorIterator& iter, double median, double sigma, RNG* generator) {
  fill<double>(iter.output(), generator, cauchy_distribution<double>(median, sigma));
}
template <class RNG> void geometric_kernel(TensorIterator& iter, double p, RNG* generator) {
  fill<double>(iter.output(), generator, geometric_distribution<double>(p));
}
template <class RNG> void bernoulli_kernel(const Tensor& self, double p, RNG* generator) { fill<double>(self, generator, bernoulli_distribution<double>(p)); }
template <class RNG> void bernoulli_kernel(const Tensor& self, const Tensor& p, RNG* generator) {
  const bool is_double = p.scalar_type() == kDouble;
  const Tensor chances = p.to(kDouble).expand(self.sizes()).contiguous();
  const double* chance = chances.data_ptr<double>();
  fill<double>(self, generator, [&](RNG* g) {
    const double u = is_double ? detail::drawn_unit<double>(g) : static_cast<double>(detail::drawn_unit<float>(g));
    return u < *chance++ ? 1.0 : 0.0;
  });
}
// base + (a word mod range), of 64 bits where the range has 2^28 numbers or more.
template <class RNG> void random_from_to_kernel(TensorIterator& iter, uint64_t range, int64_t base, RNG* generator) {
  fill<int64_t>(iter.output(), generator, uniform_int_from_to_distribution<int64_t>(range, base));
}
template <class RNG> void random_full_64_bits_range_kernel(TensorIterator& iter, RNG* generator) {
  fill<int64_t>(iter.output(), generator, [](RNG* g) { return static_cast<int64_t>(g->random64()); });
}
template <class RNG> void random_kernel(TensorIterator& iter, RNG* generator) {
  const kernels::DrawnIntegers numbers = kernels::drawn_integers(iter.output().scalar_type(), {}, {});
  fill<int64_t>(iter.output(), generator, [&](RNG* g) { return static_cast<int64_t>((numbers.wide ? g->random64() : g->random()) % numbers.range); });
}

// The same as classes, which take any generator. Errors: it is not of the class.
template <class RNG> struct UniformKernel {
  void operator()(TensorIterator& iter, double from, double to, const std::optional<Generator>& g) { uniform_kernel(iter, from, to, check_generator<RNG>(g)); }
};
template <class RNG> struct NormalKernel {
  void operator()(const Tensor& self, double mean, double std, const std::optional<Generator>& g) { normal_kernel(self, mean, std, check_generator<RNG>(g)); }
};
template <class RNG> struct LogNormalKernel {
  void operator()(TensorIterator& iter, double mean, double std, const std::optional<Generator>& g) {
    log_normal_kernel(iter, mean, std, check_generator<RNG>(g));
  }
};
template <class RNG> struct ExponentialKernel {
  void operator()(TensorIterator& iter, double lambda, const std::optional<Generator>& g) { exponential_kernel(iter, lambda, check_generator<RNG>(g)); }
};
template <class RNG> struct CauchyKernel {
  void operator()(TensorIterator& iter, double median, double sigma, const std::optional<Generator>& g) {
    cauchy_kernel(iter, median, sigma, check_generator<RNG>(g));
  }
};
template <class RNG> struct GeometricKernel {
  void operator()(TensorIterator& iter, double p, const std::optional<Generator>& g) { geometric_kernel(iter, p, check_generator<RNG>(g)); }
};
template <class RNG> struct BernoulliKernel {
  void operator()(const Tensor& self, double p, const std::optional<Generator>& g) { bernoulli_kernel(self, p, check_generator<RNG>(g)); }
  void operator()(const Tensor& self, const Tensor& p, const std::optional<Generator>& g) { bernoulli_kernel(self, p, check_generator<RNG>(g)); }
};
template <class RNG> struct RandomFromToKernel {
  void operator()(TensorIterator& iter, uint64_t range, int64_t base, const std::optional<Generator>& g) {
    random_from_to_kernel(iter, range, base, check_generator<RNG>(g));
  }
  void operator()(TensorIterator& iter, const std::optional<Generator>& g) { random_full_64_bits_range_kernel(iter, check_generator<RNG>(g)); }
};
template <class RNG> struct RandomKernel {
  void operator()(TensorIterator& iter, const std::optional<Generator>& g) { random_kernel(iter, check_generator<RNG>(g)); }
};

}  // namespace cpu

// Calls the kernel where there is an element.
template <class Kernel, class... A> Tensor& run_on(Tensor& self, const std::optional<Generator>& generator, A... args) {
  if (self.numel() == 0) return self;
  TensorIterator iter = TensorIterator::nullary_op(self);
  Kernel()(iter, args..., generator);
  return self;
}

template <template <class> class Kernel, class RNG> Tensor& uniform_impl_(Tensor& self, double from, double to, const std::optional<Generator>& generator) {
  CRESSET_CHECK(from <= to, "uniform_: expected from <= to, got from=", from, " and to=", to);
  if (!self.is_complex()) return run_on<Kernel<RNG>>(self, generator, from, to);
  Tensor parts = cresset::view_as_real(self);
  uniform_impl_<Kernel, RNG>(parts, from, to, generator);
  return self;
}

template <template <class> class Kernel, class RNG> Tensor& normal_impl_(Tensor& self, double mean, double std, const std::optional<Generator>& generator) {
  CRESSET_CHECK(std >= 0, "normal_: expected a deviation of 0 or more, got ", std);
  if (self.numel() == 0) return self;
  if (self.is_complex()) Kernel<RNG>()(cresset::view_as_real(self), mean, std / std::sqrt(2.0), generator);
  else Kernel<RNG>()(self, mean, std, generator);
  return self;
}
template <template <class> class Kernel, class RNG>
Tensor& normal_out_impl(Tensor& out, const Tensor& mean, double std, const std::optional<Generator>& generator) {
  out.resize_(mean.sizes());
  return normal_impl_<Kernel, RNG>(out, 0, std, generator).add_(mean);
}
template <template <class> class Kernel, class RNG>
Tensor& normal_out_impl(Tensor& out, double mean, const Tensor& std, const std::optional<Generator>& generator) {
  out.resize_(std.sizes());
  return normal_impl_<Kernel, RNG>(out, 0, 1, generator).mul_(std).add_(mean);
}
template <template <class> class Kernel, class RNG>
Tensor& normal_out_impl(Tensor& out, const Tensor& mean, const Tensor& std, const std::optional<Generator>& generator) {
  out.resize_(cresset::broadcast_tensors({mean, std})[0].sizes());
  return normal_impl_<Kernel, RNG>(out, 0, 1, generator).mul_(std).add_(mean);
}
template <template <class> class Kernel, class RNG> Tensor normal_impl(const Tensor& mean, double std, const std::optional<Generator>& generator) {
  Tensor out = cresset::empty_like(mean);
  return normal_out_impl<Kernel, RNG>(out, mean, std, generator);
}
template <template <class> class Kernel, class RNG> Tensor normal_impl(double mean, const Tensor& std, const std::optional<Generator>& generator) {
  Tensor out = cresset::empty_like(std);
  return normal_out_impl<Kernel, RNG>(out, mean, std, generator);
}
template <template <class> class Kernel, class RNG> Tensor normal_impl(const Tensor& mean, const Tensor& std, const std::optional<Generator>& generator) {
  Tensor out = cresset::empty({0}, mean.options());
  return normal_out_impl<Kernel, RNG>(out, mean, std, generator);
}

template <template <class> class Kernel, class RNG> Tensor& log_normal_impl_(Tensor& self, double mean, double std, const std::optional<Generator>& generator) {
  CRESSET_CHECK(std > 0, "log_normal_: expected a deviation of more than 0, got ", std);
  return run_on<Kernel<RNG>>(self, generator, mean, std);
}
template <template <class> class Kernel, class RNG> Tensor& exponential_impl_(Tensor& self, double lambda, const std::optional<Generator>& generator) {
  CRESSET_CHECK(lambda > 0, "exponential_: expected a rate of more than 0, got ", lambda);
  return run_on<Kernel<RNG>>(self, generator, lambda);
}
template <template <class> class Kernel, class RNG> Tensor& cauchy_impl_(Tensor& self, double median, double sigma, const std::optional<Generator>& generator) {
  CRESSET_CHECK(sigma > 0, "cauchy_: expected sigma of more than 0, got ", sigma);
  return run_on<Kernel<RNG>>(self, generator, median, sigma);
}
template <template <class> class Kernel, class RNG> Tensor& geometric_impl_(Tensor& self, double p, const std::optional<Generator>& generator) {
  CRESSET_CHECK(p > 0 && p < 1, "geometric_: expected a probability between 0 and 1, got ", p);
  return run_on<Kernel<RNG>>(self, generator, p);
}

template <template <class> class Kernel, class RNG> Tensor& bernoulli_impl_(Tensor& self, double p, const std::optional<Generator>& generator) {
  CRESSET_CHECK(p >= 0 && p <= 1, "bernoulli_: expected a probability of 0 to 1, got ", p);
  if (self.numel() > 0) Kernel<RNG>()(self, p, generator);
  return self;
}
template <template <class> class Kernel, class RNG> Tensor& bernoulli_impl_(Tensor& self, const Tensor& p, const std::optional<Generator>& generator) {
  CRESSET_CHECK(p.is_floating_point(), "bernoulli_: expected probabilities of a floating dtype, got ", p.scalar_type());
  if (self.numel() > 0) Kernel<RNG>()(self, p, generator);
  return self;
}
template <template <class> class Kernel, class RNG> Tensor& bernoulli_out_impl(Tensor& out, const Tensor& p, const std::optional<Generator>& generator) {
  out.resize_(p.sizes());
  return bernoulli_impl_<Kernel, RNG>(out, p, generator);
}

template <template <class> class Kernel, class RNG> Tensor& random_impl(Tensor& self, const std::optional<Generator>& generator) {
  return run_on<Kernel<RNG>>(self, generator);
}
template <template <class> class Kernel, class RNG>
Tensor& random_from_to_impl(Tensor& self, int64_t from, std::optional<int64_t> to, const std::optional<Generator>& generator) {
  const kernels::DrawnIntegers numbers = kernels::drawn_integers(self.scalar_type(), from, to);
  if (numbers.range == 0) return run_on<Kernel<RNG>>(self, generator);
  return run_on<Kernel<RNG>>(self, generator, numbers.range, numbers.base);
}

}  // namespace cresset::templates
