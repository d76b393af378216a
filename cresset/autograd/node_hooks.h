#pragma once
// Everything that most nodes do not have: hooks, tangents of their outputs, the trace of anomaly mode.

#include "cresset/autograd/node.h"

namespace cresset {
namespace autograd {

struct NodeHooks {
  struct OutputTangent {
    uint32_t output_nr;
    intrusive_ptr<ForwardTangent> tangent;
  };
  struct ForOutput {
    uint32_t output_nr;
    std::shared_ptr<TensorHooks> hooks;
  };
  struct RetainGrad {
    uint32_t output_nr;
    weak_intrusive_ptr<TensorImpl> tensor;
  };
  std::vector<ForOutput> tensor_hooks;
  std::vector<RetainGrad> retain_grad;
  std::vector<NodePreHook> pre_hooks;
  std::vector<NodePostHook> post_hooks;
  // Of outputs that the node may have saved.
  std::vector<OutputTangent> tangents;
};

// Where and under which node an operator ran forward; recorded in anomaly mode only.
struct NodeTrace {
  std::string stack;
  intrusive_ptr<Node> parent;
};

}  // namespace autograd
}  // namespace cresset
