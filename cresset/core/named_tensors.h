#pragma once
// Tensors by name, in the order of insertion: the state of a module, the content of a file.

#include <string>

#include "cresset/base/util/ordered_dict.h"
#include "cresset/core/tensor.h"

namespace cresset {

extern template class CRESSET_API OrderedDict<std::string, Tensor>;

}  // namespace cresset
