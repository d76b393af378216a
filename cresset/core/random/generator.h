#pragma once
// A handle to a random number generator; copies share its state.

#include <cstdint>
#include <vector>

#include "cresset/base/device.h"
#include "cresset/base/intrusive_ptr.h"
#include "cresset/base/mutex.h"

namespace cresset {

// Holds the engine's state; defined in core/random/generator_impl.h, which only sampling code needs.
class GeneratorImpl;

class CRESSET_API Generator {
 public:
  // An undefined generator: sampling ops then use the default one.
  Generator() = default;
  explicit Generator(intrusive_ptr<GeneratorImpl> impl);
  Generator(const Generator& o);
  Generator(Generator&& o) noexcept;
  Generator& operator=(const Generator& o);
  Generator& operator=(Generator&& o) noexcept;
  ~Generator();

  bool defined() const { return impl_ != nullptr; }
  // The methods below take no lock: hold `mutex()` where other threads may use the generator.
  // Starts the sequence of `seed` anew.
  void set_current_seed(uint64_t seed);
  uint64_t current_seed() const;
  // Draws a fresh seed from the operating system and uses it.
  uint64_t seed();
  // The state as bytes, in the layout of PyTorch's torch.get_rng_state().
  std::vector<uint8_t> get_state() const;
  // Errors: a size or content that no generator wrote.
  void set_state(const std::vector<uint8_t>& state);
  Generator clone() const;
  Device device() const { return Device(DeviceType::CPU); }
  std::mutex& mutex() const;
  GeneratorImpl* impl() const { return impl_; }
  GeneratorImpl* unsafeGetGeneratorImpl() const { return impl_; }
  // The state as the class that it is; cresset/core/random/generator_impl.h.
  template <class T> T* get() const { return static_cast<T*>(impl_); }
  bool operator==(const Generator& o) const { return impl_ == o.impl_; }

 private:
  GeneratorImpl* impl_ = nullptr;
};

// The generator used when none is given, one per process. Until it is seeded each process draws other numbers.
CRESSET_API Generator& default_generator();
// One of its own, always of the same seed where none is given.
CRESSET_API Generator make_generator(uint64_t seed = 67280421310721u);
// Seeds the default generator.
CRESSET_API void manual_seed(uint64_t seed);

}  // namespace cresset
