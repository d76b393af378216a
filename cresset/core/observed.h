#pragma once
// Methods of front ends that are no operators and that a recording shows as such: "detach", "item".

#include <atomic>

#include "cresset/base/macros.h"

namespace cresset {

class Tensor;

using ObservedMethod = void(const char* name, const Tensor& self);
// Null while nothing is recorded, which costs those who ask one load.
CRESSET_API extern std::atomic<ObservedMethod*> g_observed_method;
inline void observe_method(const char* name, const Tensor& self) {
  if (ObservedMethod* told = g_observed_method.load(std::memory_order_acquire); CRESSET_UNLIKELY(told != nullptr)) told(name, self);
}

inline bool are_methods_observed() { return CRESSET_UNLIKELY(g_observed_method.load(std::memory_order_relaxed) != nullptr); }

}  // namespace cresset
