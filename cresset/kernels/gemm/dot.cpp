// Dot products of vectors that lie dense.

#include "cresset/kernels/gemm/gemm.h"

namespace cresset::kernels {

namespace {

template <class T> using Lanes __attribute__((vector_size(16), aligned(alignof(T)), may_alias)) = T;

// Four sums of 16 bytes each, products and sums rounded apart; what is left over of their joint length goes into the first, of floats every second vector
// into the second. These are the sums of MKL where it runs its SSE path, found by vectors in which a large number swallows the others.
template <class T> T dot_product(int64_t n, const T* x, const T* y) {
  constexpr int64_t kLanes = 16 / sizeof(T), kSums = 4;
  const auto product = [&](int64_t i) { return *reinterpret_cast<const Lanes<T>*>(x + i) * *reinterpret_cast<const Lanes<T>*>(y + i); };
  Lanes<T> sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * kLanes <= n; i += kSums * kLanes) {
#pragma GCC unroll 4
    for (int64_t s = 0; s < kSums; s++) sums[s] += product(i + s * kLanes);
  }
  for (int64_t rest = 0; i + kLanes <= n; i += kLanes, rest++) sums[sizeof(T) == 4 ? rest % 2 : 0] += product(i);
  for (; i < n; i++) sums[0][0] += x[i] * y[i];
  const Lanes<T> total = sums[0] + sums[1] + sums[2] + sums[3];
  if constexpr (kLanes == 2) return total[0] + total[1];
  else return (total[0] + total[2]) + (total[1] + total[3]);
}

}  // namespace

float dot(int64_t n, const float* x, const float* y) { return dot_product(n, x, y); }
double dot(int64_t n, const double* x, const double* y) { return dot_product(n, x, y); }

}  // namespace cresset::kernels
