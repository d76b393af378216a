#pragma once
// The state of L-BFGS between steps, for programs that look at it.

#include <deque>
#include <optional>
#include <vector>

#include "cresset/base/function_ref.h"
#include "cresset/optim/lbfgs.h"

namespace cresset::optim {

struct CRESSET_API LBFGSParamState : public OptimizerCloneableParamState<LBFGSParamState> {
  CRESSET_ARG(int64_t, func_evals) = 0;
  CRESSET_ARG(int64_t, n_iter) = 0;
  CRESSET_ARG(double, t) = 0;
  CRESSET_ARG(double, prev_loss) = 0;
  CRESSET_ARG(Tensor, d) = {};
  CRESSET_ARG(Tensor, H_diag) = {};
  CRESSET_ARG(Tensor, prev_flat_grad) = {};
  CRESSET_ARG(std::deque<Tensor>, old_dirs);
  CRESSET_ARG(std::deque<Tensor>, old_stps);
  CRESSET_ARG(std::deque<Tensor>, ro);
  CRESSET_ARG(std::optional<std::vector<Tensor>>, al) = std::nullopt;

 public:
  void serialize(serialize::InputArchive& archive) override;
  void serialize(serialize::OutputArchive& archive) const override;
};

namespace detail {

// The iterations of one step() over all parameters as one vector, complex ones as pairs of real numbers. `evaluate` computes loss and
// gradients anew. `t_is_tensor` tells whether the last step's length came from gradients and not from the rate alone. Errors: an unknown
// line search.
CRESSET_API void lbfgs_step(const std::vector<Tensor>& params, LBFGSParamState& state, const LBFGSOptions& options, FunctionRef<double()> evaluate,
                            bool* t_is_tensor = nullptr);

}  // namespace detail
}  // namespace cresset::optim
