#pragma once
// std::vector, std::map, std::set and std::pair print, as LibTorch's programs rely on: elements with spaces between, (first, second).
// In namespace std, where argument-dependent lookup finds them; only <torch/torch.h> and its parts bring them.

#include <map>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

namespace cresset::detail {
// At most 100 elements, then an ellipsis.
template <class Iterator> std::ostream& print_sequence(std::ostream& out, Iterator at, Iterator end) {
  for (int count = 0; at != end; ++at, ++count) {
    if (count == 100) return out << " ...";
    if (count) out << ' ';
    out << *at;
  }
  return out;
}
}  // namespace cresset::detail

namespace std {
template <class First, class Second> ostream& operator<<(ostream& out, const pair<First, Second>& p) {
  return out << '(' << p.first << ", " << p.second << ')';
}
template <class... Types> ostream& operator<<(ostream& out, const vector<Types...>& values) {
  return cresset::detail::print_sequence(out, values.begin(), values.end());
}
template <class... Types> ostream& operator<<(ostream& out, const map<Types...>& values) {
  return cresset::detail::print_sequence(out, values.begin(), values.end());
}
template <class... Types> ostream& operator<<(ostream& out, const set<Types...>& values) {
  return cresset::detail::print_sequence(out, values.begin(), values.end());
}
}  // namespace std
