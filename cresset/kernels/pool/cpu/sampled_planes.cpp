#include "cresset/kernels/pool/cpu/sampled_planes.h"

#include <algorithm>
#include <memory>

#include "cresset/kernels/common/scratch.h"
#include "cresset/kernels/cpu/simd.h"
#include "cresset/kernels/layout/cpu/transpose.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

constexpr int64_t kBlock = 256;

// A tap at a block of points, in types as wide as the numbers.
template <class T> struct BlockOfTap {
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

// The planes' numbers at one place side by side, so that one load reads many. The same sums in the same order.
constexpr int64_t kMostBytes = 16 << 20;
template <class T> bool pixels_fit(const SampledPlanes& p) {
  return p.planes >= kLanes<T> / 2 && p.points * p.count * 4 >= p.in_size && p.in_size * (p.planes + kLanes<T>)*static_cast<int64_t>(sizeof(T)) <= kMostBytes;
}

template <class T> void pixels_of(const SampledPlanes& p) {
  constexpr int64_t L = kLanes<T>, kItem = sizeof(T), kPoints = 64;
  const int64_t width = (p.planes + L - 1) / L * L;
  T* const pixels = thread_scratch<T>(Scratch::conv, static_cast<size_t>((p.in_size + kPoints) * width));
  T* const block = pixels + p.in_size * width;
  transpose(reinterpret_cast<char*>(pixels), width * kItem, static_cast<const char*>(p.in), p.in_size * kItem, p.in_size, p.planes, kItem, false);
  for (int64_t i = 0; i < p.in_size && p.planes < width; i++) std::fill(pixels + i * width + p.planes, pixels + (i + 1) * width, T(0));
  for (int64_t begin = 0; begin < p.points; begin += kPoints) {
    const int64_t n = std::min(kPoints, p.points - begin);
    for (int64_t i = 0; i < n; i++)
      for (int64_t c = 0; c < width; c += L) {
        Vec<T> sum = {};
        for (int t = 0; t < p.count; t++) {
          const SampledTap& tap = p.taps[t];
          if (!tap.valid[begin + i]) continue;
          const Vec<T> x = load<T>(pixels + tap.places[begin + i] * width + c);
          sum += tap.weights ? x * static_cast<const T*>(tap.weights)[begin + i] : x;
        }
        store(block + i * width + c, sum);
      }
    transpose(static_cast<char*>(p.out) + begin * kItem, p.points * kItem, reinterpret_cast<const char*>(block), width * kItem, p.planes, n, kItem, false);
  }
}

template <class T> void planes_of(const SampledPlanes& p) {
  if (pixels_fit<T>(p)) return pixels_of<T>(p);
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
