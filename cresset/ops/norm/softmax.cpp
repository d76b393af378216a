// Softmax, log-softmax and negative log-likelihood over kernels/norm/softmax.h and kernels/training/loss.h.

#include "cresset/kernels/norm/softmax.h"
#include "cresset/kernels/training/loss.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

struct Split {
  int64_t outer = 1, dim = 1, inner = 1;
};

Split split_at(const Tensor& t, int64_t dim) {
  Split s;
  if (t.dim() == 0) return s;
  const int64_t d = wrap_dim(dim, t.dim());
  for (int64_t i = 0; i < d; i++) s.outer *= t.size(i);
  s.dim = t.size(d);
  for (int64_t i = d + 1; i < t.dim(); i++) s.inner *= t.size(i);
  return s;
}

OutSpec softmax_spec(const char* op, const Tensor& self, int64_t dim) {
  wrap_dim(dim, self.dim());
  CRESSET_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), op, ": not implemented for dtype ", self.scalar_type());
  return {DimVector(self.sizes()), self.scalar_type(), self.device()};
}

using Forward = void (*)(const char*, char*, ScalarType, int64_t, int64_t, int64_t);
using Backward = void (*)(const char*, const char*, char*, ScalarType, int64_t, int64_t, int64_t);

void run(Forward kernel, const Tensor& self, int64_t dim, const Tensor& out) {
  const Tensor x = self.contiguous();
  const Split s = split_at(x, dim);
  if (out.numel() > 0) kernel(static_cast<const char*>(x.data_ptr()), static_cast<char*>(out.data_ptr()), out.scalar_type(), s.outer, s.dim, s.inner);
}

void run(Backward kernel, const Tensor& grad, const Tensor& output, int64_t dim, const Tensor& out) {
  const Tensor dy = grad.contiguous(), y = output.contiguous();
  const Split s = split_at(y, dim);
  if (out.numel() > 0)
    kernel(static_cast<const char*>(dy.data_ptr()), static_cast<const char*>(y.data_ptr()), static_cast<char*>(out.data_ptr()), out.scalar_type(), s.outer,
           s.dim, s.inner);
}

struct Classes {
  int64_t n = 1, classes = 1, spatial = 1;
};

Classes classes_of(const Tensor& self) {
  Classes c;
  c.classes = self.dim() == 1 ? self.size(0) : self.size(1);
  if (self.dim() > 1) c.n = self.size(0);
  for (int64_t d = 2; d < self.dim(); d++) c.spatial *= self.size(d);
  return c;
}

void check_nll(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction) {
  CRESSET_CHECK_VALUE(self.dim() >= 1, "nll_loss: expected input with at least 1 dimension, got a 0-dim tensor");
  CRESSET_CHECK(reduction >= 0 && reduction <= 2, "nll_loss: reduction must be 0 (none), 1 (mean) or 2 (sum), got ", reduction);
  CRESSET_CHECK(target.scalar_type() == kLong || target.scalar_type() == kByte, "nll_loss: expected target dtype int64 or uint8, got ", target.scalar_type());
  DimVector expected;
  for (int64_t d = 0; d < self.dim(); d++)
    if (d != (self.dim() == 1 ? 0 : 1)) expected.push_back(self.size(d));
  // One row may come with a list of one target.
  if (self.dim() == 1 && target.dim() == 1) expected.push_back(1);
  if (self.dim() > 2 && target.dim() == self.dim() - 1 && target.size(0) == self.size(0))
    CRESSET_CHECK(target.sizes() == IntArrayRef(expected), "nll_loss: expected a target of shape ", expected, " for input of shape ", self.sizes(), ", got ",
                  target.sizes());
  CRESSET_CHECK_VALUE(target.dim() == static_cast<int64_t>(expected.size()) && target.sizes() == IntArrayRef(expected), "nll_loss: expected a target of shape ",
                      expected, " for input of shape ", self.sizes(), ", got ", target.sizes());
  const Classes c = classes_of(self);
  if (weight && weight->defined())
    CRESSET_CHECK(weight->dim() == 1 && weight->numel() == c.classes && weight->scalar_type() == self.scalar_type(),
                  "nll_loss: weight must be defined for all ", c.classes, " classes or no classes and have dtype ", self.scalar_type(), ", got ", *weight);
}

}  // namespace

namespace meta {

OutSpec softmax(const Tensor& self, int64_t dim) { return softmax_spec("softmax", self, dim); }
OutSpec log_softmax(const Tensor& self, int64_t dim) { return softmax_spec("log_softmax", self, dim); }
OutSpec softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, ScalarType input_dtype) {
  CRESSET_CHECK(grad_output.scalar_type() == output.scalar_type() && output.scalar_type() == input_dtype,
                "softmax_backward: expected grad_output and output of the input's dtype ", input_dtype, ", got ", grad_output.scalar_type(), " and ",
                output.scalar_type());
  CRESSET_CHECK(grad_output.sizes() == output.sizes(), "softmax_backward: shapes ", grad_output.sizes(), " and ", output.sizes(), " differ");
  return softmax_spec("softmax_backward", output, dim);
}
OutSpec log_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, ScalarType input_dtype) {
  return softmax_backward_data(grad_output, output, dim, input_dtype);
}

OutSpecs nll_loss_forward(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t) {
  check_nll(self, target, weight, reduction);
  CRESSET_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "nll_loss: not implemented for dtype ", self.scalar_type());
  DimVector shape;
  if (reduction == 0) shape = target.sizes();
  return {OutSpec{shape, self.scalar_type(), self.device()}, OutSpec{{}, self.scalar_type(), self.device()}};
}

OutSpec nll_loss_backward(const Tensor&, const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t,
                          const Tensor&) {
  check_nll(self, target, weight, reduction);
  return {DimVector(self.sizes()), self.scalar_type(), self.device()};
}

OutSpecs _cross_entropy(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t, double) {
  check_nll(self, target, weight, reduction);
  CRESSET_CHECK_NOT_IMPLEMENTED(self.is_floating_point() && self.dim() == 2, "_cross_entropy: expected a floating-point matrix, got ", self.scalar_type(),
                                " of shape ", self.sizes());
  DimVector shape;
  if (reduction == 0) shape = target.sizes();
  return {OutSpec{shape, self.scalar_type(), self.device()}, OutSpec{{}, self.scalar_type(), self.device()},
          OutSpec{{self.size(0)}, self.scalar_type() == kDouble ? kDouble : kFloat, self.device()}};
}

OutSpec _cross_entropy_backward(const Tensor&, const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, const Tensor&, const Tensor&,
                                int64_t reduction, int64_t, double) {
  check_nll(self, target, weight, reduction);
  return {DimVector(self.sizes()), self.scalar_type(), self.device()};
}

}  // namespace meta

namespace cpu {

void softmax(const Tensor& self, int64_t dim, const Tensor& out) { run(kernels::softmax, self, dim, out); }
void log_softmax(const Tensor& self, int64_t dim, const Tensor& out) { run(kernels::log_softmax, self, dim, out); }
void softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, ScalarType, const Tensor& out) {
  run(kernels::softmax_backward, grad_output, output, dim, out);
}
void log_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, ScalarType, const Tensor& out) {
  run(kernels::log_softmax_backward, grad_output, output, dim, out);
}

void nll_loss_forward(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index,
                      const Tensor& output, const Tensor& total_weight) {
  const Tensor x = self.contiguous(), t = target.to(kLong).contiguous(), w = weight && weight->defined() ? weight->contiguous() : Tensor();
  const Classes c = classes_of(self);
  kernels::NllLossArgs args;
  args.x = static_cast<const char*>(x.data_ptr());
  args.target = static_cast<const int64_t*>(t.data_ptr());
  args.weight = w.defined() ? static_cast<const char*>(w.data_ptr()) : nullptr;
  args.out = static_cast<char*>(output.data_ptr());
  args.total_weight = static_cast<char*>(total_weight.data_ptr());
  args.dtype = self.scalar_type();
  args.n = c.n;
  args.classes = c.classes;
  args.spatial = c.spatial;
  args.ignore_index = ignore_index;
  args.reduction = static_cast<kernels::Reduction>(reduction);
  kernels::nll_loss(args);
}

void nll_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction,
                       int64_t ignore_index, const Tensor& total_weight, const Tensor& out) {
  const Tensor dy = grad_output.contiguous(), t = target.to(kLong).contiguous(), w = weight && weight->defined() ? weight->contiguous() : Tensor();
  const Classes c = classes_of(self);
  kernels::NllLossBackwardArgs args;
  args.dy = static_cast<const char*>(dy.data_ptr());
  args.target = static_cast<const int64_t*>(t.data_ptr());
  args.weight = w.defined() ? static_cast<const char*>(w.data_ptr()) : nullptr;
  args.total_weight = static_cast<const char*>(total_weight.data_ptr());
  args.dx = static_cast<char*>(out.data_ptr());
  args.dtype = self.scalar_type();
  args.n = c.n;
  args.classes = c.classes;
  args.spatial = c.spatial;
  args.ignore_index = ignore_index;
  args.reduction = static_cast<kernels::Reduction>(reduction);
  kernels::nll_loss_backward(args);
}

void _cross_entropy(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index,
                    double label_smoothing, const Tensor& output, const Tensor& total_weight, const Tensor& logsumexp) {
  const Tensor x = self.contiguous(), t = target.to(kLong).contiguous(), w = weight && weight->defined() ? weight->contiguous() : Tensor();
  kernels::CrossEntropyArgs args;
  args.x = static_cast<const char*>(x.data_ptr());
  args.target = static_cast<const int64_t*>(t.data_ptr());
  args.weight = w.defined() ? static_cast<const char*>(w.data_ptr()) : nullptr;
  args.out = static_cast<char*>(output.data_ptr());
  args.total_weight = static_cast<char*>(total_weight.data_ptr());
  args.lse = static_cast<char*>(logsumexp.data_ptr());
  args.dtype = self.scalar_type();
  args.n = self.size(0);
  args.classes = self.size(1);
  args.ignore_index = ignore_index;
  args.label_smoothing = label_smoothing;
  args.reduction = static_cast<kernels::Reduction>(reduction);
  kernels::cross_entropy(args);
}

void _cross_entropy_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                             const Tensor& total_weight, const Tensor& logsumexp, int64_t reduction, int64_t ignore_index, double label_smoothing,
                             const Tensor& out) {
  const Tensor dy = grad_output.contiguous(), x = self.contiguous(), t = target.to(kLong).contiguous(), lse = logsumexp.contiguous(),
               w = weight && weight->defined() ? weight->contiguous() : Tensor();
  kernels::CrossEntropyBackwardArgs args;
  args.dy = static_cast<const char*>(dy.data_ptr());
  args.x = static_cast<const char*>(x.data_ptr());
  args.lse = static_cast<const char*>(lse.data_ptr());
  args.target = static_cast<const int64_t*>(t.data_ptr());
  args.weight = w.defined() ? static_cast<const char*>(w.data_ptr()) : nullptr;
  args.total_weight = static_cast<const char*>(total_weight.data_ptr());
  args.dx = static_cast<char*>(out.data_ptr());
  args.dtype = self.scalar_type();
  args.n = self.size(0);
  args.classes = self.size(1);
  args.ignore_index = ignore_index;
  args.label_smoothing = label_smoothing;
  args.reduction = static_cast<kernels::Reduction>(reduction);
  kernels::cross_entropy_backward(args);
}

}  // namespace cpu

namespace composite {

Tensor softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const ScalarType t = dtype.value_or(is_integral_type(self.scalar_type(), true) ? get_default_dtype() : self.scalar_type());
  return cresset::_softmax(self.scalar_type() == t ? self : self.to(t), dim);
}
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const ScalarType t = dtype.value_or(is_integral_type(self.scalar_type(), true) ? get_default_dtype() : self.scalar_type());
  return cresset::_log_softmax(self.scalar_type() == t ? self : self.to(t), dim);
}
Tensor softmin(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) { return cresset::softmax(self.neg(), dim, dtype); }

Tensor nll_loss_nd(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index) {
  return std::get<0>(cresset::nll_loss_forward(self, target, weight, reduction, ignore_index));
}
Tensor nll_loss(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index) {
  return cresset::nll_loss_nd(self, target, weight, reduction, ignore_index);
}
Tensor nll_loss2d(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index) {
  return cresset::nll_loss_nd(self, target, weight, reduction, ignore_index);
}

}  // namespace composite

}  // namespace cresset::ops
