#pragma once
// The history of a tensor that was changed in place through a view of it.

#include "cresset/autograd/node.h"

namespace cresset {
namespace autograd {

// Outside of the view the gradient passes as it is; inside it goes through the node of the in-place operator.
// Edge 0 leads to the base's history before the change, the others are those of the operator's node.
struct CRESSET_API CopySlices final : public Node {
  CopySlices(const Tensor& base, const Tensor& view, intrusive_ptr<Node> fn);
  ~CopySlices() override;
  std::string name() const override { return "torch::autograd::CopySlices"; }
  void release_variables() override;
  const intrusive_ptr<Node>& function() const { return fn_; }

 protected:
  variable_list apply(variable_list&& grads) override;

 private:
  // Geometry and kind, without memory.
  intrusive_ptr<TensorImpl> base_, view_;
  intrusive_ptr<Node> fn_;
};

}  // namespace autograd
}  // namespace cresset
