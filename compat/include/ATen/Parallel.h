#pragma once
#include "ATen/Config.h"
#include "cresset/base/parallel_reduce.h"
#include "torch/detail/tensor.h"
namespace at {
using cresset::divup;
using cresset::intraop_default_num_threads;
using cresset::intraop_launch;
using cresset::launch;
using cresset::parallel_reduce;
inline void lazy_init_num_threads() {}
namespace internal {
constexpr int64_t GRAIN_SIZE = 32768;
inline void lazy_init_num_threads() {}
}  // namespace internal
}  // namespace at
