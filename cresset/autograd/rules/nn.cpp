#include <cmath>

#include "cresset/autograd/rules/rules.h"
#include "cresset/ops/conv/conv.h"

namespace cresset::autograd::rules {

Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim) {
  // dx = y (g - sum(g y)); differentiated by y.
  const IntArrayRef d(dim);
  return grad * grad_output - grad_output * (grad * output).sum(d, true) - grad * (grad_output * output).sum(d, true);
}

std::tuple<Tensor, Tensor> cross_entropy_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                                         const std::optional<Tensor>& weight, const Tensor& total_weight, int64_t reduction,
                                                         int64_t ignore_index, double label_smoothing) {
  // dx = g (a softmax(x) - own onehot(target) - share w), with factors that are 0 for ignored rows.
  const Tensor ignored = target == ignore_index, safe = target.masked_fill(ignored, 0).to(kLong), counted = ignored.logical_not().to(self.scalar_type());
  const bool weighted = weight && weight->defined();
  const double share = label_smoothing / static_cast<double>(self.size(1));
  const Tensor own = (weighted ? weight->index_select(0, safe) * counted : counted) * (1 - label_smoothing);
  const Tensor a = own + (weighted ? weight->sum() * counted * share : counted * label_smoothing);
  const Tensor p = cresset::softmax(self, 1, self.scalar_type()), along = (grad * p).sum(IntArrayRef(1));
  const Tensor smoothed = (weighted ? grad * *weight : grad).sum(IntArrayRef(1)) * counted * share;
  const Tensor rows = a * along - own * grad.gather(1, safe.unsqueeze(1)).squeeze(1) - smoothed;
  const Tensor g = reduction == 1 ? grad_output / total_weight : grad_output;
  const Tensor by_self = (g * a).unsqueeze(1) * p * (grad - along.unsqueeze(1));
  if (reduction == 0) return {rows, by_self};
  return {reduction == 1 ? rows.sum() / total_weight : rows.sum(), by_self};
}

Tensor constant_pad_backward(const Tensor& grad, IntArrayRef pad) {
  DimVector back;
  for (const int64_t p : pad) back.push_back(-p);
  return cresset::constant_pad_nd(grad, back, 0);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> attention_double_backward(const Tensor& gq, const Tensor& g_few_keys, const Tensor& g_few_values,
                                                                     const Tensor& grad_out, const Tensor& query, const Tensor& few_keys,
                                                                     const Tensor& few_values, const std::optional<Tensor>& mask, bool causal, double scale) {
  // Heads of queries may share a head of keys and values: each gets its own, whose gradients are added up in the end.
  const int64_t heads = few_keys.size(1), group = query.size(1) / std::max<int64_t>(heads, 1);
  auto spread = [&](const Tensor& t) -> Tensor {
    if (group == 1 || !t.defined()) return t;
    return t.unsqueeze(2).expand({t.size(0), heads, group, t.size(2), t.size(3)}).reshape({t.size(0), heads * group, t.size(2), t.size(3)});
  };
  auto gather = [&](const Tensor& t) -> Tensor { return group == 1 ? t : t.reshape({t.size(0), heads, group, t.size(2), t.size(3)}).sum(IntArrayRef(2)); };
  const Tensor key = spread(few_keys), value = spread(few_values), gk = spread(g_few_keys), gv = spread(g_few_values);
  // With S = scale q k^T, P = softmax(S), dP = g v^T, dS = P (dP - sum(P dP)): dq = scale dS k, dk = scale dS^T q, dv = P^T g.
  Tensor s = query.matmul(key.transpose(-2, -1)) * scale;
  if (causal) s = s.masked_fill(cresset::ones({s.size(-2), s.size(-1)}, TensorOptions(kBool).device(s.device())).tril().logical_not(), -INFINITY);
  if (mask && mask->defined()) s = mask->scalar_type() == kBool ? s.masked_fill(mask->logical_not(), -INFINITY) : s + *mask;
  const Tensor p = cresset::softmax(s, -1).masked_fill((s == -INFINITY).all(-1, true), 0), dp = grad_out.matmul(value.transpose(-2, -1));
  constexpr int64_t last = -1;
  const Tensor delta = (p * dp).sum(IntArrayRef(last), true), ds = p * (dp - delta);
  Tensor g_ds = cresset::zeros_like(p), g_p = cresset::zeros_like(p);
  Tensor g_query = cresset::zeros_like(query), g_key = cresset::zeros_like(key), g_value = cresset::zeros_like(value), g_grad = cresset::zeros_like(grad_out);
  if (gq.defined()) {
    g_ds = g_ds + gq.matmul(key.transpose(-2, -1)) * scale;
    g_key = g_key + ds.transpose(-2, -1).matmul(gq) * scale;
  }
  if (gk.defined()) {
    g_ds = g_ds + query.matmul(gk.transpose(-2, -1)) * scale;
    g_query = g_query + ds.matmul(gk) * scale;
  }
  if (gv.defined()) {
    g_p = g_p + grad_out.matmul(gv.transpose(-2, -1));
    g_grad = g_grad + p.matmul(gv);
  }
  const Tensor mixed = (g_ds * p).sum(IntArrayRef(last), true);
  const Tensor g_dp = p * (g_ds - mixed);
  g_p = g_p + g_ds * (dp - delta) - mixed * dp;
  g_grad = g_grad + g_dp.matmul(value);
  g_value = g_value + g_dp.transpose(-2, -1).matmul(grad_out);
  const Tensor g_s = p * (g_p - (g_p * p).sum(IntArrayRef(last), true));
  g_query = g_query + g_s.matmul(key) * scale;
  g_key = g_key + g_s.transpose(-2, -1).matmul(query) * scale;
  return {g_grad, g_query, gather(g_key), gather(g_value)};
}

Tensor sum_to_channels(const Tensor& grad) {
  DimVector dims{0};
  for (int64_t d = 2; d < grad.dim(); d++) dims.push_back(d);
  return grad.sum(dims);
}

Tensor in_result_format(const Tensor& grad, IntArrayRef input_sizes, IntArrayRef input_strides, IntArrayRef weight_sizes, IntArrayRef weight_strides) {
  const MemoryFormat format = ops::convolution_format(grad.scalar_type(), input_sizes, input_strides, weight_sizes, weight_strides);
  return grad.suggest_memory_format() == format ? grad : grad.contiguous(format);
}

namespace {

// All norms are one: x_hat = (x - mean) * rstd over the dimensions `d`, y = x_hat * w + b with parameters of a broadcast shape, summed
// over `p`. With h = w dy, dx = rstd (h - m1 - x_hat m2) where m1 = mean(h), m2 = mean(h x_hat); this differentiates that once more.
Three norm_double_backward(const Tensor& gdx, const Tensor& gdw, const Tensor& gdb, const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                           const Tensor& w, IntArrayRef d, IntArrayRef p, bool statistics) {
  const Tensor x_hat = (x - mean) * rstd;
  // An empty list of dimensions would mean all of them.
  auto sum_over = [&](const Tensor& t) { return p.empty() ? t : t.sum(p, true); };
  auto average = [&](const Tensor& t) { return t.mean(d, true); };
  Tensor g_dy = cresset::zeros_like(dy), g_x = cresset::zeros_like(x), g_w;
  Tensor g_hat;  // gradient that reaches x_hat directly
  if (gdx.defined()) {
    const Tensor h = w.defined() ? dy * w : dy;
    if (!statistics) {
      g_dy = g_dy + (w.defined() ? gdx * rstd * w : gdx * rstd);
      if (w.defined()) g_w = sum_over(gdx * rstd * dy);
    } else {
      // dx is linear in h with a symmetric map, so its transpose is itself.
      const Tensor back = rstd * (gdx - average(gdx) - x_hat * average(gdx * x_hat));
      g_dy = g_dy + (w.defined() ? back * w : back);
      if (w.defined()) g_w = sum_over(back * dy);
      const Tensor inner = h - average(h) - x_hat * average(h * x_hat);
      // Through x_hat inside dx, and through rstd in front (d rstd / dx = -rstd^2 x_hat / n).
      g_hat = -rstd * (gdx * average(h * x_hat) + h * average(gdx * x_hat));
      g_x = g_x - rstd * rstd * x_hat * average(gdx * inner);
    }
  }
  if (gdw.defined()) {
    g_dy = g_dy + gdw * x_hat;
    g_hat = g_hat.defined() ? g_hat + gdw * dy : gdw * dy;
  }
  if (gdb.defined()) g_dy = g_dy + gdb;
  if (g_hat.defined()) g_x = g_x + (statistics ? rstd * (g_hat - average(g_hat) - x_hat * average(g_hat * x_hat)) : rstd * g_hat);
  return {g_dy, g_x, g_w};
}

Tensor view_if(const Tensor& t, IntArrayRef shape) { return t.defined() ? t.reshape(shape) : t; }

}  // namespace

Three layer_norm_double_backward(const Tensor& gdx, const Tensor& gdw, const Tensor& gdb, const Tensor& grad_out, const Tensor& input,
                                 IntArrayRef normalized_shape, const Tensor& mean, const Tensor& rstd, const std::optional<Tensor>& weight) {
  DimVector d, p;
  const int64_t n = static_cast<int64_t>(normalized_shape.size());
  for (int64_t i = 0; i < input.dim(); i++) (i < input.dim() - n ? p : d).push_back(i);
  auto [g_dy, g_x, g_w] = norm_double_backward(gdx, gdw, gdb, grad_out, input, mean, rstd, weight.value_or(Tensor()), d, p, true);
  return {g_dy, g_x, view_if(g_w, normalized_shape)};
}

Three group_norm_backward(const Tensor& grad, const Tensor& grad_mean, const Tensor& grad_rstd, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                          const std::optional<Tensor>& weight, int64_t groups, double eps) {
  Three result;
  if (grad.defined()) result = cresset::native_group_norm_backward(grad, input, mean, rstd, weight, groups);
  if (!grad_mean.defined() && !grad_rstd.defined()) return result;
  const int64_t n = input.size(0), width = groups > 0 && n > 0 ? input.numel() / (n * groups) : 0;
  if (width == 0) return {grad.defined() ? std::get<0>(result) : cresset::zeros_like(input), std::get<1>(result), std::get<2>(result)};
  // From the input itself, so that it differentiates once more.
  const Tensor x = input.reshape({n, groups, width}), centred = x - x.mean(IntArrayRef(2), true);
  Tensor g = cresset::zeros_like(x);
  auto each = [&](const Tensor& t) { return t.reshape({n, groups, 1}).to(x.scalar_type()) / static_cast<double>(width); };
  if (grad_mean.defined()) g = g + each(grad_mean);
  if (grad_rstd.defined()) g = g - each(grad_rstd) * (centred.square().mean(IntArrayRef(2), true) + eps).pow(-1.5) * centred;
  const Tensor dx = g.reshape(input.sizes());
  return {grad.defined() ? std::get<0>(result) + dx : dx, std::get<1>(result), std::get<2>(result)};
}

Three group_norm_double_backward(const Tensor& gdx, const Tensor& gdw, const Tensor& gdb, const Tensor& grad_out, const Tensor& input, const Tensor& mean,
                                 const Tensor& rstd, const std::optional<Tensor>& weight, int64_t groups) {
  const int64_t n = input.size(0), c = input.size(1);
  const DimVector shape{n, groups, c / groups, input.numel() / std::max<int64_t>(1, n * c)}, parameters{1, groups, c / groups, 1}, stats{n, groups, 1, 1};
  auto [g_dy, g_x, g_w] = norm_double_backward(view_if(gdx, shape), view_if(gdw, parameters), view_if(gdb, parameters), grad_out.reshape(shape),
                                               input.reshape(shape), mean.reshape(stats), rstd.reshape(stats),
                                               weight && weight->defined() ? weight->reshape(parameters) : Tensor(), {2, 3}, {0, 3}, true);
  return {g_dy.reshape(input.sizes()), g_x.reshape(input.sizes()), view_if(g_w, {c})};
}

Three batch_norm_double_backward(const Tensor& gdx, const Tensor& gdw, const Tensor& gdb, const Tensor& grad_out, const Tensor& input,
                                 const std::optional<Tensor>& weight, const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
                                 const Tensor& save_mean, const Tensor& save_rstd, bool training, double eps) {
  const int64_t n = input.size(0), c = input.size(1);
  const DimVector shape{n, c, input.numel() / std::max<int64_t>(1, n * c)}, channels{1, c, 1};
  const Tensor mean = training ? save_mean : *running_mean, rstd = training ? save_rstd : (*running_var + eps).rsqrt();
  auto [g_dy, g_x, g_w] = norm_double_backward(view_if(gdx, shape), view_if(gdw, channels), view_if(gdb, channels), grad_out.reshape(shape),
                                               input.reshape(shape), mean.reshape(channels), rstd.reshape(channels),
                                               weight && weight->defined() ? weight->reshape(channels) : Tensor(), {0, 2}, {0, 2}, training);
  return {g_dy.reshape(input.sizes()), g_x.reshape(input.sizes()), view_if(g_w, {c})};
}

Tensor avg_pool_double_backward(const Tensor& grad, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                                std::optional<int64_t> divisor_override, int64_t dims) {
  return dims == 2 ? cresset::avg_pool2d(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
                   : cresset::avg_pool3d(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
}
Tensor adaptive_avg_pool_double_backward(const Tensor& grad, IntArrayRef pooled, int64_t dims) {
  const IntArrayRef size = pooled.slice(pooled.size() - static_cast<size_t>(dims));
  return cresset::_adaptive_avg_pool(grad, size);
}

}  // namespace cresset::autograd::rules
