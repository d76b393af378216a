#pragma once
// Einstein's notation with numbers in place of letters.

#include <string>
#include <vector>

#include "cresset/base/error.h"

namespace cresset::ops {

// Among numbers: "...".
inline constexpr int64_t kSubscriptDots = INT64_MIN;

// Subscripts from 0 to 51 as the letters A to Z, a to z. Errors: ValueError for other numbers.
inline std::string subscript_letters(const std::vector<int64_t>& subscripts) {
  std::string text;
  for (const int64_t i : subscripts) {
    CRESSET_CHECK_VALUE(i == kSubscriptDots || (i >= 0 && i < 52), "einsum: expected subscripts from 0 to 51, got ", i);
    if (i == kSubscriptDots) text += "...";
    else text += static_cast<char>(i < 26 ? 'A' + i : 'a' + i - 26);
  }
  return text;
}

// The equation of operands by their subscripts, and of a result if there are 1 more of these than operands. Errors: as subscript_letters.
inline std::string einsum_equation(const std::vector<std::vector<int64_t>>& subscripts, size_t operands) {
  std::string equation;
  for (size_t i = 0; i < subscripts.size(); i++) {
    if (i > 0) equation += i < operands ? "," : "->";
    equation += subscript_letters(subscripts[i]);
  }
  return equation;
}

}  // namespace cresset::ops
