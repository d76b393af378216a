#pragma once
// Names of operators in files of programs.

#include <string>
#include <string_view>

#include "cresset/base/macros.h"

namespace cresset::graph {

// Our operator of a name such as "torch.ops.aten.add.Tensor", also where the format has another name for it: "add.Tensor", "ns::foo" of other
// namespaces. Empty where the name is none of an operator.
CRESSET_API std::string operator_of(std::string_view target);

}  // namespace cresset::graph
