#pragma once
// Parts that few tensors with a history have: a name, hooks, tangents.

#include "cresset/autograd/autograd_meta.h"

namespace cresset {
namespace autograd {

struct AutogradMeta::Extras {
  std::string name;
  std::shared_ptr<TensorHooks> hooks;
  std::vector<PostAccumulateHook> post_accumulate_hooks;
  std::vector<intrusive_ptr<ForwardTangent>> tangents;
};

}  // namespace autograd
}  // namespace cresset
