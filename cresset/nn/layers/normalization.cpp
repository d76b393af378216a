#include "cresset/nn/layers/normalization.h"

#include <ostream>

#include "cresset/nn/utils/init.h"

namespace cresset::nn {

template <size_t D, class Derived, class Options> void NormImplBase<D, Derived, Options>::reset() {
  if (options.affine()) {
    weight = this->register_parameter("weight", cresset::empty(options.num_features()));
    bias = this->register_parameter("bias", cresset::empty(options.num_features()));
  } else {
    weight = this->register_parameter("weight", Tensor(), false);
    bias = this->register_parameter("bias", Tensor(), false);
  }
  if (options.track_running_stats()) {
    running_mean = this->register_buffer("running_mean", cresset::zeros(options.num_features()));
    running_var = this->register_buffer("running_var", cresset::ones(options.num_features()));
    num_batches_tracked = this->register_buffer("num_batches_tracked", cresset::zeros({}, kLong));
  } else {
    running_mean = this->register_buffer("running_mean", Tensor());
    running_var = this->register_buffer("running_var", Tensor());
    num_batches_tracked = this->register_buffer("num_batches_tracked", Tensor());
  }
  reset_parameters();
}

template <size_t D, class Derived, class Options> void NormImplBase<D, Derived, Options>::reset_running_stats() {
  if (!options.track_running_stats()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}

template <size_t D, class Derived, class Options> void NormImplBase<D, Derived, Options>::reset_parameters() {
  reset_running_stats();
  if (!options.affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

namespace {
void print_momentum(std::ostream& stream, const std::optional<double>& momentum) {
  if (momentum) stream << *momentum;
  else stream << "None";
}
void print_momentum(std::ostream& stream, double momentum) { stream << momentum; }
}  // namespace

template <size_t D, class Derived, class Options> void NormImplBase<D, Derived, Options>::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "torch::nn::" << class_name() << "(" << options.num_features() << ", eps=" << options.eps() << ", momentum=";
  print_momentum(stream, options.momentum());
  stream << ", affine=" << options.affine() << ", track_running_stats=" << options.track_running_stats() << ")";
}

namespace {

Tensor norm_forward(const BatchNormOptions& options, const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                    const Tensor& running_var, Tensor& num_batches_tracked, bool training, int64_t) {
  double factor = options.momentum().value_or(0);
  if (training && options.track_running_stats() && num_batches_tracked.defined()) {
    num_batches_tracked.add_(1);
    if (!options.momentum()) factor = 1.0 / static_cast<double>(num_batches_tracked.item<int64_t>());
  }
  return cresset::batch_norm(input, weight, bias, running_mean, running_var, training || !running_mean.defined(), factor, options.eps(), false);
}

Tensor norm_forward(const InstanceNormOptions& options, const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                    const Tensor& running_var, Tensor&, bool training, int64_t batched_dim) {
  const bool batched = input.dim() == batched_dim;
  const Tensor out = cresset::instance_norm(batched ? input : input.unsqueeze(0), weight, bias, running_mean, running_var,
                                            training || !options.track_running_stats(), options.momentum(), options.eps(), false);
  return batched ? out : out.squeeze(0);
}

void check_dims(const char* name, const Tensor& input, int64_t low, int64_t high) {
  CRESSET_CHECK(input.dim() >= low && input.dim() <= high, name, ": number of dimensions of the input, got shape ", input.sizes(), ", expected ", low,
                low == high      ? ""
                : high - low > 1 ? " to "
                                 : " or ",
                low == high ? std::string() : std::to_string(high));
}

}  // namespace

template <size_t D, class Derived, class Options> Tensor NormImplBase<D, Derived, Options>::forward(const Tensor& input) {
  check_input(input);
  return norm_forward(options, input, weight, bias, running_mean, running_var, num_batches_tracked, this->is_training(), D + 2);
}

#define CRESSET_DEFINE_NORM(Kind, D, low, high)                                                                            \
  template class NormImplBase<D, Kind##Norm##D##dImpl, Kind##NormOptions>;                                                 \
  Kind##Norm##D##dImpl::Kind##Norm##D##dImpl(const Kind##NormOptions& o) : NormImplBase(o) {}                              \
  void Kind##Norm##D##dImpl::check_input(const Tensor& input) const { check_dims(#Kind "Norm" #D "d", input, low, high); } \
  const char* Kind##Norm##D##dImpl::class_name() const { return #Kind "Norm" #D "d"; }
CRESSET_DEFINE_NORM(Batch, 1, 2, 3)
CRESSET_DEFINE_NORM(Batch, 2, 4, 4)
CRESSET_DEFINE_NORM(Batch, 3, 5, 5)
CRESSET_DEFINE_NORM(Instance, 1, 2, 3)
CRESSET_DEFINE_NORM(Instance, 2, 3, 4)
CRESSET_DEFINE_NORM(Instance, 3, 4, 5)

LayerNormImpl::LayerNormImpl(LayerNormOptions o) : options(std::move(o)) { LayerNormImpl::reset(); }
void LayerNormImpl::reset() {
  weight = register_parameter("weight", options.elementwise_affine() ? cresset::empty(options.normalized_shape()) : Tensor(), options.elementwise_affine());
  bias = register_parameter("bias", options.elementwise_affine() ? cresset::empty(options.normalized_shape()) : Tensor(), options.elementwise_affine());
  reset_parameters();
}
void LayerNormImpl::reset_parameters() {
  if (!options.elementwise_affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}
void LayerNormImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "torch::nn::LayerNorm(";
  cresset::detail::print_list(stream, IntArrayRef(options.normalized_shape()));
  stream << ", eps=" << options.eps() << ", elementwise_affine=" << options.elementwise_affine() << ")";
}
Tensor LayerNormImpl::forward(const Tensor& input) { return cresset::layer_norm(input, options.normalized_shape(), weight, bias, options.eps()); }

GroupNormImpl::GroupNormImpl(const GroupNormOptions& o) : options(o) { GroupNormImpl::reset(); }
void GroupNormImpl::reset() {
  weight = register_parameter("weight", options.affine() ? cresset::empty(options.num_channels()) : Tensor(), options.affine());
  bias = register_parameter("bias", options.affine() ? cresset::empty(options.num_channels()) : Tensor(), options.affine());
  reset_parameters();
}
void GroupNormImpl::reset_parameters() {
  if (!options.affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}
void GroupNormImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "torch::nn::GroupNorm(" << options.num_groups() << ", " << options.num_channels() << ", eps=" << options.eps()
         << ", affine=" << options.affine() << ")";
}
Tensor GroupNormImpl::forward(const Tensor& input) { return cresset::group_norm(input, options.num_groups(), weight, bias, options.eps()); }

void LocalResponseNormImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::LocalResponseNorm(" << options.size() << ", alpha=" << options.alpha() << ", beta=" << options.beta() << ", k=" << options.k() << ")";
}
Tensor LocalResponseNormImpl::forward(const Tensor& input) { return functional::local_response_norm(input, options); }

namespace functional {

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const BatchNormFuncOptions& o) {
  return cresset::batch_norm(input, o.weight(), o.bias(), running_mean, running_var, o.training(), o.momentum().value_or(0), o.eps(), false);
}

Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& o) {
  return cresset::instance_norm(input, o.weight(), o.bias(), o.running_mean(), o.running_var(), o.use_input_stats(), o.momentum(), o.eps(), false);
}

Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& o) {
  return cresset::layer_norm(input, o.normalized_shape(), o.weight(), o.bias(), o.eps());
}

Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& o) { return cresset::group_norm(input, o.num_groups(), o.weight(), o.bias(), o.eps()); }

Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& o) {
  return cresset::_local_response_norm(input, o.size(), o.alpha(), o.beta(), o.k());
}

Tensor normalize(const Tensor& input, NormalizeFuncOptions o) {
  if (!o.out()) return cresset::_normalize(input, o.p(), o.dim(), o.eps());
  cresset::_normalize_out(*o.out(), input, o.p(), o.dim(), o.eps());
  return *o.out();
}

}  // namespace functional
}  // namespace cresset::nn
