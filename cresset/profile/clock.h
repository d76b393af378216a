#pragma once
// The clock of a recording. Reading the processor's counter costs a third of reading the system's clock, so that it is used where it counts evenly.

#include <time.h>

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace cresset::profile {

inline int64_t clock_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

#if defined(__x86_64__)
// The processor says that its counter runs at one rate in all states.
inline bool has_even_counter() {
  static const bool even = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
  }();
  return even;
}
inline int64_t ticks() { return has_even_counter() ? static_cast<int64_t>(__rdtsc()) : clock_ns(CLOCK_MONOTONIC); }
#else
inline int64_t ticks() { return clock_ns(CLOCK_MONOTONIC); }
#endif

// One moment on both clocks.
struct Moment {
  int64_t tick = 0, ns = 0;
  static Moment now() { return {ticks(), clock_ns(CLOCK_MONOTONIC)}; }
};

// Ticks of a recording as nanoseconds since it began, never beyond its end.
class Ticking {
 public:
  Ticking(Moment started, Moment ended)
      : started_(started),
        ended_(ended),
        rate_(static_cast<double>(ended.ns - started.ns) / static_cast<double>(std::max<int64_t>(ended.tick - started.tick, 1))) {}
  int64_t ns(int64_t tick) const {
    return static_cast<int64_t>(static_cast<double>(std::clamp(tick, started_.tick, std::max(ended_.tick, started_.tick)) - started_.tick) * rate_);
  }
  int64_t end() const { return ended_.tick; }

 private:
  Moment started_, ended_;
  double rate_;
};

}  // namespace cresset::profile
