#pragma once
#include "ATen/CPUGeneratorImpl.h"
#include "cresset/ops/random/samplers.h"
namespace at {
using cresset::bernoulli_distribution;
using cresset::cauchy_distribution;
using cresset::exponential_distribution;
using cresset::geometric_distribution;
using cresset::lognormal_distribution;
using cresset::normal_distribution;
using cresset::uniform_int_from_to_distribution;
using cresset::uniform_real_distribution;
}  // namespace at
