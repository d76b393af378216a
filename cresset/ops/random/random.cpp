// Sampling over kernels/random/random.h: the numbers are PyTorch's for the same seed. The stream is sequential and locked per call.

#include "cresset/kernels/random/random.h"

#include <cmath>
#include <limits>

#include "cresset/base/warning.h"
#include "cresset/core/batched.h"
#include "cresset/core/random/generator_impl.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

using Gen = std::optional<Generator>;

// Calls draw(state, packed memory) and puts the numbers where the tensor wants them.
template <class Draw> void sample(const Tensor& self, const Gen& generator, Draw&& draw) {
  if (self.numel() == 0) return;
  GeneratorImpl& g = generator_or_default(generator.value_or(Generator()));
  std::lock_guard<std::mutex> lock(g.mutex_);
  if (self.is_contiguous()) {
    draw(g.state, self.data_ptr());
    return;
  }
  const Tensor packed(make_dense({self.numel()}, self.scalar_type(), Device(kCPU)));
  draw(g.state, packed.data_ptr());
  kernels::scatter_in_memory_order(self.data_ptr(), packed.data_ptr(), self.scalar_type(), self.sizes(), self.strides());
}

void check_floating(const char* op, const Tensor& self) {
  const bool sampled = self.is_complex() || (self.is_floating_point() && !is_storage_type(self.scalar_type()));
  CRESSET_CHECK_NOT_IMPLEMENTED(sampled, op, ": not implemented for dtype ", self.scalar_type());
}

// The largest finite number of a dtype.
double largest_of(ScalarType t) {
  switch (t) {
    case kHalf: return 65504;
    case kBFloat16: return 0x1.fep127;
    case kFloat: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

TensorOptions like(const Tensor& self, const TensorOptions& options) { return self.options().merge_in(options); }

}  // namespace

namespace cpu {

void uniform_(Tensor& self, double from, double to, const Gen& generator) {
  check_floating("uniform_", self);
  CRESSET_CHECK(from <= to, "uniform_: expects to return a [from, to) range, got from=", from, " > to=", to);
  if (self.is_complex()) {
    cresset::view_as_real(self).uniform_(from, to, generator);
    return;
  }
  const double largest = largest_of(self.scalar_type());
  CRESSET_CHECK(from >= -largest && to <= largest && to - from <= largest, "uniform_: from, to and to - from must be numbers of ", self.scalar_type(),
                ", got from=", from, " and to=", to);
  sample(self, generator, [&](RandomState& s, void* out) { kernels::uniform(s, out, self.scalar_type(), self.numel(), from, to); });
}

void normal_(Tensor& self, double mean, double std, const Gen& generator) {
  CRESSET_CHECK(std >= 0, "normal_: expects std >= 0, got std=", std);
  if (self.numel() == 0) return;
  check_floating("normal_", self);
  if (self.is_complex()) {  // the parts share the variance, and both have the mean
    cresset::view_as_real(self).normal_(mean, std / std::sqrt(2.0), generator);
    return;
  }
  const bool contiguous = self.is_contiguous();
  sample(self, generator, [&](RandomState& s, void* out) { kernels::normal(s, out, self.scalar_type(), self.numel(), mean, std, contiguous); });
}

void log_normal_(Tensor& self, double mean, double std, const Gen& generator) {
  CRESSET_CHECK(std > 0, "log_normal_: expects std > 0, got std=", std);
  check_floating("log_normal_", self);
  sample(self, generator, [&](RandomState& s, void* out) { kernels::log_normal(s, out, self.scalar_type(), self.numel(), mean, std); });
}

void exponential_(Tensor& self, double lambd, const Gen& generator) {
  CRESSET_CHECK(lambd > 0, "exponential_: expects lambda > 0, got lambda=", lambd);
  check_floating("exponential_", self);
  sample(self, generator, [&](RandomState& s, void* out) { kernels::exponential(s, out, self.scalar_type(), self.numel(), lambd); });
}

void cauchy_(Tensor& self, double median, double sigma, const Gen& generator) {
  CRESSET_CHECK(sigma > 0, "cauchy_: expects sigma > 0, got sigma=", sigma);
  check_floating("cauchy_", self);
  sample(self, generator, [&](RandomState& s, void* out) { kernels::cauchy(s, out, self.scalar_type(), self.numel(), median, sigma); });
}

void geometric_(Tensor& self, double p, const Gen& generator) {
  CRESSET_CHECK(p > 0 && p < 1, "geometric_: expects p to be in (0, 1), got p=", p);
  sample(self, generator, [&](RandomState& s, void* out) { kernels::geometric(s, out, self.scalar_type(), self.numel(), p); });
}

void bernoulli_(Tensor& self, double p, const Gen& generator) {
  CRESSET_CHECK(p >= 0 && p <= 1, "bernoulli_: expects p to be in [0, 1], got p=", p);
  sample(self, generator, [&](RandomState& s, void* out) { kernels::bernoulli(s, out, self.scalar_type(), self.numel(), p); });
}

void bernoulli_(Tensor& self, const Tensor& p, const Gen& generator) {
  CRESSET_CHECK(p.is_floating_point(), "bernoulli_: expects probabilities of a floating dtype, got ", p.scalar_type());
  const Tensor chances = p.expand(self.sizes()).contiguous();
  CRESSET_CHECK(chances.numel() == 0 || (chances.min().item<double>() >= 0 && chances.max().item<double>() <= 1),
                "bernoulli_: expects probabilities in [0, 1]");
  if (self.numel() == 0) return;
  // The first numbers go where self's memory begins.
  DimVector order;
  for (int64_t d = 0; d < self.dim(); d++)
    if (self.size(d) == 1) order.push_back(d);
  for (const int64_t d : kernels::memory_order(self.sizes(), self.strides())) order.push_back(d);
  const Tensor target = self.permute(order), sorted = chances.permute(order).contiguous();
  const Tensor packed(make_dense(target.sizes(), self.scalar_type(), Device(kCPU)));
  sample(packed, generator,
         [&](RandomState& s, void* out) { kernels::bernoulli(s, out, self.scalar_type(), self.numel(), sorted.data_ptr(), sorted.scalar_type()); });
  target.copy_(packed);
}

// A bound beyond the whole numbers that the dtype holds exactly: those drawn are rounded.
void warn_of_rounding(ScalarType dtype, int64_t from, int64_t to) {
  const int digits = dtype == kDouble ? 53 : dtype == kFloat ? 24 : dtype == kHalf ? 11 : dtype == kBFloat16 ? 8 : 64;
  if (digits == 64) return;
  const int64_t limit = int64_t{1} << digits;
  for (const auto& [name, bound] : {std::pair("from", from), std::pair("to - 1", to - 1)})
    if (bound < -limit || bound > limit)
      warn(str("random_: ", name, " is out of bounds [-2^", digits, ", 2^", digits, "], the whole numbers that ", dtype, " holds exactly, got ", bound));
}

// [from, to); from 0 without `from`, to the end of the dtype without `to`, and whatever it holds exactly with neither.
void _random_(Tensor& self, std::optional<int64_t> from, std::optional<int64_t> to, const Gen& generator) {
  CRESSET_CHECK(!to || from.value_or(0) < *to, "random_: expects 'from' to be less than 'to', got from=", from.value_or(0), " >= to=", to.value_or(0));
  if (to) warn_of_rounding(self.scalar_type(), from.value_or(0), *to);
  if (to && self.numel() == 0) {  // bounds are looked at all the same
    RandomState unused(0);
    kernels::random_from_to(unused, nullptr, self.scalar_type(), 0, from.value_or(0), *to);
  }
  sample(self, generator, [&](RandomState& s, void* out) {
    if (to) kernels::random_from_to(s, out, self.scalar_type(), self.numel(), from.value_or(0), *to);
    else if (from) kernels::random_from(s, out, self.scalar_type(), self.numel(), *from);
    else kernels::random_full(s, out, self.scalar_type(), self.numel());
  });
}

Tensor randperm(int64_t n, const Gen& generator, const TensorOptions& options) {
  CRESSET_CHECK(n >= 0, "randperm: n must be non-negative, got ", n);
  const TensorOptions o = options.has_dtype() ? options : options.dtype(kLong);
  Tensor out = cresset::empty({n}, o.requires_grad(std::nullopt));
  if (out.lacks_data()) return out;
  sample(out, generator, [&](RandomState& s, void* to) { kernels::randperm(s, to, out.scalar_type(), n); });
  return out;
}

Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement, const Gen& generator) {
  CRESSET_CHECK(self.dim() == 1 || self.dim() == 2, "multinomial: prob_dist must be 1 or 2 dim, got shape ", self.sizes());
  CRESSET_CHECK(self.is_floating_point(), "multinomial: only supports floating-point dtypes for input, got ", self.scalar_type());
  CRESSET_CHECK(num_samples > 0, "multinomial: cannot sample n_sample <= 0 samples, got ", num_samples);
  const int64_t categories = self.size(-1);
  CRESSET_CHECK(replacement || num_samples <= categories, "multinomial: cannot sample n_sample > prob_dist.size(-1) samples without replacement, got ",
                num_samples, " of ", categories);
  DimVector shape(self.sizes());
  shape[shape.size() - 1] = num_samples;
  Tensor out = cresset::empty(shape, TensorOptions(kLong).device(self.device()));
  if (out.lacks_data() || out.numel() == 0) return out;
  const Tensor low = self.min();
  CRESSET_CHECK(self.isfinite().all().item<bool>() && low.item<double>() >= 0, "multinomial: probability tensor contains either `inf`, `nan` or element < 0");
  CRESSET_CHECK(self.sum(IntArrayRef(-1)).ne(0).all().item<bool>(), "multinomial: invalid distribution, the sum of a row's weights is 0");
  const int64_t rows = self.dim() == 2 ? self.size(0) : 1;
  sample(out, generator, [&](RandomState& s, void* to) {
    kernels::multinomial(s, static_cast<int64_t*>(to), self.data_ptr(), self.scalar_type(), rows, categories, self.dim() == 2 ? self.stride(0) : categories,
                         self.stride(-1), num_samples, replacement);
  });
  return out;
}

Tensor _bernoulli(const Tensor& self, std::optional<double> p, const Gen& generator) {
  const Tensor out = cresset::empty_like(self, {}, MemoryFormat::Contiguous);
  return fresh(p ? out.bernoulli_(*p, generator) : out.bernoulli_(self.detach(), generator));
}

// A sample of a distribution with given parameters: its derivatives are zero.
Tensor _normal(const std::optional<Tensor>& mean, const std::optional<Tensor>& std, double mean_number, double std_number, const Gen& generator) {
  if (std) CRESSET_CHECK(std->numel() == 0 || std->lacks_data() || std->min().item<double>() >= 0, "normal: expects all elements of std >= 0");
  else CRESSET_CHECK(std_number >= 0, "normal: expects std >= 0, got std=", std_number);
  const Tensor out = mean && std ? cresset::empty(broadcast_shapes(mean->sizes(), std->sizes()), mean->options())
                                 : cresset::empty_like(mean ? *mean : *std, {}, MemoryFormat::Contiguous);
  out.normal_(0, 1, generator);
  if (std) out.mul_(*std);
  else out.mul_(std_number);
  return fresh(mean ? out.add_(*mean) : out.add_(mean_number));
}

std::tuple<Tensor, Tensor> _dropout_noise(const Tensor& input, double p, std::optional<bool> train) {
  CRESSET_CHECK(p >= 0 && p <= 1, "dropout: probability has to be between 0 and 1, got ", p);
  const ScalarType dtype = input.scalar_type();
  CRESSET_CHECK_NOT_IMPLEMENTED(input.is_floating_point(), "dropout: not implemented for dtype ", dtype);
  // In the order of the input's memory, where it has no gaps.
  const Tensor x = input.lacks_data() || input.is_non_overlapping_and_dense() ? input : input.clone();
  const Tensor out = fresh(cresset::empty_like(x)), noise = fresh(cresset::empty_like(x));
  if (out.lacks_data() || out.numel() == 0) return {out, noise};
  if (!train.value_or(true) || p == 0) {
    noise.fill_(1);
    out.copy_(x);
  } else if (p == 1) {
    noise.zero_();
    out.zero_();
  } else {
    sample(out, {}, [&](RandomState& s, void* to) { kernels::dropout(s, to, noise.data_ptr(), x.data_ptr(), dtype, x.numel(), p); });
  }
  return {out, noise};
}

}  // namespace cpu

namespace composite {

Tensor rand(IntArrayRef size, const Gen& generator, const TensorOptions& options) {
  return cresset::empty(size, options.requires_grad(std::nullopt)).uniform_(0, 1, generator);
}
Tensor rand(IntArrayRef size, const TensorOptions& options) { return composite::rand(size, Gen(), options); }
Tensor randn(IntArrayRef size, const Gen& generator, const TensorOptions& options) {
  return cresset::empty(size, options.requires_grad(std::nullopt)).normal_(0, 1, generator);
}
Tensor randn(IntArrayRef size, const TensorOptions& options) { return composite::randn(size, Gen(), options); }
Tensor randint(int64_t low, int64_t high, IntArrayRef size, const Gen& generator, const TensorOptions& options) {
  const TensorOptions o = options.has_dtype() ? options : options.dtype(kLong);
  return cresset::empty(size, o.requires_grad(std::nullopt))._random_(low, high, generator);
}
Tensor randint(int64_t low, int64_t high, IntArrayRef size, const TensorOptions& options) { return composite::randint(low, high, size, Gen(), options); }
Tensor randint(int64_t high, IntArrayRef size, const Gen& generator, const TensorOptions& options) {
  return composite::randint(int64_t{0}, high, size, generator, options);
}
Tensor randint(int64_t high, IntArrayRef size, const TensorOptions& options) { return composite::randint(int64_t{0}, high, size, Gen(), options); }
Tensor randperm(int64_t n, const TensorOptions& options) { return cresset::randperm(n, Gen(), options); }
Tensor rand_like(const Tensor& self, const Gen& generator, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  return fresh(cresset::empty_like(self, like(self, options), memory_format).uniform_(0, 1, generator));
}
Tensor rand_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  return composite::rand_like(self, Gen(), options, memory_format);
}
Tensor randn_like(const Tensor& self, const Gen& generator, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  return fresh(cresset::empty_like(self, like(self, options), memory_format).normal_(0, 1, generator));
}
Tensor randn_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  return composite::randn_like(self, Gen(), options, memory_format);
}
Tensor randint_like(const Tensor& self, int64_t low, int64_t high, const Gen& generator, const TensorOptions& options,
                    std::optional<MemoryFormat> memory_format) {
  return fresh(cresset::empty_like(self, like(self, options), memory_format)._random_(low, high, generator));
}
Tensor randint_like(const Tensor& self, int64_t low, int64_t high, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  return composite::randint_like(self, low, high, Gen(), options, memory_format);
}
Tensor randint_like(const Tensor& self, int64_t high, const Gen& generator, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  return composite::randint_like(self, int64_t{0}, high, generator, options, memory_format);
}
Tensor randint_like(const Tensor& self, int64_t high, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  return composite::randint_like(self, int64_t{0}, high, Gen(), options, memory_format);
}
Tensor randint_like(const Tensor& self, const Tensor& high, const Gen& generator, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  CRESSET_CHECK(high.numel() == 1, "randint_like: high must be a scalar tensor, got shape ", high.sizes());
  return composite::randint_like(self, int64_t{0}, high.item<int64_t>(), generator, options, memory_format);
}
Tensor randint_like(const Tensor& self, const Tensor& high, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  return composite::randint_like(self, high, Gen(), options, memory_format);
}

Tensor& random_(Tensor& self, const Gen& generator) { return self._random_({}, {}, generator); }
Tensor& random_(Tensor& self, int64_t from, std::optional<int64_t> to, const Gen& generator) { return self._random_(from, to, generator); }
Tensor& random_(Tensor& self, int64_t to, const Gen& generator) { return self._random_({}, to, generator); }
Tensor bernoulli(const Tensor& self, const Gen& generator) { return cresset::_bernoulli(self, {}, generator); }
Tensor bernoulli(const Tensor& self, double p, const Gen& generator) { return cresset::_bernoulli(self, p, generator); }
Tensor normal(const Tensor& mean, double std, const Gen& generator) { return cresset::_normal(mean, {}, 0, std, generator); }
Tensor normal(double mean, const Tensor& std, const Gen& generator) { return cresset::_normal({}, std, mean, 1, generator); }
Tensor normal(const Tensor& mean, const Tensor& std, const Gen& generator) { return cresset::_normal(mean, std, 0, 1, generator); }
Tensor normal(double mean, double std, IntArrayRef size, const Gen& generator, const TensorOptions& options) {
  return cresset::empty(size, options.requires_grad(std::nullopt)).normal_(mean, std, generator);
}

// `out` of a factory takes its numbers in the order of its own memory.
namespace {

// Tensors read while `out` is written.
Tensor apart_from(const Tensor& out, const Tensor& input) {
  return input.has_storage() && out.has_storage() && input.impl()->storage() == out.impl()->storage() ? input.clone() : input;
}

void check_deviations(const Tensor& std) {
  CRESSET_CHECK(std.numel() == 0 || std.lacks_data() || std.min().item<double>() >= 0, "normal: expects all elements of std >= 0");
}

Tensor& sized(const char* op, Tensor& out, IntArrayRef size) {
  CRESSET_CHECK(!(layer_state().grad_mode && out.requires_grad()), op, ": expected an out that needs no gradient, got one with requires_grad=True");
  check_no_internal_overlap(op, out);
  resize_output(out, size);
  return out;
}

}  // namespace

void rand_out(IntArrayRef size, const Gen& generator, Tensor& out) { sized("rand", out, size).uniform_(0, 1, generator); }
void rand_out(IntArrayRef size, Tensor& out) { composite::rand_out(size, Gen(), out); }
void randn_out(IntArrayRef size, const Gen& generator, Tensor& out) { sized("randn", out, size).normal_(0, 1, generator); }
void randn_out(IntArrayRef size, Tensor& out) { composite::randn_out(size, Gen(), out); }
void randint_out(int64_t low, int64_t high, IntArrayRef size, const Gen& generator, Tensor& out) {
  sized("randint", out, size).random_(low, std::optional<int64_t>(high), generator);
}
void randint_out(int64_t low, int64_t high, IntArrayRef size, Tensor& out) { composite::randint_out(low, high, size, Gen(), out); }
void randint_out(int64_t high, IntArrayRef size, const Gen& generator, Tensor& out) { composite::randint_out(int64_t{0}, high, size, generator, out); }
void randint_out(int64_t high, IntArrayRef size, Tensor& out) { composite::randint_out(int64_t{0}, high, size, Gen(), out); }
void normal_out(const Tensor& mean, double std, const Gen& generator, Tensor& out) {
  CRESSET_CHECK(std >= 0, "normal: expects std >= 0, got std=", std);
  const Tensor kept = apart_from(out, mean);
  warn_of_resize("normal", out, mean.sizes());
  sized("normal", out, mean.sizes()).normal_(0, 1, generator).mul_(std).add_(kept);
}
void normal_out(double mean, const Tensor& std, const Gen& generator, Tensor& out) {
  check_deviations(std);
  const Tensor kept = apart_from(out, std);
  warn_of_resize("normal", out, std.sizes());
  sized("normal", out, std.sizes()).normal_(0, 1, generator).mul_(kept).add_(mean);
}
void normal_out(const Tensor& mean, const Tensor& std, const Gen& generator, Tensor& out) {
  check_deviations(std);
  const Tensor kept = apart_from(out, mean), kept_std = apart_from(out, std);
  const DimVector size(broadcast_shapes(mean.sizes(), std.sizes()));
  warn_of_resize("normal", out, size);
  sized("normal", out, size).normal_(0, 1, generator).mul_(kept_std).add_(kept);
}
void bernoulli_out(const Tensor& self, const Gen& generator, Tensor& out) {
  const Tensor kept = apart_from(out, self.detach());
  sized("bernoulli", out, self.sizes()).bernoulli_(kept, generator);
}
void normal_out(double mean, double std, IntArrayRef size, const Gen& generator, Tensor& out) { sized("normal", out, size).normal_(mean, std, generator); }

namespace {

void check_probability(const char* op, double p) { CRESSET_CHECK(p >= 0 && p <= 1, op, ": probability has to be between 0 and 1, got ", p); }

// One draw per channel of each sample.
Tensor channel_noise(const Tensor& input) {
  CRESSET_CHECK(input.dim() >= 2, "feature_dropout: requires at least 2 dimensions in the input, got shape ", input.sizes());
  DimVector shape(input.sizes());
  for (size_t d = 2; d < shape.size(); d++) shape[d] = 1;
  return as_batched(input) ? input.new_empty(shape) : cresset::empty(shape, input.options());
}

// Where nothing is dropped the tensor is as it was, its version too.
Tensor& put(Tensor& self, const Tensor& out) { return out.is_same(self) ? self : self.copy_(out); }

// Keeps mean and variance of a self-normalising network (Klambauer et al., 2017).
Tensor alpha_drop(const Tensor& input, Tensor noise, double p) {
  constexpr double kAlpha = 1.7580993408473766;
  const double a = 1.0 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  noise.bernoulli_(1 - p);
  const Tensor shift = noise.sub(1).mul_(kAlpha * a).add_(kAlpha * a * p);
  return input * noise.mul_(a) + shift;
}

}  // namespace

Tensor dropout(const Tensor& input, double p, bool train) {
  check_probability("dropout", p);
  if (p == 0 || !train || input.numel() == 0) return input;
  if (p == 1) return input * cresset::zeros({}, input.options());
  // In parts where modes listen, too: the fused row is ours alone.
  if (!input.is_floating_point() || dispatch::is_listening()) {
    const Tensor noise = cresset::empty_like(input).bernoulli_(1 - p).div_(1 - p);
    return input * noise;
  }
  return std::get<0>(cresset::_dropout_noise(input, p, train));
}
std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p, std::optional<bool> train) {
  const auto [out, noise] = cresset::_dropout_noise(input, p, train);
  return {out, noise.numel() ? noise.ne(0) : noise};
}
Tensor feature_dropout(const Tensor& input, double p, bool train) {
  check_probability("feature_dropout", p);
  if (p == 0 || !train || input.numel() == 0) return input;
  if (p == 1) return input * cresset::zeros({}, input.options());
  return input * channel_noise(input).bernoulli_(1 - p).div_(1 - p);
}
Tensor alpha_dropout(const Tensor& input, double p, bool train) {
  check_probability("alpha_dropout", p);
  if (p == 0 || !train || input.numel() == 0) return input;
  if (p == 1) return input * cresset::zeros({}, input.options());
  return alpha_drop(input, cresset::empty_like(input), p);
}
Tensor feature_alpha_dropout(const Tensor& input, double p, bool train) {
  check_probability("feature_alpha_dropout", p);
  if (p == 0 || !train || input.numel() == 0) return input;
  if (p == 1) return input * cresset::zeros({}, input.options());
  return alpha_drop(input, channel_noise(input), p);
}

Tensor& dropout_(Tensor& self, double p, bool train) { return put(self, cresset::dropout(self, p, train)); }
Tensor& feature_dropout_(Tensor& self, double p, bool train) { return put(self, cresset::feature_dropout(self, p, train)); }
Tensor& alpha_dropout_(Tensor& self, double p, bool train) { return put(self, cresset::alpha_dropout(self, p, train)); }
Tensor& feature_alpha_dropout_(Tensor& self, double p, bool train) { return put(self, cresset::feature_alpha_dropout(self, p, train)); }

}  // namespace composite

}  // namespace cresset::ops
