#pragma once
// The state behind a Generator, for code that samples. Hold `mutex_` while using `state`.

#include "cresset/base/mutex.h"

#include "cresset/base/random_state.h"
#include "cresset/core/random/generator.h"

namespace cresset {

class CRESSET_API GeneratorImpl : public RefCounted {
 public:
  explicit GeneratorImpl(uint64_t seed = RandomState::kSeed) : state(seed) {}

  static DeviceType device_type() { return DeviceType::CPU; }
  Device device() const { return Device(DeviceType::CPU); }
  // The next 32 or 64 bits of the stream.
  uint32_t random() { return state.engine.random(); }
  uint64_t random64() { return state.engine.random64(); }
  void set_current_seed(uint64_t seed) { state.seed(seed); }
  uint64_t current_seed() const { return state.engine.initial_seed(); }
  // Draws a fresh seed from the operating system and uses it.
  uint64_t seed();
  // One of its own that goes on as this one will.
  intrusive_ptr<GeneratorImpl> clone() const;

  mutable std::mutex mutex_;
  RandomState state;
};

// The generator to sample from: `generator`, or the default one if it is undefined.
inline GeneratorImpl& generator_or_default(const Generator& generator) { return generator.defined() ? *generator.impl() : *default_generator().impl(); }

}  // namespace cresset
