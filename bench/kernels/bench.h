#pragma once
// Timing for the kernel benchmarks: the best thread CPU time of many calls, and the limits it is compared with.

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace cresset::bench {

inline double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Seconds per call: the minimum over groups of calls that last about 2 ms each, within `budget` seconds.
template <class F> double seconds_per_call(F&& f, double budget = 0.3) {
  f();
  double t = cpu_seconds();
  f();
  const double once = std::max(cpu_seconds() - t, 1e-9);
  const int group = static_cast<int>(std::clamp(2e-3 / once, 1.0, 1e6));
  double best = 1e9;
  for (const double end = cpu_seconds() + budget; cpu_seconds() < end;) {
    t = cpu_seconds();
    for (int i = 0; i < group; i++) f();
    best = std::min(best, (cpu_seconds() - t) / group);
  }
  return best;
}

inline void row(const char* name, double value, const char* unit) {
  std::printf("%s\t%.5g\t%s\n", name, value, unit);
  std::fflush(stdout);
}

inline std::vector<float> random_floats(size_t count, unsigned seed = 1) {
  std::mt19937 gen(seed);
  std::uniform_real_distribution<float> real(-0.5f, 0.5f);
  std::vector<float> v(count);
  for (float& x : v) x = real(gen);
  return v;
}

// Only rows whose name contains the first command-line argument run.
inline const char*& filter() {
  static const char* text = "";
  return text;
}
inline bool wanted(const char* name) { return std::strstr(name, filter()) != nullptr; }

}  // namespace cresset::bench
