#pragma once
// How a front end learns that a tensor or storage ends whose object it keeps: while any is kept, `release` runs at the end of every one.

#include <atomic>

#include "cresset/base/macros.h"

namespace cresset {

class StorageImpl;
class TensorImpl;

template <class T> struct ObjectHook {
  std::atomic<int> kept{0};
  void (*release)(T& ending) = nullptr;
};
CRESSET_API ObjectHook<TensorImpl>& object_hook();
CRESSET_API ObjectHook<StorageImpl>& storage_object_hook();

}  // namespace cresset
