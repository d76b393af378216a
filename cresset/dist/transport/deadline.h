#pragma once
// Moments by which operations have to end.

#include <algorithm>
#include <chrono>

namespace cresset::distributed {

using Deadline = std::chrono::steady_clock::time_point;

// At most a century from now, or ago: longer times do not fit the clock.
inline Deadline after(std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365 * 100);
  return std::chrono::steady_clock::now() + std::clamp(time, -kLongest, kLongest);
}

}  // namespace cresset::distributed
