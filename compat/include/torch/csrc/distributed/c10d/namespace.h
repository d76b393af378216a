#pragma once
// The namespace of LibTorch's classes of processes.

#include "torch/types.h"

namespace cresset::distributed {}
namespace c10d = cresset::distributed;
namespace torch {
namespace distributed = cresset::distributed;
}
