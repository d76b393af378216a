#pragma once
#include "c10/core/DispatchKeySet.h"
#include "cresset/core/random/generator_impl.h"
#include "torch/detail/tensor.h"
namespace c10 {
using cresset::GeneratorImpl;
}
