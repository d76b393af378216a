#pragma once
#include "torch/detail/tensor.h"

namespace c10 {
template <DeviceType T> struct AllocatorRegisterer {
  explicit AllocatorRegisterer(Allocator* allocator) { SetAllocator(T, allocator); }
};
}  // namespace c10
#define REGISTER_ALLOCATOR(t, allocator)                                                        \
  namespace {                                                                                   \
  const ::c10::AllocatorRegisterer<t> C10_ANONYMOUS_VARIABLE(g_allocator_of_device)(allocator); \
  }
