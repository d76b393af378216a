#pragma once
// A scope that leaves a thread's hooks on saved tensors as they were. Private to the autograd room.

#include <utility>
#include <vector>

#include "cresset/autograd/saved/saved_variable.h"

namespace cresset {
namespace autograd {

// Puts the stack of this thread back at the end of the scope, in which hooks may push and pop unevenly.
class KeepSavedTensorHooks {
 public:
  KeepSavedTensorHooks();
  ~KeepSavedTensorHooks();
  KeepSavedTensorHooks(const KeepSavedTensorHooks&) = delete;
  KeepSavedTensorHooks& operator=(const KeepSavedTensorHooks&) = delete;

 private:
  std::vector<std::pair<PackHook, UnpackHook>> before_;
};

}  // namespace autograd
}  // namespace cresset
