#pragma once
// The most fused multiply-adds a second, from registers.

#include "bench/kernels/bench.h"

namespace cresset::bench {

// Independent fused multiply-adds in registers: the most that this build's vectors can do.
typedef float Vec __attribute__((vector_size(64)));
[[gnu::noinline]] inline float fma_loop(long n, Vec b, Vec c) {
  Vec a0{}, a1{}, a2{}, a3{}, a4{}, a5{}, a6{}, a7{}, a8{}, a9{};
  for (long i = 0; i < n; i++) {
    a0 = a0 * b + c;
    a1 = a1 * b + c;
    a2 = a2 * b + c;
    a3 = a3 * b + c;
    a4 = a4 * b + c;
    a5 = a5 * b + c;
    a6 = a6 * b + c;
    a7 = a7 * b + c;
    a8 = a8 * b + c;
    a9 = a9 * b + c;
    asm volatile("" : "+v"(a0), "+v"(a1), "+v"(a2), "+v"(a3), "+v"(a4), "+v"(a5), "+v"(a6), "+v"(a7), "+v"(a8), "+v"(a9));
  }
  const Vec s = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9;
  return s[0] + s[15];
}

// GFLOP/s of one thread.
inline double fma_limit() {
  volatile float sink;
  Vec b{}, c{};
  b += 0.999f;
  c += 1e-3f;
  const double best = seconds_per_call([&] { sink = fma_loop(1000000, b, c); });
  (void)sink;
  return 320.0 * 1e6 / best / 1e9;
}

}  // namespace cresset::bench
