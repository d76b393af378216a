#pragma once
// Transforms of functions of tensors: derivatives of a function, as values and as functions again. They nest in any order.
//
// The results of reverse mode keep a history only if it reaches something else that is being differentiated: an argument that
// requires grad, a parameter, or what another transform around this one watches.

#include <vector>
#include "cresset/base/std_function.h"

#include "cresset/core/tensor.h"

namespace cresset {
namespace func {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

struct CRESSET_API ValueAndTangent {
  Tensors value, tangent;
};
// The value of `f` at `primals`, and its derivative along `tangents`, zeros where a result does not depend on the primals.
// Errors: as many tangents as primals are expected, of their shapes.
CRESSET_API ValueAndTangent jvp(const Function& f, const Tensors& primals, const Tensors& tangents);

struct CRESSET_API ValueAndPullback {
  Tensors value;
  // Products of the Jacobian with vectors, which are like the results: one for each primal.
  Function pullback;
};
CRESSET_API ValueAndPullback vjp(const Function& f, const Tensors& primals);

struct CRESSET_API GradientAndValue {
  Tensors gradient;
  Tensor value;
};
// Of a function whose only result is one number. Errors: another result.
CRESSET_API GradientAndValue grad_and_value(const Function& f, const Tensors& primals);
CRESSET_API Tensors grad(const Function& f, const Tensors& primals);

struct CRESSET_API ValueAndDerivative {
  Tensors value;
  // The derivatives of the results along tangents, one for each primal. The function itself is not run again.
  Function derivative;
};
CRESSET_API ValueAndDerivative linearize(const Function& f, const Tensors& primals);

// Jacobians of a function with one result, by each primal, of shape result + primal: in reverse mode with a pass for each number of
// the result, in forward mode for each number of the primals; `chunk_size` of them, or all (0), run as one batch. Errors: several
// results.
CRESSET_API Tensors jacrev(const Function& f, const Tensors& primals, int64_t chunk_size = 0);
CRESSET_API Tensors jacfwd(const Function& f, const Tensors& primals, int64_t chunk_size = 0);
// Second derivatives of a function whose only result is one number: [i][j] by primal i and primal j.
CRESSET_API std::vector<Tensors> hessian(const Function& f, const Tensors& primals);
// The value of such a function, and its Hessian times `vectors`, or `vectors` times its Hessian (the same where it is symmetric; in reverse mode twice),
// without the Hessian itself. Errors: as many vectors as primals are expected, of their shapes.
CRESSET_API ValueAndTangent hvp(const Function& f, const Tensors& primals, const Tensors& vectors);
CRESSET_API ValueAndTangent vhp(const Function& f, const Tensors& primals, const Tensors& vectors);

}  // namespace func
}  // namespace cresset
