#pragma once
// The dtype of an operator's result from the dtypes of its arguments, by three categories: tensors with dimensions, tensors without,
// numbers.

#include "cresset/core/default_dtype.h"
#include "cresset/core/tensor_impl.h"

namespace cresset {

class ResultType {
 public:
  // The dtype that a number counts as: its own kind in the default precision.
  static ScalarType of_number(ScalarType t) {
    if (is_complex_type(t)) return to_complex_type(get_default_dtype());
    return is_floating_type(t) ? get_default_dtype() : t;
  }
  void add_number(ScalarType t) { numbers_ = promoted(numbers_, of_number(t)); }
  void add(const TensorImpl& t) {
    if (t.is_wrapped_number()) add_number(t.dtype());
    else if (t.dim() == 0) zero_ = promoted(zero_, t.dtype());
    else dims_ = promoted(dims_, t.dtype());
  }
  // Undefined if nothing was added.
  ScalarType get() const { return combined(dims_, combined(zero_, numbers_)); }

 private:
  static ScalarType promoted(ScalarType a, ScalarType b) {
    if (a == ScalarType::Undefined) return b;
    if (b == ScalarType::Undefined) return a;
    return promote_types(a, b);
  }
  // A lower category matters only where it is of a higher kind: bool < integer < floating < complex.
  static ScalarType combined(ScalarType higher, ScalarType lower) {
    if (lower == ScalarType::Undefined || is_complex_type(higher)) return higher;
    if (is_floating_type(higher)) return is_complex_type(lower) ? to_complex_type(higher) : higher;
    if (is_complex_type(lower)) return lower;
    if (higher == ScalarType::Bool || higher == ScalarType::Undefined || is_floating_type(lower)) return promoted(higher, lower);
    return higher;
  }

  ScalarType dims_ = ScalarType::Undefined, zero_ = ScalarType::Undefined, numbers_ = ScalarType::Undefined;
};

}  // namespace cresset
