#pragma once
// Settings of how scripts run. That of the optimisation is obeyed, and a thread's own; the others are kept for those who ask and change no
// result: there is one way to run programs.

#include <atomic>

#include "cresset/graph/script/unit.h"

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

inline std::atomic<bool>& getProfilingMode() {
  static std::atomic<bool> on = true;
  return on;
}
inline std::atomic<bool>& getExecutorMode() {
  static std::atomic<bool> on = true;
  return on;
}
inline std::atomic<size_t>& getNumProfiledRuns() {
  static std::atomic<size_t> runs = 1;
  return runs;
}
inline std::atomic<size_t>& getBailoutDepth() {
  static std::atomic<size_t> depth = 1;
  return depth;
}
namespace detail {
inline std::atomic<bool>& fuser_enabled() {
  static std::atomic<bool> on = true;
  return on;
}
}  // namespace detail
inline void setTensorExprFuserEnabled(bool on) { detail::fuser_enabled() = on; }
inline bool tensorExprFuserEnabled() { return detail::fuser_enabled(); }

}  // namespace torch::jit
