#pragma once
#include "ATen/core/MT19937RNGEngine.h"
#include "cresset/core/random/cpu_generator.h"
#include "torch/detail/tensor.h"
namespace at {
using cresset::check_generator;
using cresset::CPUGeneratorImpl;
using cresset::get_generator_or_default;
using cresset::make_generator;
namespace detail {
using cresset::detail::createCPUGenerator;
using cresset::detail::getDefaultCPUGenerator;
}  // namespace detail
}  // namespace at
