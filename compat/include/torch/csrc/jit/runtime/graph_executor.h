#pragma once
// Settings of how scripts run. That of the optimisation is obeyed, and a thread's own; the others say that they have no effect.

#include <atomic>

#include "cresset/graph/script/unit.h"
#include "torch/detail/macros.h"

namespace torch::jit {

inline void setGraphExecutorOptimize(bool on) { cresset::graph::script::optimizes_execution() = on; }
inline bool getGraphExecutorOptimize() { return cresset::graph::script::optimizes_execution(); }
struct GraphOptimizerEnabledGuard {
  explicit GraphOptimizerEnabledGuard(bool on) : former_(getGraphExecutorOptimize()) { setGraphExecutorOptimize(on); }
  ~GraphOptimizerEnabledGuard() { setGraphExecutorOptimize(former_); }
  GraphOptimizerEnabledGuard(const GraphOptimizerEnabledGuard&) = delete;
  GraphOptimizerEnabledGuard& operator=(const GraphOptimizerEnabledGuard&) = delete;

 private:
  bool former_;
};

// A setting of LibTorch's executors for which programs here have no use, as there is one way to run them, for all shapes: it keeps its value for those
// who ask, and warns, once, when it is changed.
template <class T> class IdleSetting {
 public:
  IdleSetting(const char* name, T value) : name_(name), value_(value) {}
  IdleSetting(const IdleSetting&) = delete;
  operator T() const { return value_; }
  T load() const { return value_; }
  T operator=(T value) { return exchange(value), value; }
  void store(T value) { exchange(value); }
  T exchange(T value) {
    const T before = value_.exchange(value);
    if (before != value && !told_.exchange(true))
      TORCH_WARN("torch::jit: ", name_, " has no effect: there is one way to run programs, which no profile changes; it was set to ", value);
    return before;
  }

 private:
  const char* name_;
  std::atomic<T> value_;
  std::atomic<bool> told_ = false;
};

inline IdleSetting<bool>& getProfilingMode() {
  static IdleSetting<bool> on("the profiling mode", true);
  return on;
}
inline IdleSetting<bool>& getExecutorMode() {
  static IdleSetting<bool> on("the profiling executor", true);
  return on;
}
inline IdleSetting<size_t>& getNumProfiledRuns() {
  static IdleSetting<size_t> runs("the number of profiled runs", 1);
  return runs;
}
inline IdleSetting<size_t>& getBailoutDepth() {
  static IdleSetting<size_t> depth("the bailout depth", 1);
  return depth;
}
namespace detail {
inline IdleSetting<bool>& fuser_enabled() {
  static IdleSetting<bool> on("the fuser of tensor expressions", true);
  return on;
}
}  // namespace detail
inline void setTensorExprFuserEnabled(bool on) { detail::fuser_enabled() = on; }
inline bool tensorExprFuserEnabled() { return detail::fuser_enabled(); }

}  // namespace torch::jit
