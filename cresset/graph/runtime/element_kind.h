#pragma once
#include "cresset/dispatch/values/list.h"
#include "cresset/graph/ir/type.h"

namespace cresset::graph {

// How a list or a dict holds elements of the type.
CRESSET_API dispatch::ElementKind element_kind(const Type& element);

}  // namespace cresset::graph
