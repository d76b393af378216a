#pragma once
// Uninitialised work memory of one call, aligned for vectors.

#include <cstdint>
#include <new>

namespace cresset::kernels {

template <class T> struct AlignedBuffer {
  explicit AlignedBuffer(int64_t count) : data(static_cast<T*>(::operator new (static_cast<size_t>(count) * sizeof(T), std::align_val_t{64}))) {}
  ~AlignedBuffer() { ::operator delete (data, std::align_val_t{64}); }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  T* const data;
};

}  // namespace cresset::kernels
