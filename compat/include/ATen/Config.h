#pragma once
#include "torch/detail/tensor.h"

// Which libraries of others the operators are built on.
#define AT_MKL_ENABLED() 0
#define AT_MKLDNN_ENABLED() 1
#define AT_POCKETFFT_ENABLED() 0
#define AT_PARALLEL_OPENMP 1
#define AT_PARALLEL_NATIVE 0
