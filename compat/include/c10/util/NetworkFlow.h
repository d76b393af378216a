#pragma once
#include <sstream>

#include "cresset/base/util/network_flow.h"
namespace c10 {
using cresset::MinCutResult;
using cresset::MinCutStatus;
using cresset::NetworkFlowGraph;
}  // namespace c10
