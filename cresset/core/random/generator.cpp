#include "cresset/core/random/generator.h"

#include <cstring>
#include <memory>
#include <random>
#include <utility>

#include "cresset/base/error.h"
#include "cresset/core/random/generator_impl.h"
#include "cresset/core/random/generator_scope.h"

namespace cresset {

namespace {

// Saved states have the layout that PyTorch's CPU generator has always written.
struct SavedState {
  uint64_t seed;
  int32_t left;
  int32_t seeded;
  uint64_t next;
  uint64_t words[Mt19937::kWords];
  double normal_x;
  double normal_y;  // the normal still to be handed out
  double normal_rho;
  int32_t normal_is_valid;
  int32_t unused;
  float next_float_normal;
  uint8_t next_float_normal_is_valid;
};
static_assert(sizeof(SavedState) == 5056);

uint64_t fresh_seed() {
  std::random_device device;
  // 53 bits, so that the seed survives a trip through a double.
  return ((static_cast<uint64_t>(device()) << 32) | device()) & ((uint64_t{1} << 53) - 1);
}

const RandomState& engine_of(const char* what, const GeneratorImpl& generator) {
  CRESSET_CHECK_NOT_IMPLEMENTED(!generator.is_of_program(), what, ": the state of a generator of a program is read and set by its class");
  return generator.state;
}

}  // namespace

Generator::Generator(intrusive_ptr<GeneratorImpl> impl) : impl_(impl.release()) {}
Generator::Generator(const Generator& o) : impl_(o.impl_) {
  if (impl_) impl_->retain();
}
Generator::Generator(Generator&& o) noexcept : impl_(std::exchange(o.impl_, nullptr)) {}
Generator& Generator::operator=(const Generator& o) {
  Generator copy(o);
  std::swap(impl_, copy.impl_);
  return *this;
}
Generator& Generator::operator=(Generator&& o) noexcept {
  std::swap(impl_, o.impl_);
  return *this;
}
Generator::~Generator() {
  if (impl_) impl_->release();
}

void Generator::set_current_seed(uint64_t seed) { impl_->set_current_seed(seed); }

uint64_t Generator::current_seed() const { return impl_->current_seed(); }

uint64_t Generator::seed() { return impl_->seed(); }

std::vector<uint8_t> Generator::get_state() const {
  const RandomState& state = engine_of("get_state", *impl_);
  SavedState saved;
  std::memset(&saved, 0, sizeof saved);
  saved.seed = state.engine.initial_seed();
  saved.left = state.engine.left();
  saved.seeded = 1;
  saved.next = static_cast<uint64_t>(state.engine.next());
  for (int i = 0; i < Mt19937::kWords; i++) saved.words[i] = state.engine.block()[i];
  saved.normal_y = state.next_normal;
  saved.normal_is_valid = state.has_next_normal;
  saved.next_float_normal = state.next_float_normal;
  saved.next_float_normal_is_valid = state.has_next_float_normal;
  std::vector<uint8_t> bytes(sizeof saved);
  std::memcpy(bytes.data(), &saved, sizeof saved);
  return bytes;
}

void Generator::set_state(const std::vector<uint8_t>& bytes) {
  engine_of("set_state", *impl_);
  SavedState saved;
  CRESSET_CHECK(bytes.size() == sizeof saved, "set_state: expected a saved generator state of ", sizeof saved, " bytes, got ", bytes.size());
  std::memcpy(&saved, bytes.data(), sizeof saved);
  CRESSET_CHECK(saved.seeded == 1 && saved.left >= 1 && saved.left <= Mt19937::kWords && saved.next <= Mt19937::kWords &&
                    (saved.left == 1 || static_cast<int64_t>(saved.next) + saved.left - 1 <= Mt19937::kWords),
                "set_state: invalid mt19937 state, got left=", saved.left, " next=", saved.next, " seeded=", saved.seeded);
  RandomState state(saved.seed);
  for (int i = 0; i < Mt19937::kWords; i++) state.engine.block()[i] = static_cast<uint32_t>(saved.words[i]);
  state.engine.set_position(static_cast<int>(saved.next), saved.left);
  state.has_next_normal = saved.normal_is_valid != 0;
  if (state.has_next_normal) state.next_normal = saved.normal_y;
  state.has_next_float_normal = saved.next_float_normal_is_valid != 0;
  if (state.has_next_float_normal) state.next_float_normal = saved.next_float_normal;
  impl_->state = state;
}

Generator Generator::clone() const { return Generator(impl_->clone()); }

std::mutex& Generator::mutex() const { return impl_->mutex_; }

namespace {
thread_local Generator* t_default_generator = nullptr;
}

DefaultGeneratorScope::DefaultGeneratorScope(const Generator& generator) : generator_(generator), previous_(t_default_generator) {
  t_default_generator = &generator_;
}
DefaultGeneratorScope::~DefaultGeneratorScope() { t_default_generator = previous_; }

Generator& default_generator() {
  if (t_default_generator) return *t_default_generator;
  // Never destroyed: sampling may happen while the process ends.
  static Generator* const generator = new Generator(make_generator(fresh_seed()));
  return *generator;
}

Generator copy_of_default_generator() {
  const Generator& generator = default_generator();
  std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.clone();
}

Generator make_generator(uint64_t seed) { return Generator(make_intrusive<GeneratorImpl>(seed)); }

void manual_seed(uint64_t seed) {
  Generator& generator = default_generator();
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
}

uint64_t GeneratorImpl::seed() {
  const uint64_t fresh = fresh_seed();
  state.seed(fresh);
  return fresh;
}

GeneratorImpl* GeneratorImpl::clone_impl() const {
  auto copy = std::make_unique<GeneratorImpl>();
  copy->state = state;
  return copy.release();
}

intrusive_ptr<GeneratorImpl> GeneratorImpl::clone() const { return intrusive_ptr<GeneratorImpl>(std::unique_ptr<GeneratorImpl>(clone_impl())); }

GeneratorImpl& generator_or_default(const Generator& generator) {
  if (!generator.defined()) return *default_generator().impl();
  CRESSET_CHECK_NOT_IMPLEMENTED(!generator.impl()->is_of_program(),
                                "generator: got one of a program, for which the operator has no kernel; register one under CustomRNGKeyId");
  return *generator.impl();
}

}  // namespace cresset
