// Functions of rows: softmax by a kernel, its losses and the norms by the device's other operators.

#include "call.h"

namespace opencl {

namespace {

using cresset::OptionalIntArrayRef;

// One item for each row, or 64 items that share it where rows are long and few.
const char* const kSoftmax = R"cl(
void best_of(float* top, float* sum, float v) {
  if (v == *top) *sum += v == -INFINITY ? 0 : 1;
  else if (v < *top) *sum += exp(v - *top);
  else { *sum = *sum * exp(*top - v) + 1; *top = v; }
}
void run_row(global const T* x, global T* out, long from, long length, long inner, long first, long step, float top, float sum) {
  const float log_sum = log(sum), inverse = 1 / sum;
  for (long k = first; k < length; k += step) {
    const float v = LOAD(x, from + k * inner) - top;
#ifdef LOG
    STORE(out, from + k * inner, v - log_sum);
#else
    STORE(out, from + k * inner, exp(v) * inverse);
#endif
  }
}
#ifdef SHARED
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void run(long rows, long length, long inner, global const T* x, global T* out) {
  const long row = get_group_id(0), from = row / inner * length * inner + row % inner;
  const int item = get_local_id(0);
  local float tops[64], sums[64];
  float top = -INFINITY, sum = 0;
  for (long k = item; k < length; k += 64) best_of(&top, &sum, LOAD(x, from + k * inner));
  tops[item] = top;
  sums[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int n = 32; n > 0; n /= 2) {
    if (item < n) {
      const float a = tops[item], b = tops[item + n], high = a > b || a != a ? a : b;
      sums[item] = high == -INFINITY ? 0 : sums[item] * (a == high ? 1 : exp(a - high)) + sums[item + n] * (b == high ? 1 : exp(b - high));
      tops[item] = a != a ? a : b != b ? b : high;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  run_row(x, out, from, length, inner, item, 64, tops[0], sums[0]);
}
#else
kernel void run(long rows, long length, long inner, global const T* x, global T* out) {
  const long row = get_global_id(0), from = row / inner * length * inner + row % inner;
  if (row >= rows) return;
  float top = -INFINITY, sum = 0;
  for (long k = 0; k < length; k++) best_of(&top, &sum, LOAD(x, from + k * inner));
  run_row(x, out, from, length, inner, 0, 1, top, sum);
}
#endif
)cl";

bool softmax(Call& c, bool log) {
  const Tensor& self = c.tensor(0);
  if (!is_floating(self)) return false;
  const std::vector<Tensor> outs = c.results(), writes = dense_for(outs);
  if (self.numel() == 0) return c.give_all(outs);
  const Tensor x = dense(self);
  int64_t length = 1, inner = 1;
  if (x.dim() > 0) {
    const int64_t dim = c.integer(1) < 0 ? c.integer(1) + x.dim() : c.integer(1);
    length = x.size(dim);
    for (int64_t d = dim + 1; d < x.dim(); d++) inner *= x.size(d);
  }
  const int64_t rows = x.numel() / length;
  const bool shared = length >= 256 && rows < 4096;
  Launch(c.device(), prelude() + names_of(x.scalar_type()) + (log ? "#define LOG\n" : "") + (shared ? "#define SHARED\n" : "") + kSoftmax)
      .value(rows)
      .value(length)
      .value(inner)
      .pointer(x.data_ptr())
      .pointer(writes[0].data_ptr())
      .run(static_cast<size_t>(shared ? rows * 64 : rows), shared ? 64 : 0);
  return deliver(c, outs, writes);
}
bool softmax_backward(Call& c, bool log) {
  const Tensor &grad = c.tensor(0), &y = c.tensor(1);
  if (!is_floating(grad) || !is_floating(y)) return false;
  c.meta_results();
  const int64_t dim = c.integer(2);
  const Tensor out = log ? grad - y.exp() * grad.sum({dim}, true) : (grad - (grad * y).sum({dim}, true)) * y;
  return c.give(out.to(c[3].to_dtype()));
}

// --- losses of classes ---

struct Classes {
  Tensor target, valid, weight;  // of each element: its class or 0, whether it counts, and the weight of its class or 0
};
Classes classes_of(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t ignored, int64_t dim) {
  Classes k;
  k.valid = target.ne(ignored);
  k.target = cresset::where(k.valid, target.to(cresset::kLong), cresset::zeros_like(target, cresset::TensorOptions(cresset::kLong)));
  const int64_t classes = self.size(dim);
  const bool outside = k.target.lt(0).logical_or(k.target.ge(classes)).any().item().toBool();
  CRESSET_CHECK_INDEX(!outside, "opencl: a target is out of bounds, expected classes from 0 to ", classes - 1);
  k.weight = weight.defined() ? weight.index_select(0, k.target.flatten()).reshape(k.target.sizes()) : cresset::ones(k.target.sizes(), self.options());
  k.weight = cresset::where(k.valid, k.weight, cresset::zeros_like(k.weight));
  return k;
}
bool fits(const Tensor& self, const Tensor& target) { return is_floating(self) && on_device(self) && on_device(target); }
Tensor optional(const Call& c, size_t i) { return c.has(i) ? c.tensor(i) : Tensor(); }

bool nll(Call& c) {
  const Tensor &self = c.tensor(0), &target = c.tensor(1);
  if (!fits(self, target)) return false;
  c.meta_results();
  const int64_t dim = self.dim() == 1 ? 0 : 1, reduction = c.integer(3);
  const Classes k = classes_of(self, target, optional(c, 2), c.integer(4), dim);
  const Tensor each = self.gather(dim, k.target.unsqueeze(dim)).squeeze(dim).neg() * k.weight;
  const Tensor total = reduction == 0 ? cresset::zeros({}, self.options()) : k.weight.sum();
  const Tensor kept = cresset::where(k.valid, each, cresset::zeros_like(each));
  return c.give(reduction == 0 ? kept : reduction == 1 ? kept.sum() / total : kept.sum(), total);
}
bool nll_backward(Call& c) {
  const Tensor &grad = c.tensor(0), &self = c.tensor(1), &target = c.tensor(2), &total = c.tensor(6);
  if (!fits(self, target)) return false;
  c.meta_results();
  const int64_t dim = self.dim() == 1 ? 0 : 1, reduction = c.integer(4);
  const Classes k = classes_of(self, target, optional(c, 3), c.integer(5), dim);
  const Tensor scale = reduction == 1 ? grad / total : grad;
  const Tensor each = (k.weight * scale).neg();
  return c.give(cresset::zeros_like(self).scatter(dim, k.target.unsqueeze(dim), each.unsqueeze(dim)));
}
bool cross_entropy(Call& c) {
  const Tensor &self = c.tensor(0), &target = c.tensor(1);
  if (!fits(self, target)) return false;
  c.meta_results();
  const double smoothing = c.number(5);
  const int64_t reduction = c.integer(3);
  const Tensor weight = optional(c, 2), x = self.to(cresset::kFloat);
  const Classes k = classes_of(self, target, weight, c.integer(4), 1);
  const Tensor lse = x.logsumexp({1}), logs = lse.unsqueeze(1) - x;
  Tensor each = logs.gather(1, k.target.unsqueeze(1)).squeeze(1) * k.weight;
  if (smoothing > 0) {
    const Tensor spread = (weight.defined() ? logs * weight : logs).sum({1}) * (smoothing / static_cast<double>(self.size(1)));
    each = each * (1 - smoothing) + spread;
  }
  each = cresset::where(k.valid, each, cresset::zeros_like(each));
  const Tensor total = reduction == 0 ? cresset::zeros({}, self.options()) : k.weight.sum();
  const Tensor out = reduction == 0 ? each : reduction == 1 ? each.sum() / total : each.sum();
  return c.give(out.to(self.scalar_type()), total.to(self.scalar_type()), lse);
}
bool cross_entropy_backward(Call& c) {
  const Tensor &grad = c.tensor(0), &self = c.tensor(1), &target = c.tensor(2), &total = c.tensor(4), &lse = c.tensor(5);
  if (!fits(self, target)) return false;
  c.meta_results();
  const int64_t reduction = c.integer(6), classes = self.size(1);
  const double smoothing = c.number(8), part = smoothing / static_cast<double>(classes);
  const Tensor weight = optional(c, 3), p = (self.to(cresset::kFloat) - lse.unsqueeze(1)).exp();
  const Classes k = classes_of(self, target, weight, c.integer(7), 1);
  const Tensor own = k.weight.to(cresset::kFloat) * (1 - smoothing);
  Tensor dx = p * own.unsqueeze(1) - cresset::zeros_like(p).scatter(1, k.target.unsqueeze(1), own.unsqueeze(1));
  if (smoothing > 0) dx = dx + (weight.defined() ? p * (weight.sum() * part) - weight * part : p * smoothing - part);
  const Tensor scale = reduction == 1 ? grad / total : grad;
  dx = dx * (scale.dim() ? scale.unsqueeze(1) : scale);
  return c.give(cresset::where(k.valid.unsqueeze(1), dx, cresset::zeros_like(dx)).to(self.scalar_type()));
}

// --- norms ---

struct Normed {
  Tensor mean, rstd, out;
};
Normed normalize(const Tensor& x, const std::vector<int64_t>& dims, double eps) {
  const Tensor wide = x.to(cresset::kFloat);
  const auto [variance, mean] = cresset::var_mean(wide, OptionalIntArrayRef(dims), Scalar(0), true);
  const Tensor rstd = (variance + eps).rsqrt();
  return {mean, rstd, (wide - mean) * rstd};
}
std::vector<int64_t> last_dims(int64_t rank, size_t count) {
  std::vector<int64_t> dims;
  for (int64_t d = rank - static_cast<int64_t>(count); d < rank; d++) dims.push_back(d);
  return dims;
}
std::vector<int64_t> all_but(int64_t rank, int64_t kept) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < rank; d++)
    if (d != kept) dims.push_back(d);
  return dims;
}
// A vector of channels beside images.
Tensor beside(const Tensor& channels, int64_t rank) {
  std::vector<int64_t> shape(static_cast<size_t>(rank), 1);
  shape[1] = channels.numel();
  return channels.reshape(shape);
}
Tensor scaled(Tensor x, const Tensor& weight, const Tensor& bias) {
  if (weight.defined()) x = x * weight;
  return bias.defined() ? x + bias : x;
}
// d of (x - mean) rstd over `dims`, from the gradient of it.
Tensor norm_gradient(const Tensor& g, const Tensor& normed, const Tensor& rstd, const std::vector<int64_t>& dims) {
  return rstd * (g - g.mean(OptionalIntArrayRef(dims), true) - normed * (g * normed).mean(OptionalIntArrayRef(dims), true));
}
bool norm_fits(const Tensor& x) { return is_floating(x) && x.numel() > 0; }

bool layer_norm(Call& c) {
  const Tensor& x = c.tensor(0);
  if (!norm_fits(x)) return false;
  const std::vector<Tensor> outs = c.results();
  const std::vector<int64_t> dims = last_dims(x.dim(), c.integers(1).size());
  const Normed n = normalize(x, dims, c.number(4));
  return c.give(scaled(n.out, optional(c, 2), optional(c, 3)).to(x.scalar_type()), n.mean.to(outs[1].scalar_type()), n.rstd.to(outs[2].scalar_type()));
}
bool layer_norm_backward(Call& c) {
  const Tensor &grad = c.tensor(0), &x = c.tensor(1), &mean = c.tensor(3), &rstd = c.tensor(4);
  if (!norm_fits(x)) return false;
  const std::vector<Tensor> outs = c.results();
  const std::vector<int64_t> shape = c.integers(2), dims = last_dims(x.dim(), shape.size());
  const Tensor weight = optional(c, 5), normed = (x.to(cresset::kFloat) - mean) * rstd, dy = grad.to(cresset::kFloat), g = weight.defined() ? dy * weight : dy;
  const Tensor dx = norm_gradient(g, normed, rstd, dims);
  const auto own = [&](const Tensor& t) {
    return t.reshape({-1, t.numel() / std::max<int64_t>(1, mean.numel())}).sum({0}).reshape(shape).to(outs[1].scalar_type());
  };
  return c.give(dx.to(x.scalar_type()), own(dy * normed), own(dy));
}
bool group_norm(Call& c) {
  const Tensor& x = c.tensor(0);
  if (!norm_fits(x)) return false;
  const std::vector<Tensor> outs = c.results();
  const int64_t n = c.integer(3), groups = c.integer(6);
  const Normed r = normalize(x.reshape({n, groups, -1}), {2}, c.number(7));
  const Tensor weight = optional(c, 1), bias = optional(c, 2);
  const Tensor out = scaled(r.out.reshape(x.sizes()), weight.defined() ? beside(weight, x.dim()) : weight, bias.defined() ? beside(bias, x.dim()) : bias);
  return c.give(out.to(x.scalar_type()), r.mean.reshape({n, groups}).to(outs[1].scalar_type()), r.rstd.reshape({n, groups}).to(outs[2].scalar_type()));
}
bool group_norm_backward(Call& c) {
  const Tensor &grad = c.tensor(0), &x = c.tensor(1), weight = optional(c, 4);
  if (!norm_fits(x)) return false;
  const std::vector<Tensor> outs = c.results();
  const int64_t n = x.size(0), groups = c.integer(5);
  const Tensor mean = c.tensor(2).reshape({n, groups, 1}), rstd = c.tensor(3).reshape({n, groups, 1});
  const Tensor normed = (x.to(cresset::kFloat).reshape({n, groups, -1}) - mean) * rstd, dy = grad.to(cresset::kFloat);
  const Tensor g = (weight.defined() ? dy * beside(weight, x.dim()) : dy).reshape({n, groups, -1});
  const Tensor dx = norm_gradient(g, normed, rstd, {2}).reshape(x.sizes());
  const std::vector<int64_t> dims = all_but(x.dim(), 1);
  const auto own = [&](const Tensor& t) { return t.sum(OptionalIntArrayRef(dims)).to(outs[1].scalar_type()); };
  return c.give(dx.to(x.scalar_type()), own(dy * normed.reshape(x.sizes())), own(dy));
}
bool batch_norm(Call& c) {
  const Tensor& x = c.tensor(0);
  if (!norm_fits(x)) return false;
  const std::vector<Tensor> outs = c.results();
  const bool training = c.flag(5);
  const double momentum = c.number(6), eps = c.number(7);
  const Tensor weight = optional(c, 1), bias = optional(c, 2);
  Tensor mean = optional(c, 3), variance = optional(c, 4);
  const Tensor w = weight.defined() ? beside(weight, x.dim()) : weight, b = bias.defined() ? beside(bias, x.dim()) : bias;
  if (!training) {
    const Tensor out = scaled((x.to(cresset::kFloat) - beside(mean, x.dim())) * beside((variance.to(cresset::kFloat) + eps).rsqrt(), x.dim()), w, b);
    return c.give(out.to(x.scalar_type()), make({0}, outs[1].scalar_type(), c.device()), make({0}, outs[2].scalar_type(), c.device()));
  }
  const Normed n = normalize(x, all_but(x.dim(), 1), eps);
  const Tensor own_mean = n.mean.flatten(), rstd = n.rstd.flatten();
  const double count = static_cast<double>(x.numel() / x.size(1));
  if (mean.defined()) mean.copy_(mean * (1 - momentum) + own_mean * momentum);
  if (variance.defined()) variance.copy_(variance * (1 - momentum) + (rstd.square().reciprocal() - eps) * (momentum * count / std::max(1.0, count - 1)));
  return c.give(scaled(n.out, w, b).to(x.scalar_type()), own_mean.to(outs[1].scalar_type()), rstd.to(outs[2].scalar_type()));
}
bool batch_norm_backward(Call& c) {
  const Tensor &grad = c.tensor(0), &x = c.tensor(1), weight = optional(c, 2);
  if (!norm_fits(x)) return false;
  const std::vector<Tensor> outs = c.results();
  const bool training = c.flag(7);
  const Tensor mean = beside(training ? c.tensor(5) : c.tensor(3), x.dim());
  const Tensor rstd = beside(training ? c.tensor(6) : (c.tensor(4).to(cresset::kFloat) + c.number(8)).rsqrt(), x.dim());
  const Tensor normed = (x.to(cresset::kFloat) - mean) * rstd, dy = grad.to(cresset::kFloat), g = weight.defined() ? dy * beside(weight, x.dim()) : dy;
  const std::vector<int64_t> dims = all_but(x.dim(), 1);
  const Tensor dx = training ? norm_gradient(g, normed, rstd, dims) : g * rstd;
  const auto own = [&](const Tensor& t) { return t.sum(OptionalIntArrayRef(dims)).to(outs[1].scalar_type()); };
  return c.give(dx.to(x.scalar_type()), own(dy * normed), own(dy));
}

}  // namespace

void add_rows(cresset::dispatch::Library& m) {
  native(m, "_softmax", [](Call& c) { return softmax(c, false); });
  native(m, "_log_softmax", [](Call& c) { return softmax(c, true); });
  native(m, "_softmax_backward_data", [](Call& c) { return softmax_backward(c, false); });
  native(m, "_log_softmax_backward_data", [](Call& c) { return softmax_backward(c, true); });
  native(m, "nll_loss_forward", nll);
  native(m, "nll_loss_backward", nll_backward);
  native(m, "_cross_entropy", cross_entropy);
  native(m, "_cross_entropy_backward", cross_entropy_backward);
  native(m, "native_layer_norm", layer_norm);
  native(m, "native_layer_norm_backward", layer_norm_backward);
  native(m, "native_group_norm", group_norm);
  native(m, "native_group_norm_backward", group_norm_backward);
  native(m, "native_batch_norm", batch_norm);
  native(m, "native_batch_norm_backward", batch_norm_backward);
}

}  // namespace opencl
