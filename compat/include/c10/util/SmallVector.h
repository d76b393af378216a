#pragma once
#include "torch/detail/tensor.h"
namespace cresset {
// Found by its argument: of the template for one element and that for the base of vectors, overload resolution would take the first.
template <class T, unsigned N> ArrayRef<T> makeArrayRef(const SmallVector<T, N>& v) { return v; }
}  // namespace cresset
namespace c10 {
using cresset::makeArrayRef;
}
