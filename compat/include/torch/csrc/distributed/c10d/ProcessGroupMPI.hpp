#pragma once
// LibTorch's header of this name.

#include "cresset/dist/group/process_group.h"
#include "torch/csrc/distributed/c10d/namespace.h"
