#include <cmath>
#include <limits>

#include "cresset/ops/bodies_foreach.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/lists.h"

namespace cresset::ops {

void check_lists(const char* name, std::initializer_list<size_t> sizes) {
  const size_t first = *sizes.begin();
  CRESSET_CHECK(first > 0, name, ": expected at least one tensor, got an empty list");
  for (const size_t size : sizes) CRESSET_CHECK(size == first, name, ": the lists must be of the same length, got ", first, " and ", size);
}

void check_single_number(const char* name, const Tensor& number) {
  CRESSET_CHECK(number.dim() == 0, name, ": expected a tensor without dimensions for all elements, got shape ", number.sizes());
}

std::vector<Scalar> list_numbers(const char* name, const Tensor& numbers, size_t n) {
  CRESSET_CHECK(numbers.dim() == 1 && numbers.size(0) == static_cast<int64_t>(n), name, ": expected one number for each of ", n, " tensors, got shape ",
                numbers.sizes());
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
    CRESSET_CHECK_NOT_IMPLEMENTED(x.is_floating_point() || x.is_complex(), "_foreach_powsum: expected floating or complex tensors, got ", x.scalar_type());
    const Tensor size = (dtype ? x.to(*dtype) : x).abs();
    return size.pow(ord).sum();
  });
}

// One float32, as scales and flags of mixed precision are.
static void check_flag(const char* op, const char* name, const Tensor& t) {
  CRESSET_CHECK(t.numel() == 1 && t.scalar_type() == kFloat, op, ": ", name, ": expected one float32, got ", t.scalar_type(), ' ', t.sizes());
}

void _amp_foreach_non_finite_check_and_unscale_(TensorList self, Tensor& found_inf, const Tensor& inv_scale) {
  constexpr const char* name = "_amp_foreach_non_finite_check_and_unscale_";
  check_flag(name, "found_inf", found_inf);
  check_flag(name, "inv_scale", inv_scale);
  for (const Tensor& t : self) {
    CRESSET_CHECK(t.layout() == Layout::Strided, name, ": expected strided tensors, got ", t.layout());
    CRESSET_CHECK_NOT_IMPLEMENTED(t.is_floating_point() || t.is_complex(), name, ": expected floating or complex tensors, got ", t.scalar_type());
  }
  if (inv_scale.lacks_data()) return;  // only data tells what is written
  const double inverse = inv_scale.item<double>();
  for (const Tensor& t : self) {
    if (t.numel() > 0 && !std::isfinite(cresset::linalg_vector_norm(t, std::numeric_limits<double>::infinity()).item<double>())) found_inf.fill_(1);
    if (inverse != 1) t.mul_(inverse);
  }
}

Tensor& _amp_update_scale_(Tensor& self, Tensor& growth_tracker, const Tensor& found_inf, double scale_growth_factor, double scale_backoff_factor,
                           int64_t growth_interval) {
  constexpr const char* name = "_amp_update_scale_";
  check_flag(name, "self", self);
  check_flag(name, "found_inf", found_inf);
  CRESSET_CHECK(growth_tracker.numel() == 1 && growth_tracker.scalar_type() == kInt, name, ": growth_tracker: expected one int32, got ",
                growth_tracker.scalar_type(), ' ', growth_tracker.sizes());
  if (self.lacks_data() || found_inf.lacks_data()) return self;
  const bool found = found_inf.item<double>() != 0;
  const int64_t steps = found ? 0 : growth_tracker.item<int64_t>() + 1;
  if (found) {
    self.mul_(scale_backoff_factor);
  } else if (steps == growth_interval) {
    // A scale that is itself infinite would never come back.
    const Tensor grown = self * scale_growth_factor;
    if (std::isfinite(grown.item<double>())) self.copy_(grown);
  }
  growth_tracker.fill_(steps == growth_interval ? 0 : steps);
  return self;
}

}  // namespace composite

}  // namespace cresset::ops
