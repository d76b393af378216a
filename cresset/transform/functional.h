#pragma once
// Derivatives of functions of tensors by backward passes, whose results may be recorded in turn (Python: torch.autograd.functional). Include it
// by name: <cresset/transform/functional.h>. func.h has the forms that nest and run as one batch.

#include <functional>
#include <optional>
#include <vector>

#include "cresset/autograd/variable.h"

namespace cresset {
namespace autograd {
namespace functional {

using Function = std::function<variable_list(const variable_list& inputs)>;

struct Options {
  // Records the computation, so that results can be differentiated.
  bool create_graph = false;
  // A derivative that is zero because it does not depend on an input is an error.
  bool strict = false;
};

struct CRESSET_API OutputsAndProducts {
  variable_list outputs, products;
};
// f(inputs), and `v` times its Jacobian, one product for each input (vjp), or its Jacobian times `v`, one for each output (jvp). `v` has the
// shapes of the outputs (vjp) or inputs and may be left out for one tensor of one element. Errors: other numbers or shapes in `v`.
CRESSET_API OutputsAndProducts vjp(const Function& f, const variable_list& inputs, const std::optional<variable_list>& v = {}, Options options = {});
CRESSET_API OutputsAndProducts jvp(const Function& f, const variable_list& inputs, const std::optional<variable_list>& v = {}, Options options = {});
// f(inputs), one number, and its Hessian times `v`: the same where it is symmetric, of which vhp is the faster.
CRESSET_API OutputsAndProducts vhp(const Function& f, const variable_list& inputs, const std::optional<variable_list>& v = {}, Options options = {});
CRESSET_API OutputsAndProducts hvp(const Function& f, const variable_list& inputs, const std::optional<variable_list>& v = {}, Options options = {});

// [i][j], of shape output i + input j: row by row, with `vectorize` all rows as one batch, with `forward` all columns. Errors: `vectorize`
// with `strict`; `forward` without `vectorize` or with `create_graph`.
CRESSET_API std::vector<variable_list> jacobian(const Function& f, const variable_list& inputs, Options options = {}, bool vectorize = false,
                                                bool forward = false);
// [i][j], of shape input i + input j, of a function of one number.
CRESSET_API std::vector<variable_list> hessian(const Function& f, const variable_list& inputs, Options options = {}, bool vectorize = false,
                                               bool forward = false);

}  // namespace functional
}  // namespace autograd
}  // namespace cresset
