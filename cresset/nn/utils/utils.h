#pragma once
// Helpers over lists of parameters.

#include <optional>
#include <vector>

#include "cresset/tensor.h"

namespace cresset::nn::utils {

// Scales all gradients so that their joint norm is at most max_norm, and returns the norm before.
// Errors: with error_if_nonfinite, a norm that is NaN or infinite.
CRESSET_API double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2.0, bool error_if_nonfinite = false);
CRESSET_API double clip_grad_norm_(Tensor parameter, double max_norm, double norm_type = 2.0, bool error_if_nonfinite = false);
// Clamps all gradients to [-clip_value, clip_value].
CRESSET_API void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
CRESSET_API void clip_grad_value_(Tensor parameter, double clip_value);

// All parameters as one vector, and back. Errors: parameters on different devices; a vector of another length.
CRESSET_API Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
CRESSET_API void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters);

}  // namespace cresset::nn::utils
