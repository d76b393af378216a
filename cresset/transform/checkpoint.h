#pragma once
// Checkpointing: a part of a network whose intermediate values are not kept, but computed again in backward.
// (Python: torch.utils.checkpoint.)

#include "cresset/base/std_function.h"

#include "cresset/autograd/variable.h"

namespace cresset {
namespace utils {

// function(inputs), run again in backward under the random state and the mixed precision of now (preserve_rng_state = false: whatever
// random state there is then). Gradients of parameters that `function` uses are accumulated.
CRESSET_API autograd::variable_list checkpoint(std::function<autograd::variable_list(const autograd::variable_list&)> function,
                                               const autograd::variable_list& inputs, bool preserve_rng_state = true);
CRESSET_API Tensor checkpoint(std::function<Tensor(const Tensor&)> function, const Tensor& input, bool preserve_rng_state = true);
// The functions one after the other in `segments` parts, each but the last checkpointed.
CRESSET_API Tensor checkpoint_sequential(const std::vector<std::function<Tensor(const Tensor&)>>& functions, size_t segments, Tensor input,
                                         bool preserve_rng_state = true);

}  // namespace utils
}  // namespace cresset
