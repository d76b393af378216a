#include "cresset/nn/utils/reparametrize.h"

#include "cresset/ops/list_functions.h"

namespace cresset::nn::utils::detail {

Tensor normalized(const Tensor& v, double eps) { return _normalize(v, 2.0, 0, eps); }

namespace {

Tensor as_matrix(const Tensor& weight, int64_t dim) { return (dim ? weight.transpose(0, dim) : weight).reshape({weight.size(dim), -1}); }

Tensor find(const OrderedDict<std::string, Tensor>& tensors, const std::string& name) {
  const Tensor* found = tensors.find(name);
  return found ? *found : Tensor();
}

void check_fresh(Module& module, const Tensor& weight, const std::string& name) {
  CRESSET_CHECK(find(module.named_parameters(false), name).is_same(weight), "norm: '", name, "' of ", module.name(),
                " is no parameter, or is computed already");
}

Tensor length_times_direction(Module& module, const std::string& name, int64_t dim) {
  const auto parameters = module.named_parameters(false);
  const Tensor g = parameters[name + "_g"], v = parameters[name + "_v"];
  return _scaled_direction(g, v, dim);
}

}  // namespace

RemovableHandle weight_norm(Module& module, Tensor& weight, const std::string& name, int64_t dim) {
  check_fresh(module, weight, name);
  const Tensor value = weight.detach();
  module.unregister_parameter(name);
  module.register_parameter(name + "_g", _norm_except(value, dim));
  module.register_parameter(name + "_v", value);
  weight = length_times_direction(module, name, dim);
  return module.register_forward_pre_hook([place = &weight, name, dim](Module& m, std::vector<Tensor>&) { *place = length_times_direction(m, name, dim); });
}

RemovableHandle spectral_norm(Module& module, Tensor& weight, const std::string& name, int64_t n_power_iterations, double eps, int64_t dim) {
  CRESSET_CHECK_VALUE(n_power_iterations > 0, "spectral_norm: n_power_iterations must be positive, got ", n_power_iterations);
  check_fresh(module, weight, name);
  const Tensor own = weight, start = as_matrix(weight.detach(), dim);
  const Tensor first_u = normalized(empty({start.size(0)}, start.options()).normal_(), eps);
  const Tensor first_v = normalized(empty({start.size(1)}, start.options()).normal_(), eps);
  module.unregister_parameter(name);
  module.register_parameter(name + "_orig", own);
  weight = own.detach();
  module.register_buffer(name + "_u", first_u);
  module.register_buffer(name + "_v", first_v);
  return module.register_forward_pre_hook([place = &weight, name, n_power_iterations, eps, dim](Module& m, std::vector<Tensor>&) {
    const auto buffers = m.named_buffers(false);
    const Tensor own = m.named_parameters(false)[name + "_orig"], u = buffers[name + "_u"], v = buffers[name + "_v"];
    const Tensor matrix = as_matrix(own, dim);
    Tensor left = u, right = v;
    if (m.is_training()) {
      NoGradGuard guard;
      _power_iteration_(right, left, cresset::adjoint(matrix), n_power_iterations, eps);
      left = u.clone();
      right = v.clone();
    }
    *place = _over_spectral_norm(own, matrix, left, right);
  });
}

void remove_norm(Module& module, Tensor& weight, const std::string& name, bool spectral, RemovableHandle& handle) {
  const std::string parameter = name + (spectral ? "_orig" : "_v");
  CRESSET_CHECK_VALUE(find(module.named_parameters(false), parameter).defined(), "norm: '", name, "' of ", module.name(), " is an ordinary parameter");
  Tensor value = weight.detach().clone();
  if (spectral) {
    const auto parameters = module.named_parameters(false);
    const auto buffers = module.named_buffers(false);
    const Tensor own = parameters[parameter].detach();
    const int64_t dim = own.size(0) == buffers[name + "_u"].numel() ? 0 : 1;
    value = _over_spectral_norm(own, as_matrix(own, dim), buffers[name + "_u"], buffers[name + "_v"]);
    module.unregister_buffer(name + "_u");
    module.unregister_buffer(name + "_v");
  } else {
    module.unregister_parameter(name + "_g");
  }
  handle.remove();
  module.unregister_parameter(parameter);
  weight = module.register_parameter(name, value);
}

}  // namespace cresset::nn::utils::detail
