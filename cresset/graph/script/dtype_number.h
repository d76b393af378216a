#pragma once
// dtypes and layouts as the integers that they are in texts and archives of TorchScript, which count more dtypes than there are here.

#include <algorithm>
#include <iterator>

#include "cresset/base/dtype.h"
#include "cresset/base/error.h"
#include "cresset/core/layout.h"

namespace cresset::graph::script {

// By dtype, in the order of ScalarType.
constexpr int64_t kDTypeNumbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 27, 28, 29, 23, 24, 25, 26, 44};
static_assert(std::size(kDTypeNumbers) == kNumDTypes);

inline int64_t number_of(ScalarType dtype) { return kDTypeNumbers[static_cast<size_t>(dtype)]; }
// Errors: a number of no dtype that there is, such as one of the quantized.
inline ScalarType dtype_of_number(int64_t number) {
  const auto* const found = std::find(std::begin(kDTypeNumbers), std::end(kDTypeNumbers), number);
  CRESSET_CHECK(found != std::end(kDTypeNumbers), "dtype: there is none of number ", number);
  return static_cast<ScalarType>(found - std::begin(kDTypeNumbers));
}

constexpr int64_t kLayoutNumbers[] = {0, 1, 2, 4, 5, 6, 3};
static_assert(std::size(kLayoutNumbers) == static_cast<size_t>(Layout::Mkldnn) + 1);

inline int64_t number_of(Layout layout) { return kLayoutNumbers[static_cast<size_t>(layout)]; }
// Errors: a number of no layout that there is.
inline Layout layout_of_number(int64_t number) {
  const auto* const found = std::find(std::begin(kLayoutNumbers), std::end(kLayoutNumbers), number);
  CRESSET_CHECK(found != std::end(kLayoutNumbers), "layout: there is none of number ", number);
  return static_cast<Layout>(found - std::begin(kLayoutNumbers));
}

}  // namespace cresset::graph::script
