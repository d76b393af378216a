#pragma once
// `var(x, 0)` names a dimension; without these the number would convert to the flag of var(x, bool unbiased).

#include <tuple>

#include "cresset/core/tensor.h"

namespace cresset {

CRESSET_API Tensor var(const Tensor& self, int dim);
CRESSET_API Tensor var(const Tensor& self, int64_t dim);
CRESSET_API Tensor std(const Tensor& self, int dim);
CRESSET_API Tensor std(const Tensor& self, int64_t dim);
CRESSET_API std::tuple<Tensor, Tensor> var_mean(const Tensor& self, int dim);
CRESSET_API std::tuple<Tensor, Tensor> var_mean(const Tensor& self, int64_t dim);
CRESSET_API std::tuple<Tensor, Tensor> std_mean(const Tensor& self, int dim);
CRESSET_API std::tuple<Tensor, Tensor> std_mean(const Tensor& self, int64_t dim);

}  // namespace cresset
