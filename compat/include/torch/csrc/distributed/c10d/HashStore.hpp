#pragma once
// LibTorch's header of this name.

#include "cresset/dist/store/store.h"
#include "torch/csrc/distributed/c10d/namespace.h"
