// Attention with several heads, and products of groups of matrices, as composites.

#include <cmath>
#include <limits>

#include "cresset/dispatch/listen.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/operands.h"

namespace cresset::ops::composite {

namespace {

// Added to scores: minus infinity where a mask of bools is true.
Tensor additive(const std::optional<Tensor>& mask, const Tensor& like) {
  if (!given(mask) || is_floating_type(mask->scalar_type())) return mask.value_or(Tensor());
  const TensorOptions options = TensorOptions(like.scalar_type()).device(mask->device());
  return cresset::zeros(mask->sizes(), options).masked_fill(mask->to(kBool), -std::numeric_limits<double>::infinity());
}

struct Projection {
  Tensor q, k, v;
};

Projection project(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                   const std::optional<Tensor> (&separate)[3]) {
  if (!given(separate[0]) && query.is_same(key) && key.is_same(value)) {
    const Tensor all = cresset::linear(query, *weight, bias);
    if (CRESSET_UNLIKELY(dispatch::is_listening())) {  // by the steps that programs see in PyTorch
      const Tensor apart = all.unflatten(-1, {3, query.size(-1)}).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous();
      return {apart.select(0, 0), apart.select(0, 1), apart.select(0, 2)};
    }
    const std::vector<Tensor> parts = all.chunk(3, -1);
    return {parts[0], parts[1], parts[2]};
  }
  std::vector<Tensor> weights, biases(3);
  if (given(separate[0])) weights = {*separate[0], *separate[1], *separate[2]};
  else weights = weight->chunk(3);
  if (given(bias)) biases = bias->chunk(3);
  return {cresset::linear(query, weights[0], biases[0]), cresset::linear(key, weights[1], biases[1]), cresset::linear(value, weights[2], biases[2])};
}

}  // namespace

std::tuple<Tensor, Tensor> _multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value, int64_t num_heads,
                                                 const std::optional<Tensor>& in_proj_weight, const std::optional<Tensor>& in_proj_bias,
                                                 const std::optional<Tensor>& q_proj_weight, const std::optional<Tensor>& k_proj_weight,
                                                 const std::optional<Tensor>& v_proj_weight, const std::optional<Tensor>& bias_k,
                                                 const std::optional<Tensor>& bias_v, const std::optional<Tensor>& static_k,
                                                 const std::optional<Tensor>& static_v, bool add_zero_attn, double dropout_p, const Tensor& out_proj_weight,
                                                 const std::optional<Tensor>& out_proj_bias, const std::optional<Tensor>& key_padding_mask,
                                                 const std::optional<Tensor>& attn_mask, bool is_causal, bool need_weights, bool average_attn_weights) {
  const int64_t length = query.size(0), batch = query.size(1), embed = query.size(2), head = embed / num_heads, heads = batch * num_heads;
  auto [q, k, v] = project(query, key, value, in_proj_weight, in_proj_bias, {q_proj_weight, k_proj_weight, v_proj_weight});
  // A mask that only says that attention is causal is not needed.
  const bool implied = is_causal && !given(key_padding_mask) && !need_weights;
  is_causal = is_causal && !given(key_padding_mask);
  Tensor mask = implied ? Tensor() : additive(attn_mask, query), padding = additive(key_padding_mask, query);
  if (mask.defined()) {
    const bool flat = mask.dim() == 2;
    const int64_t keys = given(static_k) ? static_k->size(1) : key.size(0);
    const bool fits = mask.size(-2) == length && mask.size(-1) == keys && (flat || (mask.dim() == 3 && (mask.size(0) == heads || mask.size(0) == 1)));
    CRESSET_CHECK(fits, "multi_head_attention_forward: the shape of the ", mask.dim(), "D attn_mask is ", mask.sizes(), ", but should be ",
                  flat ? IntArrayRef({length, keys}) : IntArrayRef({heads, length, keys}));
    if (flat) mask = mask.unsqueeze(0);
  }
  auto widen = [&] {
    if (mask.defined()) mask = cresset::constant_pad_nd(mask, {0, 1});
    if (padding.defined()) padding = cresset::constant_pad_nd(padding, {0, 1});
  };
  if (given(bias_k)) {
    k = cresset::cat({k, bias_k->repeat({1, batch, 1})});
    v = cresset::cat({v, bias_v->repeat({1, batch, 1})});
    widen();
  }
  // The attention kernel reads heads where the projection left them: copies are only for what appends to keys or wants the weights.
  const bool in_place = !given(static_k) && !given(static_v) && !add_zero_attn && !need_weights && !dispatch::is_listening();
  auto split = [&](const Tensor& t) {
    return in_place ? t.view({t.size(0), batch, num_heads, head}).permute({1, 2, 0, 3}) : t.reshape({t.size(0), heads, head}).transpose(0, 1);
  };
  q = split(q);
  k = given(static_k) ? *static_k : split(k);
  v = given(static_v) ? *static_v : split(v);
  if (add_zero_attn) {
    const Tensor zeros = k.new_zeros({heads, 1, head});
    k = cresset::cat({k, zeros}, 1);
    v = cresset::cat({v, zeros}, 1);
    widen();
  }
  const int64_t source = k.size(-2);
  if (padding.defined()) {
    CRESSET_CHECK(padding.dim() == 2 && padding.size(0) == batch && padding.size(1) == source, "multi_head_attention_forward: shape of key_padding_mask, got ",
                  padding.sizes(), ", expected ", IntArrayRef({batch, source}));
    const Tensor each = padding.view({batch, 1, 1, source}).expand({-1, num_heads, -1, -1}).reshape({heads, 1, source});
    mask = mask.defined() ? mask + each : each;
  }
  if (need_weights) {
    const double scale = std::sqrt(1.0 / static_cast<double>(head));
    const Tensor scaled = CRESSET_UNLIKELY(dispatch::is_listening()) ? q * wrapped_scalar_tensor(scale) : q * scale, keys = k.transpose(-2, -1);
    Tensor weights = (mask.defined() ? cresset::baddbmm(mask, scaled, keys) : cresset::bmm(scaled, keys)).softmax(-1);
    if (dropout_p > 0) weights = cresset::dropout(weights, dropout_p, true);
    const Tensor out = cresset::linear(cresset::bmm(weights, v).transpose(0, 1).reshape({length * batch, embed}), out_proj_weight, out_proj_bias);
    weights = weights.view({batch, num_heads, length, source});
    return {out.view({length, batch, out.size(-1)}), average_attn_weights ? weights.mean(1) : weights};
  }
  if (mask.defined()) mask = mask.size(0) == 1 ? mask.unsqueeze(0) : mask.view({batch, num_heads, mask.size(1), source});
  auto apart = [&](const Tensor& t) { return in_place ? t : t.reshape({batch, num_heads, t.size(1), head}); };
  std::optional<Tensor> added;
  if (mask.defined()) added = mask;
  const Tensor attended = cresset::scaled_dot_product_attention(apart(q), apart(k), apart(v), added, dropout_p, is_causal);
  const Tensor out = cresset::linear(attended.permute({2, 0, 1, 3}).reshape({length * batch, embed}), out_proj_weight, out_proj_bias);
  return {out.view({length, batch, out.size(-1)}), Tensor()};
}

// ---- products of groups -------------------------------------------------------------------------------------------------

namespace {

std::vector<std::pair<int64_t, int64_t>> groups_of(int64_t count, const Tensor& offs) {
  CRESSET_CHECK(offs.scalar_type() == kInt, "grouped_mm: expected offsets of int32, got ", offs.scalar_type());
  CRESSET_CHECK(offs.dim() == 1 && offs.numel() > 0, "grouped_mm: offs has to be 1-d and not empty, got shape ", offs.sizes());
  std::vector<std::pair<int64_t, int64_t>> groups;
  const Tensor ends = offs.to(kCPU).contiguous();
  int64_t start = 0;
  for (int64_t i = 0; i < ends.numel(); i++) {
    const int64_t end = ends.data_ptr<int32_t>()[i];
    CRESSET_CHECK(start <= end && end <= count, "grouped_mm: offs must ascend up to at most ", count, ", got ", end, " after ", start);
    groups.emplace_back(start, end);
    start = end;
  }
  return groups;
}

// a @ b over the groups of two matrices or stacks of them.
Tensor grouped(const char* name, const Tensor& a, const Tensor& b, const std::optional<Tensor>& offs) {
  CRESSET_CHECK((a.dim() == 2 || a.dim() == 3) && (b.dim() == 2 || b.dim() == 3), name, ": both matrices have to be 2- or 3-d, got shapes ", a.sizes(), " and ",
                b.sizes());
  CRESSET_CHECK(given(offs) == (a.dim() == 2 || b.dim() == 2), name, ": expected offsets with a matrix of two dimensions, and none without");
  CRESSET_CHECK(a.size(-1) == b.size(-2), name, ": contraction dimension of mat_a and mat_b must match, got shapes ", a.sizes(), " and ", b.sizes());
  if (!given(offs)) {
    CRESSET_CHECK(a.size(0) == b.size(0), name, ": batched dimension has to match, got shapes ", a.sizes(), " and ", b.sizes());
    return a.matmul(b);
  }
  const bool both = a.dim() == b.dim();
  const auto groups = groups_of(both ? a.size(1) : a.dim() == 2 ? a.size(0) : b.size(1), *offs);
  const int64_t matrices = both ? static_cast<int64_t>(groups.size()) : a.dim() == 3 ? a.size(0) : b.size(0);
  CRESSET_CHECK(matrices == static_cast<int64_t>(groups.size()), name, ": matrix batch sizes have to match, got ", matrices, " matrices and ", groups.size(),
                " offsets");
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < matrices; i++) {
    const auto [start, end] = groups[static_cast<size_t>(i)];
    const int64_t n = end - start;
    parts.push_back(both           ? a.narrow(1, start, n).matmul(b.narrow(0, start, n))
                    : a.dim() == 2 ? a.narrow(0, start, n).matmul(b.select(0, i))
                                   : a.select(0, i).matmul(b.narrow(1, start, n)));
  }
  if (both) return cresset::stack(parts);
  const int64_t rest = (a.dim() == 2 ? a.size(0) : b.size(1)) - groups.back().second;
  if (rest) parts.push_back(a.dim() == 2 ? parts[0].new_zeros({rest, b.size(2)}) : parts[0].new_zeros({a.size(1), rest}));
  return cresset::cat(parts, a.dim() == 2 ? 0 : 1);
}

}  // namespace

Tensor _grouped_mm(const Tensor& self, const Tensor& mat2, const std::optional<Tensor>& offs, const std::optional<Tensor>& bias,
                   std::optional<ScalarType> out_dtype) {
  const ScalarType t = self.scalar_type();
  CRESSET_CHECK(t == kFloat || t == kBFloat16 || t == kHalf, "grouped_mm: expected a matrix of float32, bfloat16 or float16, got ", t);
  CRESSET_CHECK(mat2.scalar_type() == t, "grouped_mm: expected matrices of one dtype, got ", t, " and ", mat2.scalar_type());
  CRESSET_CHECK(!given(bias), "grouped_mm: takes no bias");
  CRESSET_CHECK(!out_dtype || *out_dtype == t, "grouped_mm: expected an out_dtype of ", t, ", got ", out_dtype.value_or(t));
  return grouped("grouped_mm", self, mat2, offs);
}

Tensor _scaled_grouped_mm(const Tensor& self, const Tensor& mat2, const Tensor& scale_a, const Tensor& scale_b, const std::optional<Tensor>& offs,
                          const std::optional<Tensor>& bias, const std::optional<Tensor>& scale_result, std::optional<ScalarType> out_dtype, bool) {
  const char* name = "scaled_grouped_mm";
  CRESSET_CHECK(!given(bias) && !given(scale_result), name, ": takes no bias, and no scale of the result");
  CRESSET_CHECK(self.itemsize() == 1 && mat2.itemsize() == 1, name, ": expected float8 matrices, got ", self.scalar_type(), " and ", mat2.scalar_type());
  const ScalarType to = out_dtype.value_or(kBFloat16);
  const bool both = self.dim() == 2 && mat2.dim() == 2;
  const int64_t groups = self.dim() == 3 ? self.size(0) : mat2.dim() == 3 ? mat2.size(0) : given(offs) ? offs->numel() : 0;
  DimVector wanted_a(self.sizes()), wanted_b(mat2.sizes());
  if (both) {
    wanted_a = DimVector{self.size(0) * groups};
    wanted_b = DimVector{mat2.size(1) * groups};
  } else {
    wanted_a.pop_back();
    wanted_b.erase(wanted_b.end() - 2);
  }
  CRESSET_CHECK(scale_a.sizes() == IntArrayRef(wanted_a) && scale_b.sizes() == IntArrayRef(wanted_b), name, ": expected scales of shapes ",
                IntArrayRef(wanted_a), " and ", IntArrayRef(wanted_b), ", got ", scale_a.sizes(), " and ", scale_b.sizes());
  const Tensor a = self.to(kFloat), b = mat2.to(kFloat);
  if (both) return (grouped(name, a, b, offs) * scale_a.view({groups, -1, 1}) * scale_b.view({groups, 1, -1})).to(to);
  return grouped(name, a * scale_a.unsqueeze(-1), b * scale_b.unsqueeze(-2), offs).to(to);
}

}  // namespace cresset::ops::composite
