#pragma once
// Whether operators record the graph on this thread, and the guards that change it.

#include "cresset/core/layers.h"

namespace cresset {

struct CRESSET_API GradMode {
  static bool is_enabled() { return layer_state().grad_mode; }
  static void set_enabled(bool enabled) { layer_state().set_grad_mode(enabled); }
};

// Sets the grad mode for its scope.
class CRESSET_API AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled) : previous_(GradMode::is_enabled()) { GradMode::set_enabled(enabled); }
  ~AutoGradMode() { GradMode::set_enabled(previous_); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool previous_;
};

// No operator in its scope records the graph.
class CRESSET_API NoGradGuard : public AutoGradMode {
 public:
  NoGradGuard() : AutoGradMode(false) {}
};

// Faster than NoGradGuard: tensors made in its scope carry neither version counter nor view tracking, and can never take part in
// a recorded computation. InferenceMode(false) switches back to normal mode for a scope.
class CRESSET_API InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true) : grad_mode_(layer_state().grad_mode), inference_mode_(layer_state().inference_mode) {
    layer_state().set_inference_mode(enabled, !enabled);
  }
  ~InferenceMode() { layer_state().set_inference_mode(inference_mode_, grad_mode_); }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  static bool is_enabled() { return layer_state().inference_mode; }

 private:
  bool grad_mode_, inference_mode_;
};

namespace autograd {
using cresset::AutoGradMode;
using cresset::GradMode;
using cresset::InferenceMode;
using cresset::NoGradGuard;
}  // namespace autograd

}  // namespace cresset
