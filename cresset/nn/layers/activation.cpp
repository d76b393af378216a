#include "cresset/nn/layers/activation.h"

#include <ostream>

namespace cresset::nn {

namespace functional {

Tensor elu(Tensor input, const ELUFuncOptions& o) { return o.inplace() ? cresset::elu_(input, o.alpha()) : cresset::elu(input, o.alpha()); }
Tensor selu(Tensor input, const SELUFuncOptions& o) { return o.inplace() ? cresset::selu_(input) : cresset::selu(input); }
Tensor glu(const Tensor& input, const GLUFuncOptions& o) {
  CRESSET_CHECK(input.dim() != 0, "glu: 0-dimensional tensors have no dimension to halve");
  return cresset::glu(input, o.dim());
}
Tensor gelu(const Tensor& input, const GELUFuncOptions& o) { return cresset::gelu(input, o.approximate()); }
Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& o) { return cresset::hardshrink(input, o.lambda()); }
Tensor hardtanh(Tensor input, const HardtanhFuncOptions& o) {
  return o.inplace() ? cresset::hardtanh_(input, o.min_val(), o.max_val()) : cresset::hardtanh(input, o.min_val(), o.max_val());
}
Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& o) {
  return o.inplace() ? cresset::leaky_relu_(input, o.negative_slope()) : cresset::leaky_relu(input, o.negative_slope());
}
Tensor logsigmoid(const Tensor& input) { return cresset::log_sigmoid(input); }

Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& o) { return cresset::_gumbel_softmax(logits, o.tau(), o.hard(), o.dim()); }

Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& o) { return cresset::softmax(input, o.dim(), o.dtype()); }
Tensor softmin(const Tensor& input, const SoftminFuncOptions& o) { return cresset::softmax(-input, o.dim(), o.dtype()); }
Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& o) { return cresset::log_softmax(input, o.dim(), o.dtype()); }
Tensor prelu(const Tensor& input, const Tensor& weight) { return cresset::prelu(input, weight); }
Tensor relu(Tensor input, const ReLUFuncOptions& o) { return o.inplace() ? cresset::relu_(input) : cresset::relu(input); }
Tensor relu6(Tensor input, const ReLU6FuncOptions& o) { return o.inplace() ? cresset::relu6_(input) : cresset::relu6(input); }
Tensor rrelu(Tensor input, const RReLUFuncOptions& o) {
  return o.inplace() ? cresset::rrelu_(input, o.lower(), o.upper(), o.training()) : cresset::rrelu(input, o.lower(), o.upper(), o.training());
}
Tensor celu(Tensor input, const CELUFuncOptions& o) { return o.inplace() ? cresset::celu_(input, o.alpha()) : cresset::celu(input, o.alpha()); }
Tensor silu(const Tensor& input) { return cresset::silu(input); }
Tensor mish(const Tensor& input) { return cresset::mish(input); }
Tensor softplus(const Tensor& input, const SoftplusFuncOptions& o) { return cresset::softplus(input, o.beta(), o.threshold()); }
Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& o) { return cresset::softshrink(input, o.lambda()); }
Tensor softsign(const Tensor& input) { return cresset::softsign(input); }
Tensor tanhshrink(const Tensor& input) { return cresset::tanhshrink(input); }
Tensor threshold(Tensor input, const ThresholdFuncOptions& o) {
  return o.inplace() ? cresset::threshold_(input, o.threshold(), o.value()) : cresset::threshold(input, o.threshold(), o.value());
}

}  // namespace functional

#define CRESSET_PRINT(Name, ...) \
  void Name##Impl::pretty_print(std::ostream& stream) const { stream << std::boolalpha << "torch::nn::" #Name "(" __VA_ARGS__ << ")"; }
#define CRESSET_PRINT_INPLACE(Name) \
  void Name##Impl::pretty_print(std::ostream& stream) const { stream << "torch::nn::" #Name "(" << (options.inplace() ? "inplace=true" : "") << ")"; }

Tensor ELUImpl::forward(Tensor input) { return functional::elu(std::move(input), options); }
CRESSET_PRINT(ELU, "alpha=" << options.alpha() << (options.inplace() ? ", inplace=true" : ""))
Tensor SELUImpl::forward(Tensor input) { return functional::selu(std::move(input), options); }
CRESSET_PRINT_INPLACE(SELU)
Tensor GLUImpl::forward(Tensor input) { return functional::glu(input, options); }
CRESSET_PRINT(GLU, "dim=" << options.dim())
Tensor GELUImpl::forward(Tensor input) { return functional::gelu(input, options); }
CRESSET_PRINT(GELU, )
Tensor HardshrinkImpl::forward(Tensor input) { return functional::hardshrink(input, options); }
CRESSET_PRINT(Hardshrink, << options.lambda())
HardtanhImpl::HardtanhImpl(const HardtanhOptions& o) : OptionsLayer(o) { HardtanhImpl::reset(); }
void HardtanhImpl::reset() {
  CRESSET_CHECK_VALUE(options.min_val() < options.max_val(), "Hardtanh: max_val must be greater than min_val, got ", options.max_val(), " and ",
                      options.min_val());
}
Tensor HardtanhImpl::forward(Tensor input) { return functional::hardtanh(std::move(input), options); }
CRESSET_PRINT(Hardtanh, "min_val=" << options.min_val() << ", max_val=" << options.max_val() << (options.inplace() ? ", inplace=true" : ""))
Tensor LeakyReLUImpl::forward(Tensor input) { return functional::leaky_relu(std::move(input), options); }
CRESSET_PRINT(LeakyReLU, "negative_slope=" << options.negative_slope() << (options.inplace() ? ", inplace=true" : ""))
Tensor ReLUImpl::forward(Tensor input) { return options.inplace() ? cresset::relu_(input) : cresset::relu(input); }
CRESSET_PRINT_INPLACE(ReLU)
Tensor ReLU6Impl::forward(Tensor input) { return functional::relu6(std::move(input), options); }
CRESSET_PRINT_INPLACE(ReLU6)
Tensor RReLUImpl::forward(Tensor input) {
  return functional::rrelu(std::move(input),
                           functional::RReLUFuncOptions().lower(options.lower()).upper(options.upper()).training(is_training()).inplace(options.inplace()));
}
CRESSET_PRINT(RReLU, "lower=" << options.lower() << ", upper=" << options.upper() << (options.inplace() ? ", inplace=true" : ""))
Tensor CELUImpl::forward(Tensor input) { return functional::celu(std::move(input), options); }
CRESSET_PRINT(CELU, "alpha=" << options.alpha() << (options.inplace() ? ", inplace=true" : ""))
Tensor SoftplusImpl::forward(Tensor input) { return functional::softplus(input, options); }
CRESSET_PRINT(Softplus, "beta=" << options.beta() << ", threshold=" << options.threshold())
Tensor SoftshrinkImpl::forward(Tensor input) { return functional::softshrink(input, options); }
CRESSET_PRINT(Softshrink, << options.lambda())
Tensor ThresholdImpl::forward(Tensor input) { return functional::threshold(std::move(input), options); }
CRESSET_PRINT(Threshold, "threshold=" << options.threshold() << ", value=" << options.value() << (options.inplace() ? ", inplace=true" : ""))

Tensor LogSigmoidImpl::forward(const Tensor& input) { return functional::logsigmoid(input); }
CRESSET_PRINT(LogSigmoid, )
Tensor SiLUImpl::forward(const Tensor& input) { return cresset::silu(input); }
CRESSET_PRINT(SiLU, )
Tensor MishImpl::forward(const Tensor& input) { return cresset::mish(input); }
CRESSET_PRINT(Mish, )
Tensor SigmoidImpl::forward(const Tensor& input) { return input.sigmoid(); }
CRESSET_PRINT(Sigmoid, )
Tensor SoftsignImpl::forward(const Tensor& input) { return functional::softsign(input); }
CRESSET_PRINT(Softsign, )
Tensor TanhImpl::forward(const Tensor& input) { return input.tanh(); }
CRESSET_PRINT(Tanh, )
Tensor TanhshrinkImpl::forward(const Tensor& input) { return functional::tanhshrink(input); }
CRESSET_PRINT(Tanhshrink, )
Tensor Softmax2dImpl::forward(const Tensor& input) {
  CRESSET_CHECK(input.dim() == 4 || input.dim() == 3, "Softmax2d: input must have 3 or 4 dimensions, got shape ", input.sizes());
  return cresset::softmax(input, -3);
}
CRESSET_PRINT(Softmax2d, )

Tensor SoftmaxImpl::forward(const Tensor& input) { return cresset::softmax(input, options.dim()); }
CRESSET_PRINT(Softmax, "dim=" << options.dim())
Tensor SoftminImpl::forward(const Tensor& input) { return cresset::softmax(-input, options.dim()); }
CRESSET_PRINT(Softmin, "dim=" << options.dim())
Tensor LogSoftmaxImpl::forward(const Tensor& input) { return cresset::log_softmax(input, options.dim()); }
CRESSET_PRINT(LogSoftmax, "dim=" << options.dim())

PReLUImpl::PReLUImpl(const PReLUOptions& o) : options(o) { PReLUImpl::reset(); }
void PReLUImpl::reset() { weight = register_parameter("weight", cresset::empty(options.num_parameters()).fill_(options.init())); }
Tensor PReLUImpl::forward(const Tensor& input) { return cresset::prelu(input, weight); }
CRESSET_PRINT(PReLU, "num_parameters=" << options.num_parameters())

}  // namespace cresset::nn
