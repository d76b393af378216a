#pragma once
#include <sstream>
#include <string>
#include <vector>

#include "cresset/base/util/text.h"
#include "torch/detail/tensor.h"
namespace c10 {
using cresset::ExcludeFileExtension;
using cresset::Join;
using cresset::ReplaceAll;
using cresset::StripBasename;
using cresset::isPrintable;
using cresset::printQuotedString;
using cresset::tryToNumber;
namespace detail {
using cresset::ExcludeFileExtension;
using cresset::StripBasename;
}
}  // namespace c10
