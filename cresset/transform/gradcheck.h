#pragma once
// Compares gradients with finite differences.

#include <functional>

#include "cresset/autograd/node.h"

namespace cresset {
namespace autograd {

// A gradient that is not what finite differences say, or that breaks another promise of backward.
class CRESSET_API GradcheckError : public Error {
 public:
  using Error::Error;
};

struct GradcheckOptions {
  // Step of the central differences.
  double eps = 1e-6;
  // |analytical - numerical| <= atol + rtol * |numerical|, element by element.
  double atol = 1e-5, rtol = 1e-3;
  // Greatest difference between two backward passes with the same input.
  double nondeterministic_tol = 0;
  // Raise a GradcheckError; otherwise the answer is false.
  bool raise_exception = true;
  // Compares gradients by backward; derivatives in forward mode along random directions.
  bool check_backward_ad = true, check_forward_ad = false;
  // Backward accepts undefined gradients of outputs, and gives none or zeros for them.
  bool check_undefined_grad = true;
  // Gradients have the dtype of their inputs.
  bool check_grad_dtypes = false;
  // Gradients of a batch equal those of single passes; derivatives in forward mode of a batch do.
  bool check_batched_grad = false, check_batched_forward_grad = false;
  // Compares one random projection of each pair of an output and an input instead of whole Jacobians.
  bool fast_mode = false;
  // For gradgradcheck: the gradients of outputs that it makes have gaps in memory.
  bool gen_non_contig_grad_outputs = false;
};

using CheckedFunction = std::function<variable_list(const variable_list& inputs)>;

// Whether the Jacobian that backward gives for the outputs of `fn` that require grad equals the one by central differences, with respect
// to all inputs that require grad. Where no output does, whether all are constant. Complex inputs and outputs count as pairs of reals; of a
// sparse input the elements that it holds are moved and compared. `fn` may return undefined tensors and gets undefined inputs as they are.
// Errors: no input requires grad (ValueError), or one has elements that share memory; a sparse output (ValueError). Warns of an input that
// is not of double precision.
CRESSET_API bool gradcheck(const CheckedFunction& fn, const variable_list& inputs, const GradcheckOptions& options = {});
// The same for the gradients of `fn` as functions of its inputs and of the gradients of its outputs, which are made up where not given.
CRESSET_API bool gradgradcheck(const CheckedFunction& fn, const variable_list& inputs, const variable_list& grad_outputs = {},
                               const GradcheckOptions& options = {});

// By central differences, for each output that `fn` gives a float64 matrix (real components of the output, those of `input`), whose
// elements are moved in place. `input` may be sparse.
CRESSET_API variable_list numerical_jacobian(const std::function<variable_list()>& fn, const Tensor& input, double eps);

}  // namespace autograd
}  // namespace cresset
