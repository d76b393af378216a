// Scaled dot-product attention over kernels/sequence/attention.h, and affine maps.

#include "cresset/kernels/sequence/attention.h"

#include <cmath>
#include <utility>

#include "cresset/base/warning.h"
#include "cresset/ops/differentiates.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/own.h"
#include "cresset/ops/sequence/attention_kernels.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

using kernels::AttentionInput;
using kernels::AttentionOutput;

// (batch, heads, length, width) with a dense last dimension.
Tensor rows(const Tensor& t) { return t.stride(-1) == 1 || t.size(-1) <= 1 ? t : t.contiguous(); }
int64_t byte_stride(const Tensor& t, int64_t dim) { return t.stride(dim) * t.itemsize(); }
AttentionInput input(const Tensor& t) { return {static_cast<const char*>(t.data_ptr()), {byte_stride(t, 0), byte_stride(t, 1), byte_stride(t, 2)}}; }
AttentionOutput output(const Tensor& t) { return {static_cast<char*>(t.data_ptr()), {byte_stride(t, 0), byte_stride(t, 1), byte_stride(t, 2)}}; }

kernels::AttentionShape shape_of(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask, bool causal, double scale) {
  kernels::AttentionShape s;
  s.dtype = q.scalar_type();
  s.batch = q.size(0);
  s.q_heads = q.size(1);
  s.kv_heads = k.size(1);
  s.q_len = q.size(2);
  s.kv_len = k.size(2);
  s.head_dim = q.size(3);
  s.v_dim = v.size(3);
  s.scale = scale;
  s.causal = causal;
  if (mask && mask->defined()) {
    const Tensor m = mask->expand({s.batch, s.q_heads, s.q_len, s.kv_len});
    s.mask = static_cast<const char*>(m.data_ptr());
    s.mask_dtype = m.scalar_type();
    for (int d = 0; d < 4; d++) s.mask_strides[d] = byte_stride(m, d);
  }
  return s;
}

thread_local AttentionKernels t_kernels = AttentionKernels::all;

}  // namespace

AttentionKernels set_attention_kernels(AttentionKernels kernels) { return std::exchange(t_kernels, kernels); }

namespace meta {

OutSpecs _attention(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>&, bool, double) {
  const ScalarType t = query.scalar_type();
  CRESSET_CHECK_NOT_IMPLEMENTED(query.is_floating_point(), "scaled_dot_product_attention: not implemented for dtype ", t);
  CRESSET_CHECK(key.scalar_type() == t && value.scalar_type() == t, "scaled_dot_product_attention: expected query, key and value of one dtype, got ", t, ", ",
                key.scalar_type(), " and ", value.scalar_type());
  // In the memory order of the query: heads that lie beside each other in it do so in the result.
  DimVector strides;
  if (query.stride(-1) == 1 && value.size(3) == query.size(3))
    strides = query.is_non_overlapping_and_dense() ? DimVector(query.strides()) : preserved_strides(query);
  return {OutSpec{{query.size(0), query.size(1), query.size(2), value.size(3)}, t, query.device(), std::move(strides)},
          OutSpec{{query.size(0), query.size(1), query.size(2)}, t == kDouble ? kDouble : kFloat, query.device()}};
}

OutSpecs _attention_backward(const Tensor&, const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>&, const Tensor&,
                             const Tensor&, bool, double) {
  // The heads of a place lie beside each other, as projections want their gradients.
  auto like = [](const Tensor& t) {
    const int64_t heads = t.size(1), width = t.size(3);
    return OutSpec{DimVector(t.sizes()), t.scalar_type(), t.device(), {t.size(2) * heads * width, width, heads * width, 1}};
  };
  return {like(query), like(key), like(value)};
}

}  // namespace meta

namespace cpu {

void _attention(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask, bool causal, double scale, const Tensor& out,
                const Tensor& lse) {
  const Tensor q = rows(query), k = rows(key), v = rows(value);
  if (out.numel() > 0)
    kernels::attention(shape_of(q, k, v, mask, causal, scale), input(q), input(k), input(v), output(out), static_cast<char*>(lse.data_ptr()));
}

void _attention_backward(const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask,
                         const Tensor& out, const Tensor& lse, bool causal, double scale, const Tensor& dq, const Tensor& dk, const Tensor& dv) {
  if (out.numel() == 0 || key.numel() == 0) {
    for (const Tensor* t : {&dq, &dk, &dv}) t->zero_();
    return;
  }
  const Tensor g = rows(grad_out), q = rows(query), k = rows(key), v = rows(value), o = rows(out), l = lse.contiguous();
  kernels::attention_backward(shape_of(q, k, v, mask, causal, scale), input(g), input(q), input(k), input(v), input(o), static_cast<const char*>(l.data_ptr()),
                              output(dq), output(dk), output(dv));
}

}  // namespace cpu

namespace composite {

namespace {

// Softmax(q k^T scale + mask) v in plain steps: for dropout, masks that need gradients, and as the reference of the fused op.
Tensor attention_by_steps(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask, double dropout_p, bool causal, double scale) {
  // Scores and weights of half and bfloat16 stay in float32: rounding each step would cost most of their digits.
  if (q.scalar_type() == kHalf || q.scalar_type() == kBFloat16) {
    std::optional<Tensor> wide = mask;
    if (mask && mask->defined() && mask->scalar_type() != kBool) wide = mask->to(kFloat);
    return attention_by_steps(q.to(kFloat), k.to(kFloat), v.to(kFloat), wide, dropout_p, causal, scale).to(q.scalar_type());
  }
  const double root = std::sqrt(scale);
  Tensor scores = (q * root).matmul((k * root).transpose(-2, -1));
  std::optional<Tensor> bias = mask;
  if (causal) bias = cresset::ones({q.size(-2), k.size(-2)}, TensorOptions(kBool).device(q.device())).tril();
  if (bias && bias->defined()) {
    const Tensor add =
        bias->scalar_type() == kBool ? cresset::zeros_like(*bias, TensorOptions(q.scalar_type())).masked_fill(bias->logical_not(), -INFINITY) : *bias;
    scores = scores + add;
  }
  Tensor weights = cresset::softmax(scores, -1);
  // A row that nothing may be seen from gives zeros.
  if (bias && bias->defined() && bias->scalar_type() == kBool) weights = weights.masked_fill((scores == -INFINITY).all(-1, true), 0);
  return cresset::dropout(weights, dropout_p, true).matmul(v);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& attn_mask, double dropout_p,
                                    bool is_causal, std::optional<double> scale, bool enable_gqa) {
  const char* op = "scaled_dot_product_attention";
  if (t_kernels == AttentionKernels::none_warned) warn("attention: only kernels of other devices are allowed here; the CPU has MATH and FLASH_ATTENTION");
  CRESSET_CHECK(t_kernels == AttentionKernels::all, op, ": expected at least one of its kernels to be allowed, got none");
  CRESSET_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2, op, ": expected query, key and value to be at least 2 dimensional, got shapes ",
                query.sizes(), ", ", key.sizes(), " and ", value.sizes());
  CRESSET_CHECK(query.scalar_type() == key.scalar_type() && query.scalar_type() == value.scalar_type(), op,
                ": expected query, key and value of one dtype, got ", query.scalar_type(), ", ", key.scalar_type(), " and ", value.scalar_type());
  const bool masked = attn_mask && attn_mask->defined();
  CRESSET_CHECK(!masked || !is_causal, op, ": explicit attn_mask should not be set when is_causal=True");
  CRESSET_CHECK(!masked || attn_mask->scalar_type() == kBool || attn_mask->scalar_type() == query.scalar_type(), op,
                ": expected an attn_mask of dtype bool or of the query's, ", query.scalar_type(), ", got ", masked ? attn_mask->scalar_type() : kBool);
  const double s = scale.value_or(1.0 / std::sqrt(static_cast<double>(query.size(-1))));
  const bool direct = query.dim() == 4 && key.dim() == 4 && value.dim() == 4 && dropout_p == 0 && !(masked && differentiates(*attn_mask)) &&
                      query.size(0) == key.size(0) && key.size(0) == value.size(0) && key.size(1) == value.size(1) && key.size(2) == value.size(2) &&
                      query.size(3) == key.size(3) && query.size(1) == key.size(1) && query.is_cpu() && query.is_floating_point();
  if (direct) return std::get<0>(cresset::_attention(query, key, value, attn_mask, is_causal, s));
  Tensor k = key, v = value;
  if (enable_gqa) {
    CRESSET_CHECK(key.size(-3) > 0 && query.size(-3) % key.size(-3) == 0, op, ": expected the number of query heads to be a multiple of that of key, got ",
                  query.size(-3), " and ", key.size(-3));
    auto spread = [&](const Tensor& t) {
      DimVector shape(t.sizes());
      const size_t h = shape.size() - 3;
      const int64_t groups = query.size(-3) / t.size(-3);
      DimVector wide(shape);
      wide.insert(wide.begin() + h + 1, groups);
      shape[h] *= groups;
      return t.unsqueeze(static_cast<int64_t>(h) + 1).expand(wide).reshape(shape);
    };
    k = spread(k);
    v = spread(v);
  }
  return attention_by_steps(query, k, v, attn_mask, dropout_p, is_causal, s);
}

Tensor linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  CRESSET_CHECK(weight.dim() == 2 || weight.dim() == 1, "linear: expected a weight of 1 or 2 dimensions, got shape ", weight.sizes());
  CRESSET_CHECK(input.dim() >= 1 && input.size(-1) == weight.size(-1), "linear: input and weight shapes cannot be multiplied, got ", input.sizes(), " and ",
                weight.sizes(), " (the weight is used transposed)");
  const bool biased = bias && bias->defined();
  if (weight.dim() == 1) {
    const Tensor out = input.matmul(weight);
    return biased ? out + *bias : out;
  }
  if (input.dim() == 2) return biased ? cresset::addmm(*bias, input, weight.t()) : input.mm(weight.t());
  if (input.dim() == 1) {
    const Tensor out = weight.mv(input);
    return biased ? out + *bias : out;
  }
  DimVector shape(input.sizes());
  shape[shape.size() - 1] = weight.size(0);
  return own(cresset::linear(input.reshape({-1, input.size(-1)}), weight, bias).view(shape));
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const std::optional<Tensor>& bias) {
  CRESSET_CHECK(input1.dim() == input2.dim(), "bilinear: input dimensions do not match, got ", input1.dim(), " and ", input2.dim());
  CRESSET_CHECK(weight.dim() == 3 && input1.size(-1) == weight.size(1) && input2.size(-1) == weight.size(2), "bilinear: shapes ", input1.sizes(), " and ",
                input2.sizes(), " do not fit a weight of shape ", weight.sizes());
  DimVector shape(input1.sizes());
  shape[shape.size() - 1] = weight.size(0);
  const Tensor a = input1.reshape({-1, input1.size(-1)}), b = input2.reshape({-1, input2.size(-1)});
  const Tensor out = cresset::einsum("bi,oij,bj->bo", {a, weight, b}).view(shape);
  return bias && bias->defined() ? out + *bias : out;
}

}  // namespace composite

}  // namespace cresset::ops
