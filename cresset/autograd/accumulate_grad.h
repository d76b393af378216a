#pragma once
// The sink of the graph: adds what arrives to the gradient of a leaf.

#include "cresset/autograd/node.h"

namespace cresset {
namespace autograd {

struct CRESSET_API AccumulateGrad final : public Node {
  explicit AccumulateGrad(Tensor variable);
  std::string name() const override { return "torch::autograd::AccumulateGrad"; }
  const Tensor& variable() const { return variable_; }

 protected:
  variable_list apply(variable_list&& grads) override;
  void release_resources() override;

 private:
  CRESSET_LOCAL void accumulate(Tensor&& grad);
  Tensor variable_;
};

}  // namespace autograd
}  // namespace cresset
