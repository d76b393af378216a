#pragma once
// LibTorch's umbrella header, over Cresset.

#include "torch/detail/aten.h"
#include "torch/detail/frontend.h"
#include "torch/detail/registration.h"
#include "torch/version.h"
