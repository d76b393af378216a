#include "cresset/ops/bodies_foreach.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/lists.h"

namespace cresset::ops {

void check_lists(const char* name, std::initializer_list<size_t> sizes) {
  const size_t first = *sizes.begin();
  CRESSET_CHECK(first > 0, name, ": expected at least one tensor, got an empty list");
  for (const size_t size : sizes)
    CRESSET_CHECK(size == first, name, ": the lists must be of the same length, got ", first, " and ", size);
}

void check_single_number(const char* name, const Tensor& number) {
  CRESSET_CHECK(number.dim() == 0, name, ": expected a tensor without dimensions for all elements, got shape ", number.sizes());
}

std::vector<Scalar> list_numbers(const char* name, const Tensor& numbers, size_t n) {
  CRESSET_CHECK(numbers.dim() == 1 && numbers.size(0) == static_cast<int64_t>(n), name, ": expected one number for each of ", n,
                " tensors, got shape ", numbers.sizes());
  std::vector<Scalar> values;
  values.reserve(n);
  for (size_t i = 0; i < n; i++) values.push_back(numbers.select(0, static_cast<int64_t>(i)).item());
  return values;
}

std::vector<Tensor> map_list(size_t n, FunctionRef<Tensor(size_t)> one) {
  std::vector<Tensor> results;
  results.reserve(n);
  for (size_t i = 0; i < n; i++) results.push_back(one(i));
  return results;
}

void walk_list(size_t n, FunctionRef<void(size_t)> one) {
  for (size_t i = 0; i < n; i++) one(i);
}

namespace composite {

std::vector<Tensor> _foreach_norm(TensorList self, const Scalar& ord, std::optional<ScalarType> dtype) {
  check_lists("_foreach_norm", {self.size()});
  return map_list(self.size(), [&](size_t i) { return cresset::linalg_vector_norm(self[i], ord, {}, false, dtype); });
}

std::vector<Tensor> _foreach_powsum(TensorList self, const Scalar& ord, std::optional<ScalarType> dtype) {
  check_lists("_foreach_powsum", {self.size()});
  return map_list(self.size(), [&](size_t i) {
    const Tensor& x = self[i];
    CRESSET_CHECK_NOT_IMPLEMENTED(x.is_floating_point() || x.is_complex(),
                                  "_foreach_powsum: expected floating or complex tensors, got ", x.scalar_type());
    const Tensor size = (dtype ? x.to(*dtype) : x).abs();
    return size.pow(ord).sum();
  });
}

void _amp_foreach_non_finite_check_and_unscale_(TensorList self, Tensor& found_inf, const Tensor& inv_scale) {
  CRESSET_CHECK(found_inf.numel() == 1 && found_inf.scalar_type() == kFloat,
                "_amp_foreach_non_finite_check_and_unscale_: found_inf: expected one float32, got ", found_inf.scalar_type(), ' ',
                found_inf.sizes());
  CRESSET_CHECK(inv_scale.numel() == 1 && inv_scale.scalar_type() == kFloat,
                "_amp_foreach_non_finite_check_and_unscale_: inv_scale: expected one float32, got ", inv_scale.scalar_type(), ' ',
                inv_scale.sizes());
  for (const Tensor& t : self) {
    CRESSET_CHECK(t.layout() == Layout::Strided, "_amp_foreach_non_finite_check_and_unscale_: expected strided tensors, got ",
                  t.layout());
    found_inf.copy_(found_inf.logical_or(t.isfinite().all().logical_not()).reshape(found_inf.sizes()));
    t.mul_(inv_scale.reshape({}));
  }
}

}  // namespace composite

}  // namespace cresset::ops
