#pragma once
// The rows of a tensor as a dataset.

#include "cresset/data/datasets/base.h"

namespace cresset::data::datasets {

struct CRESSET_API TensorDataset : public Dataset<TensorDataset, TensorExample> {
  explicit TensorDataset(const std::vector<Tensor>& tensors);
  explicit TensorDataset(Tensor t) : tensor(std::move(t)) {}
  TensorExample get(size_t index) override;
  std::optional<size_t> size() const override;

  Tensor tensor;
};

}  // namespace cresset::data::datasets
