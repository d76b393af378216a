#pragma once
#include "cresset/base/util/metaprogramming.h"
#include "torch/detail/macros.h"
namespace c10::guts {
using namespace cresset::guts;
using std::array;
template <class T> using remove_cv_t = std::remove_cv_t<T>;
template <class T> using remove_reference_t = std::remove_reference_t<T>;
}  // namespace c10::guts
