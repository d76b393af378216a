// Batch, layer, group and instance norm over kernels/norm/norm.h.

#include "cresset/kernels/norm/norm.h"

#include "cresset/dispatch/listen.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/operands.h"

namespace cresset::ops {

namespace {

using OptionalTensor = std::optional<Tensor>;

Tensor dense(const OptionalTensor& t) { return given(t) ? t->contiguous() : Tensor(); }
const char* in(const Tensor& t) { return t.defined() ? static_cast<const char*>(t.data_ptr()) : nullptr; }
char* out_of(const Tensor& t) { return t.defined() ? static_cast<char*>(t.data_ptr()) : nullptr; }

// Statistics of half and bfloat16 inputs are computed in float32.
ScalarType stat_dtype(ScalarType t) { return t == kHalf || t == kBFloat16 ? kFloat : t; }
// They are saved in the parameters' dtype, without parameters in the input's.
ScalarType saved_dtype(const Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias, const OptionalTensor& running = {}) {
  return given(weight) ? weight->scalar_type() : given(bias) ? bias->scalar_type() : given(running) ? running->scalar_type() : x.scalar_type();
}
// Where the kernel writes a saved statistic: in place if that has the dtype of the computation.
Tensor computed(const Tensor& saved, ScalarType t) { return saved.scalar_type() == t ? saved : cresset::empty(saved.sizes(), saved.options().dtype(t)); }
void save(const Tensor& saved, const Tensor& from) {
  if (!from.is_same(saved)) overwrite(saved, from);
}

kernels::NormDtypes dtypes_of(const Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias) {
  kernels::NormDtypes d;
  d.x = x.scalar_type();
  d.param = given(weight) ? weight->scalar_type() : given(bias) ? bias->scalar_type() : x.scalar_type();
  d.stat = stat_dtype(x.scalar_type());
  return d;
}

void check_float(const char* op, const Tensor& x) { CRESSET_CHECK_NOT_IMPLEMENTED(x.is_floating_point(), op, ": not implemented for dtype ", x.scalar_type()); }

void check_channels(const char* op, const char* what, const OptionalTensor& t, int64_t channels) {
  CRESSET_CHECK(!given(t) || t->numel() == channels, op, ": ", what, " should contain ", channels, " elements, got ", given(t) ? t->numel() : 0);
}

// (N, C, spatial) of an input with channels second.
struct Planes {
  int64_t n = 1, channels = 1, spatial = 1;
};
Planes planes_of(const Tensor& x) {
  Planes p;
  p.n = x.size(0);
  p.channels = x.size(1);
  for (int64_t d = 2; d < x.dim(); d++) p.spatial *= x.size(d);
  return p;
}

struct Rows {
  int64_t rows = 1, cols = 1;
};
Rows rows_of(const char* op, const Tensor& x, IntArrayRef normalized_shape, const OptionalTensor& weight, const OptionalTensor& bias) {
  CRESSET_CHECK(!normalized_shape.empty(), op, ": expected normalized_shape to be at least 1-dimensional");
  const int64_t n = static_cast<int64_t>(normalized_shape.size());
  CRESSET_CHECK(x.dim() >= n && x.sizes().slice(static_cast<size_t>(x.dim() - n)) == normalized_shape, op, ": given normalized_shape=", normalized_shape,
                ", expected input with shape [*, ", normalized_shape, "], got input of size ", x.sizes());
  CRESSET_CHECK(!given(weight) || weight->sizes() == normalized_shape, op, ": expected weight of shape ", normalized_shape, ", got ",
                given(weight) ? weight->sizes() : IntArrayRef());
  CRESSET_CHECK(!given(bias) || bias->sizes() == normalized_shape, op, ": expected bias of shape ", normalized_shape, ", got ",
                given(bias) ? bias->sizes() : IntArrayRef());
  Rows r;
  for (int64_t d = 0; d < x.dim(); d++) (d < x.dim() - n ? r.rows : r.cols) *= x.size(d);
  return r;
}

OutSpec image_like(const Tensor& t) { return {DimVector(t.sizes()), t.scalar_type(), t.device(), format_strides(t, t.sizes())}; }

// As image_like, but strides of dimensions of size 1 do not count: dense in the default order, else dense with the channels last.
OutSpec dense_like(const Tensor& t) {
  if (t.is_contiguous()) return like(t);
  for (const MemoryFormat format : {MemoryFormat::ChannelsLast3d, MemoryFormat::ChannelsLast})
    if (t.is_contiguous(format)) return {DimVector(t.sizes()), t.scalar_type(), t.device(), strides_for(t.sizes(), format)};
  return image_like(t);
}

DimVector leading(const Tensor& x, size_t normalized) {
  DimVector s(x.sizes());
  for (size_t d = s.size() - normalized; d < s.size(); d++) s[d] = 1;
  return s;
}

}  // namespace

namespace meta {

OutSpecs native_layer_norm(const Tensor& input, IntArrayRef normalized_shape, const OptionalTensor& weight, const OptionalTensor& bias, double) {
  check_float("layer_norm", input);
  rows_of("layer_norm", input, normalized_shape, weight, bias);
  const OutSpec stat{leading(input, normalized_shape.size()), saved_dtype(input, weight, bias), input.device()};
  return {like(input), stat, stat};
}

OutSpecs native_layer_norm_backward(const Tensor&, const Tensor& input, IntArrayRef normalized_shape, const Tensor&, const Tensor&,
                                    const OptionalTensor& weight) {
  const OutSpec param{DimVector(normalized_shape), given(weight) ? weight->scalar_type() : input.scalar_type(), input.device()};
  return {like(input), param, param};
}

OutSpecs native_group_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias, int64_t n, int64_t channels, int64_t spatial,
                           int64_t groups, double) {
  check_float("group_norm", input);
  CRESSET_CHECK(input.dim() >= 2, "group_norm: expected at least 2 dimensions, got shape ", input.sizes());
  CRESSET_CHECK(groups > 0 && input.size(1) % groups == 0, "group_norm: expected channels that num_groups divides, got ", input.size(1),
                " channels and num_groups=", groups);
  check_channels("group_norm", "weight", weight, input.size(1));
  check_channels("group_norm", "bias", bias, input.size(1));
  const Planes p = planes_of(input);
  CRESSET_CHECK(p.n == n && p.channels == channels && p.spatial == spatial, "group_norm: expected an input of N=", n, ", C=", channels, " and HxW=", spatial,
                ", got shape ", input.sizes());
  const OutSpec stat{{input.size(0), groups}, saved_dtype(input, weight, bias), input.device()};
  return {image_like(input), stat, stat};
}

OutSpecs native_group_norm_backward(const Tensor&, const Tensor& input, const Tensor&, const Tensor&, const OptionalTensor& weight, int64_t) {
  const OutSpec param{{input.size(1)}, given(weight) ? weight->scalar_type() : input.scalar_type(), input.device()};
  return {image_like(input), param, param};
}

OutSpecs native_batch_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias, const OptionalTensor& running_mean,
                           const OptionalTensor& running_var, bool training, double, double) {
  CRESSET_CHECK(is_differentiable_type(input.scalar_type()) || input.is_contiguous() || input.is_contiguous(MemoryFormat::ChannelsLast),
                "batch_norm: the mean of a tensor has a floating point or complex dtype, got ", input.scalar_type());
  CRESSET_CHECK_INDEX(input.dim() >= 2, "batch_norm: expected at least 2 dimensions, got shape ", input.sizes());
  check_float("batch_norm", input);
  const int64_t c = input.size(1);
  check_channels("batch_norm", "weight", weight, c);
  check_channels("batch_norm", "bias", bias, c);
  check_channels("batch_norm", "running_mean", running_mean, c);
  check_channels("batch_norm", "running_var", running_var, c);
  CRESSET_CHECK(training || (given(running_mean) && given(running_var)), "batch_norm: running_mean and running_var must be defined in evaluation mode");
  // On the meta device PyTorch says what an accelerator would save, which is never nothing.
  const OutSpec stat{{training || input.is_meta() ? c : 0}, saved_dtype(input, weight, bias, running_mean), input.device()};
  return {dense_like(input), stat, stat};
}

OutSpecs native_batch_norm_backward(const Tensor&, const Tensor& input, const OptionalTensor& weight, const OptionalTensor&, const OptionalTensor&,
                                    const Tensor&, const Tensor&, bool, double) {
  const OutSpec param{{input.size(1)}, given(weight) ? weight->scalar_type() : input.scalar_type(), input.device()};
  return {image_like(input), param, param};
}

}  // namespace meta

namespace cpu {

void native_layer_norm(const Tensor& input, IntArrayRef normalized_shape, const OptionalTensor& weight, const OptionalTensor& bias, double eps,
                       const Tensor& out, const Tensor& saved_mean, const Tensor& saved_rstd) {
  const Tensor mean = computed(saved_mean, stat_dtype(input.scalar_type())), rstd = computed(saved_rstd, mean.scalar_type());
  const Rows r = rows_of("layer_norm", input, normalized_shape, weight, bias);
  const Tensor x = input.contiguous(), w = dense(weight), b = dense(bias);
  kernels::LayerNormArgs a;
  a.x = in(x);
  a.weight = in(w);
  a.bias = in(b);
  a.y = out_of(out);
  a.mean = out_of(mean);
  a.rstd = out_of(rstd);
  a.dtypes = dtypes_of(input, weight, bias);
  a.rows = r.rows;
  a.cols = r.cols;
  a.eps = eps;
  kernels::layer_norm(a);
  save(saved_mean, mean);
  save(saved_rstd, rstd);
}

void native_layer_norm_backward(const Tensor& grad_out, const Tensor& input, IntArrayRef normalized_shape, const Tensor& mean, const Tensor& rstd,
                                const OptionalTensor& weight, const Tensor& dx, const Tensor& dweight, const Tensor& dbias) {
  const Rows r = rows_of("layer_norm", input, normalized_shape, weight, {});
  const Tensor dy = grad_out.contiguous(), x = input.contiguous(), w = dense(weight);
  const Tensor m = mean.to(stat_dtype(input.scalar_type())).contiguous(), s = rstd.to(m.scalar_type()).contiguous();
  kernels::LayerNormBackwardArgs a;
  a.dy = in(dy);
  a.x = in(x);
  a.mean = in(m);
  a.rstd = in(s);
  a.weight = in(w);
  a.dx = out_of(dx);
  a.dweight = out_of(dweight);
  a.dbias = out_of(dbias);
  a.dtypes = dtypes_of(input, weight, {});
  a.rows = r.rows;
  a.cols = r.cols;
  kernels::layer_norm_backward(a);
}

void native_group_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias, int64_t, int64_t, int64_t, int64_t groups, double eps,
                       const Tensor& out, const Tensor& saved_mean, const Tensor& saved_rstd) {
  const Tensor mean = computed(saved_mean, stat_dtype(input.scalar_type())), rstd = computed(saved_rstd, mean.scalar_type());
  const Planes p = planes_of(input);
  const Tensor x = input.contiguous(), w = dense(weight), b = dense(bias);
  kernels::GroupNormArgs a;
  a.x = in(x);
  a.weight = in(w);
  a.bias = in(b);
  a.y = out_of(out);
  a.mean = out_of(mean);
  a.rstd = out_of(rstd);
  a.dtypes = dtypes_of(input, weight, bias);
  a.n = p.n;
  a.channels = p.channels;
  a.spatial = p.spatial;
  a.groups = groups;
  a.eps = eps;
  kernels::group_norm(a);
  save(saved_mean, mean);
  save(saved_rstd, rstd);
}

void native_group_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& mean, const Tensor& rstd, const OptionalTensor& weight,
                                int64_t groups, const Tensor& dx, const Tensor& dweight, const Tensor& dbias) {
  const Planes p = planes_of(input);
  const Tensor dy = grad_out.contiguous(), x = input.contiguous(), w = dense(weight);
  const Tensor m = mean.to(stat_dtype(input.scalar_type())).contiguous(), s = rstd.to(m.scalar_type()).contiguous();
  kernels::GroupNormBackwardArgs a;
  a.dy = in(dy);
  a.x = in(x);
  a.mean = in(m);
  a.rstd = in(s);
  a.weight = in(w);
  a.dx = out_of(dx);
  a.dweight = out_of(dweight);
  a.dbias = out_of(dbias);
  a.dtypes = dtypes_of(input, weight, {});
  a.n = p.n;
  a.channels = p.channels;
  a.spatial = p.spatial;
  a.groups = groups;
  kernels::group_norm_backward(a);
}

void native_batch_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias, const OptionalTensor& running_mean,
                       const OptionalTensor& running_var, bool training, double momentum, double eps, const Tensor& out, const Tensor& saved_mean,
                       const Tensor& saved_rstd) {
  const Planes p = planes_of(input);
  const Tensor x = input.contiguous(), w = dense(weight), b = dense(bias);
  if (!training) {
    const ScalarType stat = stat_dtype(input.scalar_type());
    const Tensor m = running_mean->to(stat).contiguous(), v = running_var->to(stat).contiguous();
    kernels::BatchNormEvalArgs a;
    a.x = in(x);
    a.weight = in(w);
    a.bias = in(b);
    a.mean = in(m);
    a.var = in(v);
    a.y = out_of(out);
    a.dtypes = dtypes_of(input, weight, bias);
    a.n = p.n;
    a.channels = p.channels;
    a.spatial = p.spatial;
    a.eps = eps;
    kernels::batch_norm_eval(a);
    return;
  }
  const ScalarType stat = stat_dtype(input.scalar_type());
  const Tensor mean = computed(saved_mean, stat), rstd = computed(saved_rstd, stat);
  // The kernel updates dense statistics of its own dtype; others go through a copy.
  auto state = [&](const OptionalTensor& t) { return given(t) ? t->to(stat).contiguous() : Tensor(); };
  const Tensor m = state(running_mean), v = state(running_var);
  kernels::BatchNormArgs a;
  a.x = in(x);
  a.weight = in(w);
  a.bias = in(b);
  a.y = out_of(out);
  a.mean = out_of(mean);
  a.rstd = out_of(rstd);
  a.running_mean = out_of(m);
  a.running_var = out_of(v);
  a.dtypes = dtypes_of(input, weight, bias);
  a.n = p.n;
  a.channels = p.channels;
  a.spatial = p.spatial;
  a.momentum = momentum;
  a.eps = eps;
  kernels::batch_norm_train(a);
  save(saved_mean, mean);
  save(saved_rstd, rstd);
  // The statistics are not part of the recorded graph: their versions stay, since backward holds them without reading them.
  auto store = [](const OptionalTensor& to, const Tensor& from) {
    if (given(to) && !from.is_same(*to)) Tensor(to->impl()->alias(false)).copy_(from);
  };
  store(running_mean, m);
  store(running_var, v);
}

void native_batch_norm_backward(const Tensor& grad_out, const Tensor& input, const OptionalTensor& weight, const OptionalTensor& running_mean,
                                const OptionalTensor& running_var, const Tensor& save_mean, const Tensor& save_rstd, bool training, double eps,
                                const Tensor& dx, const Tensor& dweight, const Tensor& dbias) {
  const Planes p = planes_of(input);
  const Tensor dy = grad_out.contiguous(), x = input.contiguous(), w = dense(weight);
  const ScalarType stat = stat_dtype(input.scalar_type());
  const Tensor m = (training ? save_mean : *running_mean).to(stat).contiguous();
  const Tensor s = (training ? save_rstd.to(stat) : (running_var->to(stat) + eps).rsqrt()).contiguous();
  kernels::BatchNormBackwardArgs a;
  a.dy = in(dy);
  a.x = in(x);
  a.weight = in(w);
  a.mean = in(m);
  a.rstd = in(s);
  a.dx = out_of(dx);
  a.dweight = out_of(dweight);
  a.dbias = out_of(dbias);
  a.dtypes = dtypes_of(input, weight, {});
  a.n = p.n;
  a.channels = p.channels;
  a.spatial = p.spatial;
  a.train = training;
  kernels::batch_norm_backward(a);
}

}  // namespace cpu

namespace composite {

Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const OptionalTensor& weight, const OptionalTensor& bias, double eps, bool) {
  return std::get<0>(cresset::native_layer_norm(input, normalized_shape, weight, bias, eps));
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const OptionalTensor& weight, const OptionalTensor& bias, double eps, bool) {
  CRESSET_CHECK(input.dim() >= 2, "group_norm: expected at least 2 dimensions, got shape ", input.sizes());
  const Planes p = planes_of(input);
  return std::get<0>(cresset::native_group_norm(input, weight, bias, p.n, p.channels, p.spatial, num_groups, eps));
}

Tensor batch_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias, const OptionalTensor& running_mean,
                  const OptionalTensor& running_var, bool training, double momentum, double eps, bool) {
  if (input.numel() == 0) {
    Tensor out = input.clone();
    if (given(weight)) out = out * weight->select(0, 0);
    return given(bias) ? out + bias->select(0, 0) : out;
  }
  if (training && input.dim() >= 2) {
    const int64_t values = input.size(1) > 0 ? input.numel() / input.size(1) : 0;
    CRESSET_CHECK_VALUE(values != 1, "batch_norm: expected several values a channel in training, got an input of shape ", input.sizes());
  }
  // PyTorch's reserve for cuDNN, which its modes see.
  if (dispatch::is_listening()) cresset::empty({0}, input.options().dtype(kByte));
  return std::get<0>(cresset::native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps));
}

std::tuple<Tensor, Tensor, Tensor> _native_batch_norm_legit(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                                                            const Tensor& running_mean, const Tensor& running_var, bool training, double momentum, double eps) {
  return cresset::native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
}
std::tuple<Tensor, Tensor, Tensor> _native_batch_norm_legit(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias, bool training,
                                                            double momentum, double eps) {
  return cresset::native_batch_norm(input, weight, bias, {}, {}, training, momentum, eps);
}
std::tuple<Tensor, Tensor, Tensor, Tensor> _batch_norm_with_update(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                                                                   const Tensor& running_mean, const Tensor& running_var, double momentum, double eps) {
  const auto [out, mean, invstd] = cresset::native_batch_norm(input, weight, bias, running_mean, running_var, true, momentum, eps);
  return {out, mean, invstd, cresset::empty({0}, TensorOptions(kByte).device(input.device()))};
}

std::tuple<Tensor, Tensor> batch_norm_update_stats(const Tensor& input, const OptionalTensor& running_mean, const OptionalTensor& running_var,
                                                   double momentum) {
  const char* op = "batch_norm_update_stats";
  const int64_t c = input.size(1);
  CRESSET_CHECK_NOT_IMPLEMENTED(input.is_floating_point(), op, ": not implemented for dtype ", input.scalar_type());
  CRESSET_CHECK(input.numel() > 0, op, ": expected at least one element for each channel, got shape ", input.sizes());
  for (const OptionalTensor* t : {&running_mean, &running_var}) {
    check_channels(op, t == &running_mean ? "running_mean" : "running_var", *t, c);
    CRESSET_CHECK(!given(*t) || (*t)->scalar_type() == input.scalar_type() || ((*t)->scalar_type() == kFloat && input.element_size() == 2), op,
                  ": expected running statistics of the input's dtype ", input.scalar_type(), ", got ", (*t)->scalar_type());
  }
  DimVector dims;
  for (int64_t d = 0; d < input.dim(); d++)
    if (d != 1) dims.push_back(d);
  const auto [var, mean] = cresset::var_mean(input.detach(), IntArrayRef(dims), Scalar(0));
  const double n = static_cast<double>(input.numel() / c);
  if (given(running_mean)) running_mean->mul_(1 - momentum).add_(mean, momentum);
  if (given(running_var)) running_var->mul_(1 - momentum).add_(var.mul(n / (n - 1)), momentum);
  return {mean, var};
}

Tensor instance_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias, const OptionalTensor& running_mean,
                     const OptionalTensor& running_var, bool use_input_stats, double momentum, double eps, bool) {
  CRESSET_CHECK(input.dim() >= 3, "instance_norm: expected at least 3 dimensions, got shape ", input.sizes());
  const int64_t n = input.size(0), c = input.size(1);
  auto repeated = [&](const OptionalTensor& t) { return given(t) ? OptionalTensor(t->repeat({n})) : OptionalTensor(); };
  DimVector shape(input.sizes());
  shape[0] = 1;
  shape[1] = n * c;
  OptionalTensor m = repeated(running_mean), v = repeated(running_var);
  const Tensor out = cresset::batch_norm(input.contiguous().view(shape), repeated(weight), repeated(bias), m, v, use_input_stats, momentum, eps, false);
  // Statistics of all instances together are their average.
  if (use_input_stats && m) running_mean->copy_(m->view({n, c}).mean(IntArrayRef(0)));
  if (use_input_stats && v) running_var->copy_(v->view({n, c}).mean(IntArrayRef(0)));
  return out.view(input.sizes());
}

Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const OptionalTensor& weight, std::optional<double> eps) {
  rows_of("rms_norm", input, normalized_shape, weight, {});
  DimVector dims;
  for (size_t d = 0; d < normalized_shape.size(); d++) dims.push_back(-1 - static_cast<int64_t>(d));
  const Tensor x = input.scalar_type() == kHalf || input.scalar_type() == kBFloat16 ? input.to(kFloat) : input;
  const double e = eps.value_or(x.scalar_type() == kDouble ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon());
  const Tensor unit = (x * x.square().mean(dims, true).add_(e).rsqrt()).to(input.scalar_type());
  return given(weight) ? unit * *weight : unit;
}

}  // namespace composite

}  // namespace cresset::ops
