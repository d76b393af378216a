#pragma once
// LibTorch's umbrella header, over Cresset.

#include "torch/detail/frontend.h"
#include "torch/detail/library.h"
#include "torch/version.h"
