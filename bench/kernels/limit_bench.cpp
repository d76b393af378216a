// Limits of the machine, to be measured in the same minute as what we do: fused multiply-adds from registers, reads and sums of large arrays,
// and an optimizer's stream: four arrays of 100 M floats read, three of them written in place.
#include "bench/kernels/fma_limit.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

using namespace cresset::bench;

int main() {
#if defined(__AVX512F__)
  if (!__builtin_cpu_supports("avx512f")) {
    std::puts("# limits are measured with AVX-512 only");
    return 0;
  }
#endif
  const size_t n = size_t{16} << 20;
  const std::vector<float> a = random_floats(n), b = random_floats(n, 2);
  std::vector<float> c(n + 16);
  volatile float sink = 0;
#if defined(__AVX512F__)
  row("fma_limit", fma_limit(), "GFLOP/s");
  float* to = c.data() + (16 - reinterpret_cast<uintptr_t>(c.data()) / 4 % 16) % 16;
  const double sum = seconds_per_call(
      [&] {
        for (size_t i = 0; i < n; i += 16) _mm512_stream_ps(to + i, _mm512_add_ps(_mm512_loadu_ps(a.data() + i), _mm512_loadu_ps(b.data() + i)));
        _mm_sfence();
      },
      1);
  row("add_16M_limit", 12e-9 * static_cast<double>(n) / sum, "GB/s");
  const double read = seconds_per_call(
      [&] {
        __m512 sums[4] = {};
        for (size_t i = 0; i < n; i += 64)
          for (size_t k = 0; k < 4; k++) sums[k] = _mm512_add_ps(sums[k], _mm512_loadu_ps(a.data() + i + 16 * k));
        sink = _mm512_cvtss_f32(_mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
      },
      1);
  row("read_64MiB_limit", 4e-9 * static_cast<double>(n) / read, "GB/s");
  const size_t many = 100'000'000;
  std::vector<float> p(many, 1.0f), g(many, 1.0f), m(many), v(many);
  const __m512 tenth = _mm512_set1_ps(0.1f);
  const double update = seconds_per_call(
      [&] {
        for (size_t i = 0; i < many; i += 16) {
          const __m512 gradient = _mm512_loadu_ps(g.data() + i);
          const __m512 mean = _mm512_fmadd_ps(gradient, tenth, _mm512_loadu_ps(m.data() + i));
          _mm512_storeu_ps(m.data() + i, mean);
          _mm512_storeu_ps(v.data() + i, _mm512_fmadd_ps(gradient, gradient, _mm512_loadu_ps(v.data() + i)));
          _mm512_storeu_ps(p.data() + i, _mm512_fnmadd_ps(mean, tenth, _mm512_loadu_ps(p.data() + i)));
        }
      },
      1);
  row("update_100M_limit", 28e-9 * static_cast<double>(many) / update, "GB/s");
#else
  std::puts("# limits are measured with AVX-512 only");
#endif
}
