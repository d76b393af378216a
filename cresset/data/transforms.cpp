#include "cresset/data/transforms.h"

namespace cresset::data::transforms::detail {

Tensor per_channel(ArrayRef<double> values) {
  Tensor out = cresset::empty({static_cast<int64_t>(values.size()), 1, 1}, kFloat);
  for (size_t i = 0; i < values.size(); i++) out.data_ptr<float>()[i] = static_cast<float>(values[i]);
  return out;
}

Tensor normalize(const Tensor& input, const Tensor& mean, const Tensor& stddev) { return cresset::_standardize(input, mean, stddev); }
Tensor stack(const std::vector<Tensor>& tensors) { return cresset::stack(tensors); }

}  // namespace cresset::data::transforms::detail
