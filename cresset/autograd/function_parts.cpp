#include "cresset/autograd/function_parts.h"

#include <ostream>

#include "cresset/autograd/generated_support.h"

namespace cresset {

uint32_t VariableVersion::current_version() const {
  CRESSET_CHECK(enabled_, "version: Inference tensors do not track version counter.");
  return version_;
}

autograd::CreationMeta TensorImpl::get_creation_meta() const {
  switch (view_creation()) {
    case ViewCreation::NoGrad: return autograd::CreationMeta::NO_GRAD_MODE;
    case ViewCreation::MultiOutput: return autograd::CreationMeta::MULTI_OUTPUT_NODE;
    case ViewCreation::Inference: return autograd::CreationMeta::INFERENCE_MODE;
    default: return autograd::CreationMeta::DEFAULT;
  }
}

namespace autograd {

namespace {

struct UndefinedGradBackward final : Node {
  UndefinedGradBackward() { wants_undefined_ = true; }
  std::string name() const override { return "torch::autograd::UndefinedGradBackward"; }

 protected:
  variable_list apply(variable_list&&) override { return variable_list(num_outputs()); }
};

}  // namespace

variable_list UndefinedGrad::apply(variable_list&& inputs) {
  variable_list outputs;
  for (const Tensor& input : inputs) outputs.push_back(input.defined() ? input.detach() : input);
  if (!any_requires_grad(TensorList(inputs))) return outputs;
  const auto node = make_node<UndefinedGradBackward>();
  set_next_edges(*node, TensorList(inputs));
  set_history(TensorList(outputs), node);
  return outputs;
}

std::ostream& operator<<(std::ostream& stream, const intrusive_ptr<Node>& node) { return stream << static_cast<const void*>(node.get()); }

impl::ViewMeta impl::get_view_autograd_meta(const Tensor& view) {
  CRESSET_CHECK(view.is_view(), "get_view_autograd_meta: the tensor is not a view");
  return ViewMeta(view.impl()->get_creation_meta());
}

void check_variable_result(const Tensor& original, const Tensor& result, const std::string& hook_name) {
  CRESSET_CHECK(original.scalar_type() == result.scalar_type(), "hook '", hook_name, "' has changed the dtype, got ", result.scalar_type(), ", expected ",
                original.scalar_type());
  CRESSET_CHECK(original.device() == result.device(), "hook '", hook_name, "' has changed the device, got ", result.device(), ", expected ", original.device());
  CRESSET_CHECK(original.sizes() == result.sizes(), "hook '", hook_name, "' has changed the shape, got ", result.sizes(), ", expected ", original.sizes());
}

}  // namespace autograd
}  // namespace cresset
