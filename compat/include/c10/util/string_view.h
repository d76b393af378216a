#pragma once
#include <string_view>

#include "cresset/base/util/checked_string_view.h"
#include "cresset/base/util/text.h"
#include "torch/detail/tensor.h"
namespace c10 {
template <class C> using basic_string_view = std::basic_string_view<C>;
template <class C> using c10_basic_string_view = cresset::CheckedStringView<C>;
using c10_string_view = cresset::CheckedStringView<char>;
using cresset::ends_with;
using cresset::starts_with;
}  // namespace c10
