#include "cresset/autograd/comm.h"

#include "cresset/ops/functions.h"

namespace cresset::autograd {

variable_list Scatter::apply(variable_list&& inputs) const {
  CRESSET_CHECK(inputs.size() == 1, "Scatter: number of inputs, got ", inputs.size(), ", expected 1");
  variable_list parts = chunk_sizes_ ? inputs[0].split_with_sizes(*chunk_sizes_, dim_) : inputs[0].tensor_split(static_cast<int64_t>(devices_.size()), dim_);
  CRESSET_CHECK(parts.size() == devices_.size(), "Scatter: number of parts, got ", parts.size(), ", expected ", devices_.size());
  for (size_t i = 0; i < parts.size(); i++) parts[i] = parts[i].to(devices_[i]);
  return parts;
}

variable_list Gather::apply(variable_list&& inputs) const {
  CRESSET_CHECK(!inputs.empty(), "Gather: number of inputs, got 0, expected at least 1");
  for (Tensor& part : inputs) {
    part = part.to(destination_);
    // Losses of replicas are joined to a vector.
    if (part.dim() == 0) part = part.view({1});
  }
  return {cat(inputs, dim_)};
}

}  // namespace cresset::autograd
