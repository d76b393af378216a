// A generator of a program: its numbers reach the operators through kernels registered under CustomRNGKeyId.
#include <ATen/Generator.h>
#include <ATen/native/DistributionTemplates.h>
#include <ATen/native/cpu/DistributionTemplates.h>
#include <torch/library.h>
#include <torch/torch.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "expect.h"

namespace {

// Gives one word again and again.
struct Constant : c10::GeneratorImpl {
  explicit Constant(uint64_t word) : GeneratorImpl(at::Device(at::kCPU), c10::DispatchKeySet(c10::DispatchKey::CustomRNGKeyId)), word_(word) {}
  uint32_t random() { return static_cast<uint32_t>(word_); }
  uint64_t random64() { return word_; }
  void set_current_seed(uint64_t seed) override { word_ = seed; }
  uint64_t current_seed() const override { return word_; }
  uint64_t seed() override { return word_; }
  void set_offset(uint64_t) override {}
  uint64_t get_offset() const override { return 7; }
  void set_state(const c10::TensorImpl&) override { throw std::runtime_error("no state"); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { throw std::runtime_error("no state"); }
  Constant* clone_impl() const override { return new Constant(word_); }

 private:
  uint64_t word_;
};

}  // namespace

namespace templates = at::native::templates;
using MaybeGenerator = std::optional<at::Generator>;

// Functions of a program may have the names of methods.
using namespace at;
static Tensor& uniform_(Tensor& self, double from, double to, MaybeGenerator g) {
  return templates::uniform_impl_<templates::cpu::UniformKernel, Constant>(self, from, to, g);
}

namespace {

at::Tensor& random_(at::Tensor& self, MaybeGenerator g) { return templates::random_impl<templates::cpu::RandomKernel, Constant>(self, g); }
at::Tensor& random_from(at::Tensor& self, int64_t from, std::optional<int64_t> to, MaybeGenerator g) {
  return templates::random_from_to_impl<templates::cpu::RandomFromToKernel, Constant>(self, from, to, g);
}
at::Tensor& normal_(at::Tensor& self, double mean, double std, MaybeGenerator g) {
  return templates::normal_impl_<templates::cpu::NormalKernel, Constant>(self, mean, std, g);
}
at::Tensor normal(const at::Tensor& mean, double std, MaybeGenerator g) { return templates::normal_impl<templates::cpu::NormalKernel, Constant>(mean, std, g); }
at::Tensor& log_normal_(at::Tensor& self, double mean, double std, MaybeGenerator g) {
  return templates::log_normal_impl_<templates::cpu::LogNormalKernel, Constant>(self, mean, std, g);
}
at::Tensor& exponential_(at::Tensor& self, double lambda, MaybeGenerator g) {
  return templates::exponential_impl_<templates::cpu::ExponentialKernel, Constant>(self, lambda, g);
}
at::Tensor& geometric_(at::Tensor& self, double p, MaybeGenerator g) {
  return templates::geometric_impl_<templates::cpu::GeometricKernel, Constant>(self, p, g);
}
at::Tensor& bernoulli_(at::Tensor& self, const at::Tensor& p, MaybeGenerator g) {
  return templates::bernoulli_impl_<templates::cpu::BernoulliKernel, Constant>(self, p, g);
}

TORCH_LIBRARY_IMPL(aten, CustomRNGKeyId, m) {
  m.impl("random_", random_);
  m.impl("random_.from", random_from);
  m.impl("uniform_", uniform_);
  m.impl("normal_", normal_);
  m.impl("normal.Tensor_float", normal);
  m.impl("log_normal_", log_normal_);
  m.impl("exponential_", exponential_);
  m.impl("geometric_", geometric_);
  m.impl("bernoulli_.Tensor", bernoulli_);
}

template <class F> std::string message_of(F&& f) {
  try {
    f();
  } catch (const std::exception& e) { return e.what(); }
  return "";
}

// A quarter, in 24 and 53 bits.
constexpr uint64_t kQuarter = (uint64_t{1} << 51) | (uint64_t{1} << 22);
double quarter() { return 0.25 + std::ldexp(1.0, 22 - 53); }

void numbers() {
  const at::Generator g = at::make_generator<Constant>(kQuarter);
  CHECK_THAT(torch::empty({2, 3}).uniform_(-2, 2, g).equal(torch::full({2, 3}, -1.0)));
  CHECK_THAT(torch::empty({3}, torch::kDouble).uniform_(0, 1, g).equal(torch::full({3}, quarter(), torch::kDouble)));
  CHECK_THAT(torch::empty({2}, torch::kComplexFloat).uniform_(0, 4, g).equal(torch::full({2}, c10::complex<double>(1, 1), torch::kComplexFloat)));
  CHECK_THAT(
      torch::empty({3}, torch::kLong).random_(10, 110, g).equal(torch::full({3}, static_cast<int64_t>((kQuarter & 0xffffffff) % 100 + 10), torch::kLong)));
  CHECK_THAT(torch::empty({2}, torch::kShort).random_(g).equal(torch::full({2}, (1 << 22) % 32768, torch::kShort)));
  CHECK_THAT(torch::empty({1}, torch::kLong).random_(std::numeric_limits<int64_t>::min(), std::nullopt, g).item<int64_t>() == int64_t{kQuarter});
  // Box and Muller with the angle pi / 2: cosines of nearly 0.
  CHECK_THAT(torch::empty({4}).normal_(3, 2, g).allclose(torch::full({4}, 3.0)));
  CHECK_THAT(at::normal(torch::full({20}, 5.0), 2.0, g).allclose(torch::full({20}, 5.0)));
  CHECK_THAT(torch::empty({2}).log_normal_(1, 2, g).allclose(torch::full({2}, std::exp(1.0))));
  CHECK_THAT(torch::empty({2}).exponential_(2, g).allclose(torch::full({2}, -std::log(0.75) / 2)));
  CHECK_THAT(torch::empty({2}, torch::kInt).geometric_(0.5, g).equal(torch::full({2}, 2, torch::kInt)));
  CHECK_THAT(torch::empty({4}).t().bernoulli_(torch::tensor({0.1, 0.2, 0.3, 1.0}), g).equal(torch::tensor({0., 0., 1., 1.}, torch::kFloat)));
}

void routes() {
  const at::Generator g = at::make_generator<Constant>(kQuarter);
  // Operators made of others reach the kernels of those.
  CHECK_THAT(at::bernoulli(torch::tensor({0.2, 0.3}), g).equal(torch::tensor({0., 1.}, torch::kFloat)));
  CHECK_THAT(torch::rand({2, 2}, g).equal(torch::full({2, 2}, 0.25)));
  torch::Tensor x = torch::ones({2}, torch::requires_grad()) * 2;
  x.uniform_(0, 4, g);
  CHECK_THAT(x.equal(torch::ones({2})) && x.grad_fn() != nullptr);
  torch::jit::Stack stack{torch::empty({2}), 0.0, 8.0, g};
  c10::Dispatcher::singleton().findSchemaOrThrow("aten::uniform_", "").callBoxed(&stack);
  CHECK_THAT(stack[0].toTensor().equal(torch::full({2}, 2.0)));
  // Without one the operators draw as ever.
  torch::manual_seed(0);
  const torch::Tensor usual = torch::rand({3});
  CHECK_THAT(usual.equal(torch::rand({3}, at::make_generator<at::CPUGeneratorImpl>(0))));
}

void refusals() {
  const at::Generator g = at::make_generator<Constant>(kQuarter), own = at::make_generator<at::CPUGeneratorImpl>(1);
  CHECK_THAT(message_of([&] { torch::empty({2}).cauchy_(0, 1, g); }).find("CustomRNGKeyId") != std::string::npos);
  CHECK_THAT(!message_of([&] { at::check_generator<Constant>(own); }).empty() && !message_of([&] { at::check_generator<at::CPUGeneratorImpl>(g); }).empty());
  CHECK_THAT(!message_of([&] { torch::empty({2}).uniform_(1, 0, g); }).empty() && !message_of([&] { torch::empty({2}).exponential_(0, g); }).empty());
  CHECK_THAT(!message_of([&] { torch::empty({2}, torch::kByte).random_(0, 300, g); }).empty());
  CHECK_THAT(!message_of([&] { own.unsafeGetGeneratorImpl()->get_offset(); }).empty());
}

void handles() {
  at::Generator g = at::make_generator<Constant>(9), own = at::make_generator<at::CPUGeneratorImpl>(3), copy = own.clone();
  CHECK_THAT(g.current_seed() == 9 && g.seed() == 9 && at::check_generator<Constant>(g)->get_offset() == 7);
  at::Generator other = g.clone();
  other.set_current_seed(11);
  CHECK_THAT(g.current_seed() == 9 && other.current_seed() == 11 && at::check_generator<Constant>(other)->random() == 11);
  CHECK_THAT(g.unsafeGetGeneratorImpl()->key_set().has(c10::DispatchKey::CustomRNGKeyId));
  CHECK_THAT(!message_of([&] { g.get_state(); }).empty() && !message_of([&] { g.set_state(own.get_state()); }).empty());
  copy.set_state(own.get_state());
  CHECK_THAT(own.unsafeGetGeneratorImpl()->key_set().has(c10::DispatchKey::CPU));
  const torch::Tensor x = torch::rand({5}, own);
  CHECK_THAT(torch::rand({5}, copy).equal(x));
}

}  // namespace

int main() {
  numbers();
  routes();
  refusals();
  handles();
  if (failures == 0) std::cout << "ok\n";
  return failures;
}
