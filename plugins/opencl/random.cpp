// Random numbers: Philox4x32-10 (Salmon et al., SC 2011) on the number of each element, under a key that is drawn for each call.

#include "random.h"

#include <cmath>

#include "call.h"
#include "cresset/core/random/generator_impl.h"

namespace opencl {

cresset::Generator& default_generator(DeviceIndex index) {
  static auto& all = *new std::vector<cresset::Generator>([] {
    std::vector<cresset::Generator> made;
    for (size_t i = 0; i < std::max<size_t>(chips().size(), 1); i++) made.push_back(cresset::make_generator());
    return made;
  }());
  chip(index);
  return all[static_cast<size_t>(index)];
}
void manual_seed(uint64_t seed) {
  for (size_t i = 0; i < chips().size(); i++) {
    cresset::Generator& g = default_generator(static_cast<DeviceIndex>(i));
    const std::lock_guard lock(g.mutex());
    g.set_current_seed(seed);
  }
}
uint64_t next_key(const cresset::Generator& generator, DeviceIndex index) {
  const cresset::Generator& g = generator.defined() ? generator : default_generator(index);
  const std::lock_guard lock(g.mutex());
  return g.impl()->random64();
}

namespace {

const char* const kPhilox = R"cl(
uint4 philox(ulong n, ulong key) {
  uint4 c = (uint4)((uint)n, (uint)(n >> 32), 0, 0);
  uint2 k = (uint2)((uint)key, (uint)(key >> 32));
  for (int i = 0; i < 10; i++) {
    const uint high0 = mul_hi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x, high1 = mul_hi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
    c = (uint4)(high1 ^ c.y ^ k.x, low1, high0 ^ c.w ^ k.y, low0);
    k += (uint2)(0x9E3779B9u, 0xBB67AE85u);
  }
  return c;
}
// In [0, 1), and in (0, 1].
float unit(uint bits) { return (bits >> 8) * 0x1p-24f; }
float positive(uint bits) { return ((bits >> 8) + 1) * 0x1p-24f; }
float normal(uint4 r) { return sqrt(-2 * log(positive(r.x))) * cospi(2 * unit(r.y)); }
)cl";

// `value` is OpenCL C of the numbers r, of a and b, and of v, the element of `given`.
void draw(const Tensor& out, const cresset::Generator& generator, double a, double b, const std::string& value, const Tensor& given = Tensor()) {
  if (out.numel() == 0) return;
  const DeviceIndex index = out.device().index();
  const Tensor target = out.is_contiguous() ? out : make_like(out), from = given.defined() ? dense(given) : target;
  const std::string source = prelude() + kPhilox + names_of(out.scalar_type()) + names_of(from.scalar_type(), "G") +
                             "kernel void run(ulong count, ulong key, float a, float b, global const TG* given, global T* out) {\n"
                             "  const ulong n = get_global_id(0);\n  if (n >= count) return;\n  const uint4 r = philox(n, key);\n  const CG v = " +
                             std::string(given.defined() ? "LOADG(given, n)" : "0") + ";\n  STORE(out, n, " + value + ");\n}\n";
  Launch(index, source)
      .value<uint64_t>(static_cast<uint64_t>(out.numel()))
      .value(next_key(generator, index))
      .value(static_cast<float>(a))
      .value(static_cast<float>(b))
      .pointer(from.data_ptr())
      .pointer(target.data_ptr())
      .run(static_cast<size_t>(out.numel()));
  if (!target.is_same(out)) move_elements(out, target);
}
cresset::Generator generator_at(const Call& c, size_t i) { return c.has(i) ? c[i].to_generator() : cresset::Generator(); }

// In-place operators of two numbers and a generator.
bool fill_random(Call& c, const char* value) {
  const Tensor& self = c.tensor(0);
  if (!is_floating(self)) return false;
  c.meta_results();
  draw(self, generator_at(c, 3), c.number(1), c.number(2), value);
  return c.give(self);
}
bool fill_random_of_one(Call& c, const char* value) {
  const Tensor& self = c.tensor(0);
  if (!is_real(self.scalar_type())) return false;
  c.meta_results();
  draw(self, generator_at(c, 2), c.number(1), 0, value);
  return c.give(self);
}
bool bernoulli_of_tensor(Call& c) {
  const Tensor &self = c.tensor(0), &p = c.tensor(1);
  if (!is_real(self.scalar_type()) || !on_device(p) || !is_floating(p)) return false;
  c.meta_results();
  draw(self, generator_at(c, 2), 0, 0, "unit(r.x) < v", p.expand(self.sizes()));
  return c.give(self);
}
bool bernoulli(Call& c) {
  const Tensor& self = c.tensor(0);
  if (!is_floating(self)) return false;
  const std::vector<Tensor> outs = c.results();
  if (c.has(1)) draw(outs[0], generator_at(c, 2), c.number(1), 0, "unit(r.x) < a");
  else draw(outs[0], generator_at(c, 2), 0, 0, "unit(r.x) < v", self);
  return c.give_all(outs);
}
bool dropout(Call& c) {
  const Tensor& x = c.tensor(0);
  const double p = c.number(1);
  if (!is_floating(x)) return false;
  c.meta_results();
  if ((c.has(2) && !c.flag(2)) || p == 0) return c.give(x.clone(), cresset::ones_like(x));
  if (p >= 1) return c.give(cresset::zeros_like(x), cresset::zeros_like(x));
  const Tensor noise = make_like(x);
  draw(noise, cresset::Generator(), p, 0, "unit(r.x) >= a ? 1 / (1 - a) : 0");
  return c.give(x * noise, noise);
}
bool normal(Call& c) {
  const Tensor mean = c.has(0) ? c.tensor(0) : Tensor(), deviation = c.has(1) ? c.tensor(1) : Tensor();
  const Tensor& first = mean.defined() ? mean : deviation;
  if (!is_floating(first)) return false;
  const bool negative = deviation.defined() ? deviation.numel() > 0 && deviation.lt(0).any().item().toBool() : c.number(3) < 0;
  CRESSET_CHECK(!negative, "normal: expects all elements of std >= 0");
  const Tensor out = mean.defined() && deviation.defined() ? make_like(cresset::broadcast_tensors({mean, deviation})[0]) : make_like(first);
  draw(out, generator_at(c, 4), 0, 1, "normal(r)");
  const Tensor scaled = deviation.defined() ? out * deviation : out * c.number(3);
  return c.give(mean.defined() ? scaled + mean : scaled + c.number(2));
}
bool integers(Call& c) {
  const Tensor& self = c.tensor(0);
  if (!is_real(self.scalar_type()) || !c.has(1) || !c.has(2)) return false;
  const int64_t low = c.integer(1), high = c.integer(2);
  if (high <= low || high - low > (int64_t{1} << 24) || std::abs(low) > (int64_t{1} << 24)) return false;
  c.meta_results();
  draw(self, generator_at(c, 3), static_cast<double>(low), static_cast<double>(high - low), "(long)a + (long)(r.x % (uint)b)");
  return c.give(self);
}
bool permutation(Call& c) {
  const int64_t n = c.integer(0);
  if (n > 16384 || n < 1) return false;
  const Tensor keys = make({n}, ScalarType::Float, c.device());
  draw(keys, generator_at(c, 1), 0, 0, "unit(r.x)");
  const Tensor places = keys.argsort();
  return c.give(c.has(2) ? places.to(c[2].to_dtype()) : places);
}

}  // namespace

void add_random(cresset::dispatch::Library& m) {
  native(m, "uniform_", [](Call& c) { return fill_random(c, "a + unit(r.x) * (b - a)"); });
  native(m, "normal_", [](Call& c) { return fill_random(c, "a + b * normal(r)"); });
  native(m, "log_normal_", [](Call& c) { return fill_random(c, "exp(a + b * normal(r))"); });
  native(m, "cauchy_", [](Call& c) { return fill_random(c, "a + b * tanpi(unit(r.x) - 0.5f)"); });
  native(m, "exponential_", [](Call& c) { return fill_random_of_one(c, "-log(positive(r.x)) / a"); });
  native(m, "geometric_", [](Call& c) { return fill_random_of_one(c, "fmax(1.0f, ceil(log(positive(r.x)) / log1p(-a)))"); });
  native(m, "bernoulli_.float", [](Call& c) { return fill_random_of_one(c, "unit(r.x) < a"); });
  native(m, "bernoulli_.Tensor", bernoulli_of_tensor);
  native(m, "_bernoulli", bernoulli);
  native(m, "_dropout_noise", dropout);
  native(m, "_normal", normal);
  native(m, "_random_", integers);
  native(m, "randperm.generator", permutation);
}

}  // namespace opencl
