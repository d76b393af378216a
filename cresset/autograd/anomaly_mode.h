#pragma once
// Finding where a wrong gradient comes from: records where each node ran forward and checks every gradient for NaN.

#include "cresset/autograd/node.h"

namespace cresset {
namespace autograd {

struct CRESSET_API AnomalyMode {
  // Process-wide.
  static bool is_enabled();
  static bool should_check_nan();
  static void set_enabled(bool enabled, bool check_nan = true);
  // Describes the place a node is recorded at; by default the C++ call stack. A binding puts its own language's stack here.
  static void set_stack_provider(std::function<std::string()> provider);
  static std::string current_stack();
  // Told of the node in whose gradient an error was raised; by default the error's message says where the node ran forward.
  static void set_reporter(std::function<void(const Node&)> reporter);
  // Whether there is a reporter; it has been told.
  static bool report(const Node& node);
  // Errors: an element of `grads` is NaN; the message names the node and the position.
  static void check_nan(const Node& node, const variable_list& grads);
};

// Anomaly mode for a scope.
class CRESSET_API DetectAnomalyGuard {
 public:
  explicit DetectAnomalyGuard(bool check_nan = true);
  ~DetectAnomalyGuard();
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;
  DetectAnomalyGuard& operator=(const DetectAnomalyGuard&) = delete;

 private:
  bool enabled_, check_nan_;
};

// LibTorch's name for the C++ class is the same; Python calls it detect_anomaly.
using DetectAnomaly = DetectAnomalyGuard;

}  // namespace autograd
}  // namespace cresset
