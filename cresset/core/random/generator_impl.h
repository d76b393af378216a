#pragma once
// The state behind a Generator, for code that samples. Hold `mutex_` while using `state`.

#include "cresset/base/error.h"
#include "cresset/base/mutex.h"
#include "cresset/base/random_state.h"
#include "cresset/core/random/generator.h"

namespace cresset {

class DispatchKeySet;
class TensorImpl;

// The mt19937 engine; or a class of a program that draws numbers of its own and overrides the virtual functions. Calls with a generator of a program
// run the kernels that are registered for them under CustomRNGKeyId, and those of the operators refuse it.
class CRESSET_API GeneratorImpl : public RefCounted {
 public:
  explicit GeneratorImpl(uint64_t seed = RandomState::kSeed) : state(seed) {}
  // Of a program.
  template <class Keys, class = decltype(std::declval<const Keys&>().raw_repr())> GeneratorImpl(Device device, const Keys& keys)
      : device_(device), keys_(keys.raw_repr()) {}

  static DeviceType device_type() { return DeviceType::CPU; }
  Device device() const { return device_; }
  bool is_of_program() const { return keys_ != 0; }
  DispatchKeySet key_set() const;
  // The next 32 or 64 bits of the stream.
  uint32_t random() { return state.engine.random(); }
  uint64_t random64() { return state.engine.random64(); }
  virtual void set_current_seed(uint64_t seed) { state.seed(seed); }
  virtual uint64_t current_seed() const { return state.engine.initial_seed(); }
  // Draws a fresh seed from the operating system and uses it.
  virtual uint64_t seed();
  // Errors: mt19937 has no place in its stream that could be set.
  virtual void set_offset(uint64_t) { detail::throw_error<NotImplementedError>("set_offset: the generators of the CPU have no offset"); }
  virtual uint64_t get_offset() const { detail::throw_error<NotImplementedError>("get_offset: the generators of the CPU have no offset"); }
  // Errors: the state of mt19937 is read and set by Generator, as bytes.
  virtual void set_state(const TensorImpl&) {
    detail::throw_error<NotImplementedError>("set_state: expected Generator::set_state for the generators of the CPU");
  }
  virtual intrusive_ptr<TensorImpl> get_state() const {
    detail::throw_error<NotImplementedError>("get_state: expected Generator::get_state for the generators of the CPU");
  }
  // One of its own that goes on as this one will.
  intrusive_ptr<GeneratorImpl> clone() const;

  mutable std::mutex mutex_;
  RandomState state;

 protected:
  virtual GeneratorImpl* clone_impl() const;

 private:
  Device device_ = Device(DeviceType::CPU);
  uint64_t keys_ = 0;
};

// The generator to sample from: `generator`, or the default one if it is undefined. Errors: one of a program.
CRESSET_API GeneratorImpl& generator_or_default(const Generator& generator);

}  // namespace cresset
