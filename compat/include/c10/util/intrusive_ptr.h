#pragma once
#include "torch/detail/tensor.h"
namespace c10 {
namespace detail {
template <class T> using intrusive_target_default_null_type = cresset::detail::NullTarget<T>;
}
}  // namespace c10
