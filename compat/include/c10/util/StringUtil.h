#pragma once
#include <sstream>
#include <string>
#include <vector>

#include "cresset/base/util/text.h"
#include "torch/detail/tensor.h"
namespace c10 {
using cresset::ExcludeFileExtension;
using cresset::isPrintable;
using cresset::Join;
using cresset::printQuotedString;
using cresset::ReplaceAll;
using cresset::StripBasename;
using cresset::tryToNumber;
namespace detail {
using cresset::ExcludeFileExtension;
using cresset::StripBasename;
}  // namespace detail
}  // namespace c10
