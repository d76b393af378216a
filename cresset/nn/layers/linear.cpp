#include "cresset/nn/layers/linear.h"

#include <cmath>
#include <ostream>
#include <utility>

#include "cresset/nn/utils/init.h"

namespace cresset::nn {

void IdentityImpl::reset() {}
void IdentityImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::Identity()"; }
Tensor IdentityImpl::forward(const Tensor& input) { return input; }

LinearImpl::LinearImpl(const LinearOptions& o) : options(o) { LinearImpl::reset(); }

void LinearImpl::reset() {
  weight = register_parameter("weight", empty({options.out_features(), options.in_features()}));
  bias = register_parameter("bias", options.bias() ? empty(options.out_features()) : Tensor(), options.bias());
  reset_parameters();
}

void LinearImpl::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (bias.defined()) detail::init_bias_from_fan_in(bias, weight);
}

void LinearImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "torch::nn::Linear(in_features=" << options.in_features() << ", out_features=" << options.out_features()
         << ", bias=" << options.bias() << ")";
}

Tensor LinearImpl::forward(const Tensor& input) { return cresset::linear(input, weight, bias); }

BilinearImpl::BilinearImpl(const BilinearOptions& o) : options(o) { BilinearImpl::reset(); }

void BilinearImpl::reset() {
  weight = register_parameter("weight", empty({options.out_features(), options.in1_features(), options.in2_features()}));
  bias = register_parameter("bias", options.bias() ? empty(options.out_features()) : Tensor(), options.bias());
  reset_parameters();
}

void BilinearImpl::reset_parameters() {
  const double bound = 1.0 / std::sqrt(static_cast<double>(weight.size(1)));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}

void BilinearImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "torch::nn::Bilinear(in1_features=" << options.in1_features() << ", in2_features=" << options.in2_features()
         << ", out_features=" << options.out_features() << ", bias=" << options.bias() << ")";
}

Tensor BilinearImpl::forward(const Tensor& input1, const Tensor& input2) { return functional::bilinear(input1, input2, weight, bias); }

void FlattenImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::Flatten(start_dim=" << options.start_dim() << ", end_dim=" << options.end_dim() << ")";
}
Tensor FlattenImpl::forward(const Tensor& input) { return input.flatten(options.start_dim(), options.end_dim()); }

void UnflattenImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::Unflatten(dim=";
  const char* between = "";
  if (options.namedshape().empty()) {
    stream << options.dim() << ", unflattened_size={";
    for (int64_t size : options.sizes()) stream << std::exchange(between, ", ") << size;
  } else {
    stream << '"' << options.dimname() << "\", unflattened_size={";
    for (const auto& [name, size] : options.namedshape()) stream << std::exchange(between, ", ") << "{\"" << name << "\", " << size << "}";
  }
  stream << "})";
}
Tensor UnflattenImpl::forward(const Tensor& input) {
  CRESSET_CHECK_NOT_IMPLEMENTED(options.namedshape().empty(), "Unflatten: tensors have no named dimensions, got '", options.dimname(),
                                "'; give the dimension as a number");
  return input.unflatten(options.dim(), options.sizes());
}

namespace functional {

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) { return cresset::linear(input, weight, bias); }

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  const auto type = [](const Tensor& t) { return t.dtype().name(); };
  CRESSET_CHECK(input1.dtype() == input2.dtype() && input1.dtype() == weight.dtype(),
                "bilinear: All tensors must have the same dtype, got input1: ", std::string(type(input1)), ", input2: ", std::string(type(input2)),
                ", weight: ", std::string(type(weight)));
  CRESSET_CHECK(weight.dim() == 3, "bilinear: weight must have 3 dimensions, got shape ", weight.sizes());
  CRESSET_CHECK(input1.dim() == input2.dim() && input1.dim() > 0, "bilinear: inputs must have the same number of dimensions, got shapes ", input1.sizes(),
                " and ", input2.sizes());
  CRESSET_CHECK(input1.size(-1) == weight.size(1) && input2.size(-1) == weight.size(2), "bilinear: the last sizes of the inputs must be ", weight.size(1),
                " and ", weight.size(2), ", got shapes ", input1.sizes(), " and ", input2.sizes());
  return cresset::bilinear(input1, input2, weight, bias);
}

}  // namespace functional
}  // namespace cresset::nn
