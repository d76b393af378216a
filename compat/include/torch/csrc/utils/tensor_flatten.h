#pragma once
// Several dense tensors as one vector, and back.

#include <utility>
#include <vector>

#include "torch/detail/tensor.h"

namespace torch::utils {

inline at::Tensor flatten_dense_tensors(at::TensorList tensors) {
  std::vector<at::Tensor> flat;
  for (const at::Tensor& t : tensors) flat.push_back(t.contiguous().view(-1));
  return at::cat(flat);
}

// Views of `flat` with the shapes of `tensors`, in order; those without elements have no memory in common with it.
inline std::vector<at::Tensor> unflatten_dense_tensors(const at::Tensor& flat, at::TensorList tensors) {
  std::vector<at::Tensor> parts;
  int64_t start = 0;
  for (const at::Tensor& t : tensors) {
    const int64_t count = t.numel();
    parts.push_back(count == 0 ? at::empty(t.sizes(), flat.options()) : flat.narrow(0, start, count).view(t.sizes()));
    start += count;
  }
  return parts;
}

}  // namespace torch::utils
