#pragma once
// The state of a CPU generator: the engine, and the second halves of normal pairs not yet handed out.

#include "cresset/base/mt19937.h"

namespace cresset {

struct RandomState {
  // The seed of a generator that is given none.
  static constexpr uint64_t kSeed = 67280421310721u;
  explicit RandomState(uint64_t seed = kSeed) : engine(seed) {}
  void seed(uint64_t seed) { *this = RandomState(seed); }

  Mt19937 engine;
  // Standard normals. Only the double one is ever drawn from; the other travels with saved states.
  double next_normal = 0;
  float next_float_normal = 0;
  bool has_next_normal = false, has_next_float_normal = false;
};

}  // namespace cresset
