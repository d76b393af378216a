#pragma once
// Named scopes of a recording, in namespace at.

#include "cresset/profile/recorder.h"
#include "torch/torch.h"

namespace cresset {
using profile::RecordFunction;
// LibTorch's names of the kinds.
struct RecordScope {
  static constexpr profile::Scope FUNCTION = profile::Scope::Function, BACKWARD_FUNCTION = profile::Scope::BackwardFunction, USER_SCOPE = profile::Scope::User;
};
inline bool hasCallbacks() { return RecordFunction::is_active(); }
}  // namespace cresset

// The inputs are those of LibTorch's form; a trace has none of a named scope.
#define RECORD_FUNCTION(name, ...) CRESSET_RECORD_FUNCTION(name)
#define RECORD_USER_SCOPE(name) CRESSET_RECORD_FUNCTION(name)
#define RECORD_FUNCTION_WITH_SCOPE(scope, name, ...) const ::cresset::profile::RecordFunction CRESSET_CONCAT(cresset_recorded_, __COUNTER__)(name, scope)
