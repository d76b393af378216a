#pragma once
// Per-thread work memory that is kept between calls.

#include <cstddef>
#include <memory>

#include "cresset/base/macros.h"

namespace cresset::kernels {

// Users of thread-local work memory that may be active at the same time on one thread.
enum class Scratch : int { gemm_pack, gemm_tile, conv, conv_inner, random, count };

// At least `bytes` bytes, 64-byte aligned, valid until this thread's next call with the same user.
CRESSET_API void* thread_scratch(Scratch user, size_t bytes);

template <class T> T* thread_scratch(Scratch user, size_t count) { return static_cast<T*>(thread_scratch(user, count * sizeof(T))); }

// This thread's object of the type, made at first use. It lives on the heap: a library's thread-local memory is small where it is opened late.
template <class T> T& thread_work() {
  thread_local const std::unique_ptr<T> work = std::make_unique<T>();
  return *work;
}

}  // namespace cresset::kernels
