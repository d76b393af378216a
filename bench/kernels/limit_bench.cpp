// What the machine can do, to be measured in the same minute as what we do: fused multiply-adds from registers, reads and sums of large arrays.
#include "bench/kernels/bench.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

using namespace cresset::bench;

int main() {
  const size_t n = size_t{16} << 20;
  const std::vector<float> a = random_floats(n), b = random_floats(n, 2);
  std::vector<float> c(n + 16);
  volatile float sink = 0;
#if defined(__AVX512F__)
  const auto multiply_add = [&](int64_t rounds) {
    __m512 sums[10];
    const __m512 x = _mm512_set1_ps(a[0]), y = _mm512_set1_ps(0.999f);
    for (int i = 0; i < 10; i++) sums[i] = _mm512_set1_ps(b[static_cast<size_t>(i)]);
    for (int64_t r = 0; r < rounds; r++)
      for (int i = 0; i < 10; i++) sums[i] = _mm512_fmadd_ps(sums[i], y, x);
    for (int i = 1; i < 10; i++) sums[0] = _mm512_add_ps(sums[0], sums[i]);
    return _mm512_reduce_add_ps(sums[0]);
  };
  row("fma_limit", 320.0 * 1e6 / seconds_per_call([&] { sink = multiply_add(1000000); }) / 1e9, "GFLOP/s");
  float* to = c.data() + (16 - reinterpret_cast<uintptr_t>(c.data()) / 4 % 16) % 16;
  const double sum = seconds_per_call([&] {
    for (size_t i = 0; i < n; i += 16) _mm512_stream_ps(to + i, _mm512_add_ps(_mm512_loadu_ps(a.data() + i), _mm512_loadu_ps(b.data() + i)));
    _mm_sfence();
  }, 1);
  row("add_16M_limit", 12e-9 * static_cast<double>(n) / sum, "GB/s");
  const double read = seconds_per_call([&] {
    __m512 sums[4] = {};
    for (size_t i = 0; i < n; i += 64)
      for (size_t k = 0; k < 4; k++) sums[k] = _mm512_add_ps(sums[k], _mm512_loadu_ps(a.data() + i + 16 * k));
    sink = _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
  }, 1);
  row("read_64MiB_limit", 4e-9 * static_cast<double>(n) / read, "GB/s");
#else
  std::puts("# limits are measured with AVX-512 only");
#endif
}
