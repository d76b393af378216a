#pragma once
// Times to wait between attempts.

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "torch/csrc/distributed/c10d/namespace.h"

namespace c10d {

class Backoff {
 public:
  virtual ~Backoff() = default;
  virtual std::chrono::milliseconds nextBackoff() = 0;
  virtual void reset() = 0;
  void sleepBackoff() { std::this_thread::sleep_for(nextBackoff()); }
};

// Each time is `multiplier` times the one before, up to a limit, and anywhere within that factor of itself.
class ExponentialBackoffWithJitter : public Backoff {
 public:
  std::chrono::milliseconds initialInterval{500}, maxInterval{60000};
  double multiplier = 1.5, randomizationFactor = 0.5;

  std::chrono::milliseconds nextBackoff() override {
    TORCH_CHECK(multiplier >= 1 && randomizationFactor >= 0 && randomizationFactor < 1 && initialInterval <= maxInterval,
                "ExponentialBackoffWithJitter: expected a multiplier of at least 1, a randomization factor in [0, 1) and an initial interval below the "
                "largest, got ",
                multiplier, ", ", randomizationFactor, " and ", initialInterval.count(), " ms of ", maxInterval.count(), " ms");
    if (current_.count() == 0) current_ = initialInterval;
    const std::chrono::milliseconds base = current_;
    current_ = std::min(std::chrono::milliseconds(static_cast<int64_t>(static_cast<double>(base.count()) * multiplier)), maxInterval);
    const double spread = randomizationFactor * static_cast<double>(base.count());
    std::uniform_real_distribution<double> offset(-spread, spread);
    const auto chosen = static_cast<int64_t>(static_cast<double>(base.count()) + (spread > 0 ? offset(random_) : 0));
    return std::min(std::chrono::milliseconds(chosen), maxInterval);
  }
  void reset() override { current_ = std::chrono::milliseconds(0); }

 private:
  std::mt19937 random_{std::random_device{}()};
  std::chrono::milliseconds current_{0};
};

class FixedBackoff : public Backoff {
 public:
  explicit FixedBackoff(std::chrono::milliseconds interval) : interval_(interval) {}
  std::chrono::milliseconds nextBackoff() override { return interval_; }
  void reset() override {}

 private:
  std::chrono::milliseconds interval_;
};

}  // namespace c10d
