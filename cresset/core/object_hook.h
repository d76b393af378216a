#pragma once
// How a front end learns that a tensor ends whose object it keeps: while any is kept, `release` runs at the end of every tensor.

#include <atomic>

#include "cresset/base/macros.h"

namespace cresset {

class TensorImpl;

struct ObjectHook {
  std::atomic<int> kept{0};
  void (*release)(TensorImpl& ending) = nullptr;
};
CRESSET_API ObjectHook& object_hook();

}  // namespace cresset
