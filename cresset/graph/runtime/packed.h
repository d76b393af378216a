#pragma once
// Layers whose weight is a constant that is kept in the order in which the kernels read it. Private to the room.

#include "cresset/graph/runtime/machine.h"

namespace cresset::graph {

// The attribute of nodes, of linear and conv1d to conv3d, whose weight may be held a second time.
inline constexpr const char* kKeepsPacked = "keeps_packed";

// An empty one for other nodes, and where a weight is no constant.
TypedCall find_packed_call(const Node& node, const std::vector<const Datum*>& constants);

}  // namespace cresset::graph
