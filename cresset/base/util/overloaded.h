#pragma once
// One callable of several, of which a call takes the one that fits: for std::visit.

#include <type_traits>
#include <utility>

namespace cresset {

template <class... F> struct Overloaded : F... { using F::operator()...; };
template <class... F> Overloaded(F...) -> Overloaded<F...>;
template <class... F> Overloaded<std::decay_t<F>...> overloaded(F&&... functions) { return {std::forward<F>(functions)...}; }

}  // namespace cresset
