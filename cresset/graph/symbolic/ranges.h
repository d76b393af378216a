#pragma once
// Conclusions about integer expressions from the ranges of their symbols.

#include <cstdint>
#include <map>

#include "cresset/graph/symbolic/expr.h"

namespace cresset::graph {

constexpr int64_t kInfinity = INT64_MAX;

// Both ends belong to it; kInfinity and its negative stand for no bound.
struct Range {
  int64_t lower = -kInfinity, upper = kInfinity;
  friend bool operator==(const Range& a, const Range& b) { return a.lower == b.lower && a.upper == b.upper; }
};
using Ranges = std::map<std::string, Range, std::less<>>;

// A range that holds every value of the expression.
CRESSET_API Range bounds(const Sym& s, const Ranges& ranges);
// Whether the comparison holds for all values in the ranges, for none, or unknown.
CRESSET_API std::optional<bool> decided(const Expr& relation, const Ranges& ranges);

}  // namespace cresset::graph
