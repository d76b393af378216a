#pragma once
// The namespace of LibTorch's classes of processes, to which programs add backends of their own.

#include "cresset/dist/errors.h"
#include "torch/types.h"

namespace c10d {
using namespace cresset::distributed;
}
namespace torch {
namespace distributed = cresset::distributed;
}
namespace c10 {
using cresset::distributed::DistBackendError;
using cresset::distributed::DistError;
using cresset::distributed::DistNetworkError;
using cresset::distributed::DistQueueEmptyError;
using cresset::distributed::DistStoreError;
}  // namespace c10
