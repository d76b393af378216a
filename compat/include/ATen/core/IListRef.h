#pragma once
#include "cresset/dispatch/values/tensor_list_ref.h"
#include "torch/detail/containers.h"
namespace c10 {
using cresset::IListRef;
using cresset::IListRefIterator;
}  // namespace c10
namespace at {
using cresset::IOptTensorListRef;
using cresset::IOptTensorListRefIterator;
using cresset::ITensorListRef;
using cresset::ITensorListRefIterator;
using cresset::OptionalTensorRef;
}  // namespace at
