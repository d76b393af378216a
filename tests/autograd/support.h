#pragma once
// Shared by the autograd tests.

#include <gtest/gtest.h>

#include "cresset/autograd/autograd.h"
#include "cresset/autograd/grad_mode.h"
#include "cresset/autograd/variable.h"
#include "cresset/ops/functions.h"
#include "tests/error_of.h"

namespace cresset {

// A float64 tensor over the given numbers.
inline Tensor vec(std::vector<double> values) {
  Tensor t = cresset::empty({static_cast<int64_t>(values.size())}, TensorOptions(kDouble));
  std::copy(values.begin(), values.end(), t.data_ptr<double>());
  return t;
}
inline Tensor leaf(std::vector<double> values) { return vec(std::move(values)).requires_grad_(); }
inline Tensor ones_leaf(IntArrayRef sizes) { return cresset::ones(sizes, TensorOptions(kDouble)).requires_grad_(); }

inline std::vector<double> numbers(const Tensor& t) {
  if (!t.defined()) return {};
  const Tensor dense = t.detach().to(kDouble).contiguous();
  return std::vector<double>(dense.data_ptr<double>(), dense.data_ptr<double>() + dense.numel());
}
using Numbers = std::vector<double>;

inline testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << text << "\" does not contain \"" << part << "\"";
}

}  // namespace cresset
