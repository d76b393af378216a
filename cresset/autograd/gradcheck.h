#pragma once
// Compares gradients with finite differences.

#include <functional>

#include "cresset/autograd/node.h"

namespace cresset {
namespace autograd {

struct GradcheckOptions {
  // Step of the central differences.
  double eps = 1e-6;
  // |analytical - numerical| <= atol + rtol * |numerical|, element by element.
  double atol = 1e-5, rtol = 1e-3;
  // Greatest difference between two backward passes with the same input.
  double nondeterministic_tol = 0;
  // Raise with a description; otherwise the answer is false.
  bool raise_exception = true;
};

using CheckedFunction = std::function<variable_list(const variable_list& inputs)>;

// Whether the Jacobian that backward gives for `fn` equals the one by central differences, with respect to all inputs that require grad.
// Complex inputs and outputs count as pairs of reals. Errors: an input that requires grad is neither float64 nor complex128, or not on
// the CPU, or has elements that share memory.
CRESSET_API bool gradcheck(const CheckedFunction& fn, const variable_list& inputs, const GradcheckOptions& options = {});
// The same for the gradients of `fn` as functions of its inputs and of the gradients of its outputs, which are made up where not given.
CRESSET_API bool gradgradcheck(const CheckedFunction& fn, const variable_list& inputs, const variable_list& grad_outputs = {},
                               const GradcheckOptions& options = {});

}  // namespace autograd
}  // namespace cresset
