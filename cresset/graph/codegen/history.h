#pragma once
// The history of what a compiled forward has given: a node that runs the compiled backward.

#include "cresset/autograd/node.h"
#include "cresset/dispatch/values/value.h"

namespace cresset::graph {

class CRESSET_API CompiledBackward : public autograd::Node {
 public:
  std::string name() const override { return "CompiledBackward"; }
  // A value that backward starts with, in the order of its parameters.
  void keep(dispatch::Value&& value);
  void release_variables() override;

 protected:
  using Values = std::vector<dispatch::Value>;
  // From the kept values, and then a gradient for each of `num_gradients` results, to a gradient for each edge.
  virtual Values backward(Values&& inputs) = 0;
  // The strides that the gradient of result `i` has in the program.
  virtual IntArrayRef strides(size_t i) const = 0;
  autograd::variable_list apply(autograd::variable_list&& grads) override;

 private:
  Values kept_;
  std::vector<uint32_t> versions_;
  bool released_ = false;
};

}  // namespace cresset::graph
