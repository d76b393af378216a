#include "cresset/kernels/cpu/sampled_planes.h"

#include <algorithm>
#include <memory>

namespace cresset::kernels::CRESSET_ISA {

namespace {

constexpr int64_t kBlock = 256;

// A tap at a block of points, in types as wide as the numbers.
template <class T>
struct BlockOfTap {
  alignas(64) int32_t place[kBlock];
  alignas(64) T weight[kBlock], valid[kBlock];
  bool all_valid;

  void read(const SampledTap& tap, int64_t begin, int64_t n) {
    const T* weights = static_cast<const T*>(tap.weights);
    all_valid = true;
    for (int64_t i = 0; i < kBlock; i++) {
      const bool inside = i < n;
      place[i] = inside ? static_cast<int32_t>(tap.places[begin + i]) : 0;
      weight[i] = inside && weights ? weights[begin + i] : T(1);
      valid[i] = inside && tap.valid[begin + i];
      all_valid &= !inside || tap.valid[begin + i];
    }
  }
  void add(const T* in, T* sums) const {
    if (all_valid) {
#pragma GCC ivdep
      for (int64_t i = 0; i < kBlock; i++) sums[i] += in[place[i]] * weight[i];
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < kBlock; i++) {
        const T x = in[place[i]] * weight[i];
        sums[i] += valid[i] != 0 ? x : T(0);
      }
    }
  }
};

template <class T>
void planes_of(const SampledPlanes& p) {
  const std::unique_ptr<BlockOfTap<T>[]> taps(new BlockOfTap<T>[static_cast<size_t>(p.count)]);
  alignas(64) T sums[kBlock];
  for (int64_t begin = 0; begin < p.points; begin += kBlock) {
    const int64_t n = std::min(kBlock, p.points - begin);
    for (int t = 0; t < p.count; t++) taps[static_cast<size_t>(t)].read(p.taps[t], begin, n);
    for (int64_t plane = 0; plane < p.planes; plane++) {
      const T* in = static_cast<const T*>(p.in) + plane * p.in_size;
      std::fill_n(sums, kBlock, T(0));
      for (int t = 0; t < p.count; t++) taps[static_cast<size_t>(t)].add(in, sums);
      std::copy_n(sums, n, static_cast<T*>(p.out) + plane * p.points + begin);
    }
  }
}

}  // namespace

void sampled_planes(const SampledPlanes& p) {
  if (p.dtype == ScalarType::Double) planes_of<double>(p);
  else planes_of<float>(p);
}

}  // namespace cresset::kernels::CRESSET_ISA
