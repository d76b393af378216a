#pragma once
// Questions about lists of template arguments, and one call for each of several values.

#include <type_traits>
#include <utility>

namespace torch {

using std::conditional_t;
using std::enable_if_t;
template <bool condition, class T = void> using disable_if_t = std::enable_if_t<!condition, T>;

template <bool... conditions> using all_of = std::bool_constant<(conditions && ...)>;
template <bool... conditions> using any_of = std::bool_constant<(conditions || ...)>;

template <class Function, class... Values> void apply(Function function, Values&&... values) { (function(std::forward<Values>(values)), ...); }

}  // namespace torch
