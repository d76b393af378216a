#pragma once
#include "ATen/CPUGeneratorImpl.h"
#include "ATen/TensorIterator.h"
#include "ATen/core/DistributionsHelper.h"
#include "cresset/ops/random/program_generators.h"
namespace at::native {
namespace templates = cresset::templates;
}
