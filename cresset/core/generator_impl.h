#pragma once
// The state behind a Generator, for code that samples. Hold `mutex` while using `state`.

#include "cresset/base/mutex.h"

#include "cresset/base/random_state.h"
#include "cresset/core/generator.h"

namespace cresset {

class GeneratorImpl : public RefCounted {
 public:
  explicit GeneratorImpl(uint64_t seed) : state(seed) {}

  mutable std::mutex mutex;
  RandomState state;
};

// The generator to sample from: `generator`, or the default one if it is undefined.
inline GeneratorImpl& generator_or_default(const Generator& generator) {
  return generator.defined() ? *generator.impl() : *default_generator().impl();
}

}  // namespace cresset
