#pragma once
// Weights that are computed from other parameters before every call: by length and direction, or divided by their largest singular value.
// They run as hooks, so call the module by its holder or in a container. (Python: torch.nn.utils.weight_norm and spectral_norm.)

#include "cresset/nn/module/pimpl.h"

namespace cresset::nn::utils {

namespace detail {
// The norm over all dimensions but one, kept; over all for -1.
// v / max(|v|, eps).
Tensor normalized(const Tensor& v, double eps);
// `weight` is the module's parameter of that name, and its member.
CRESSET_API RemovableHandle weight_norm(Module& module, Tensor& weight, const std::string& name, int64_t dim);
CRESSET_API RemovableHandle spectral_norm(Module& module, Tensor& weight, const std::string& name, int64_t n_power_iterations, double eps, int64_t dim);
CRESSET_API void remove_norm(Module& module, Tensor& weight, const std::string& name, bool spectral, RemovableHandle& handle);
}  // namespace detail

// Splits module->weight into its length `weight_g`, for every index of `dim` (-1: one for all), and its direction `weight_v`.
// Keep the handle for remove_weight_norm. Errors: done twice.
template <class M> RemovableHandle weight_norm(ModuleHolder<M>& module, int64_t dim = 0) { return detail::weight_norm(*module, module->weight, "weight", dim); }
// Makes the weight an ordinary parameter again.
template <class M> void remove_weight_norm(ModuleHolder<M>& module, RemovableHandle& handle) {
  detail::remove_norm(*module, module->weight, "weight", false, handle);
}

// Divides module->weight, `weight_orig` from then on, by its largest singular value, followed by power iterations in training.
// Errors: done twice.
template <class M> RemovableHandle spectral_norm(ModuleHolder<M>& module, int64_t n_power_iterations = 1, double eps = 1e-12, int64_t dim = 0) {
  return detail::spectral_norm(*module, module->weight, "weight", n_power_iterations, eps, dim);
}
template <class M> void remove_spectral_norm(ModuleHolder<M>& module, RemovableHandle& handle) {
  detail::remove_norm(*module, module->weight, "weight", true, handle);
}

}  // namespace cresset::nn::utils
