#pragma once
// Timing shared by the benchmark programs, which include <torch/torch.h> alone and so build against Cresset and against PyTorch.

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace bench {

// Thread CPU time for one thread, wall time for more.
inline double seconds(int threads) {
  timespec t;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Seconds per call: the best of groups of calls within `budget` seconds.
template <class F> double best_seconds(F&& f, int threads, double budget) {
  f();
  double t = seconds(threads);
  f();
  const double once = std::max(seconds(threads) - t, 1e-9);
  const int group = static_cast<int>(std::clamp(1e-3 / once, 1.0, 1e5));
  double best = 1e9;
  for (const double end = seconds(threads) + budget; seconds(threads) < end;) {
    t = seconds(threads);
    for (int i = 0; i < group; i++) f();
    best = std::min(best, (seconds(threads) - t) / group);
  }
  return best;
}

inline void row(const char* name, double value, const char* unit) {
  std::printf("%s\t%.5g\t%s\n", name, value, unit);
  std::fflush(stdout);
}

}  // namespace bench
