#include "cresset/core/named_tensors.h"

namespace cresset {

template class OrderedDict<std::string, Tensor>;

}  // namespace cresset
