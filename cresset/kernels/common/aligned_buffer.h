#pragma once
// Uninitialised work memory of one call, aligned for vectors.

#include <cstddef>
#include <cstdint>

#include "cresset/base/macros.h"

namespace cresset::kernels {

// At least `bytes` bytes, aligned to 64; from 2 MiB on in huge pages, whose first touch costs a sixth. Errors: std::bad_alloc.
CRESSET_API void* allocate_work(size_t bytes);
CRESSET_API void free_work(void* data);

template <class T> struct AlignedBuffer {
  explicit AlignedBuffer(int64_t count) : data(static_cast<T*>(allocate_work(static_cast<size_t>(count) * sizeof(T)))) {}
  ~AlignedBuffer() { free_work(data); }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  T* const data;
};

}  // namespace cresset::kernels
