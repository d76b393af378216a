#include <cmath>
#include <limits>

#include "cresset/nn/activation.h"
#include "cresset/nn/init.h"

namespace cresset::nn {

namespace functional {

MultiheadAttentionForwardFuncOptions::MultiheadAttentionForwardFuncOptions(int64_t embed_dim_to_check, int64_t num_heads,
                                                                           Tensor in_proj_weight, Tensor in_proj_bias, Tensor bias_k,
                                                                           Tensor bias_v, bool add_zero_attn, double dropout_p,
                                                                           Tensor out_proj_weight, Tensor out_proj_bias)
    : embed_dim_to_check_(embed_dim_to_check), num_heads_(num_heads), in_proj_weight_(std::move(in_proj_weight)),
      in_proj_bias_(std::move(in_proj_bias)), bias_k_(std::move(bias_k)), bias_v_(std::move(bias_v)), add_zero_attn_(add_zero_attn),
      dropout_p_(dropout_p), out_proj_weight_(std::move(out_proj_weight)), out_proj_bias_(std::move(out_proj_bias)) {}

namespace {

// Rows [part * embed_dim, (part + 1) * embed_dim) of the packed projection.
Tensor packed_part(const Tensor& packed, int64_t part, int64_t embed_dim) {
  return packed.defined() ? packed.narrow(0, part * embed_dim, embed_dim) : Tensor();
}

// A floating-point mask to add: -inf where a boolean one says "ignore".
Tensor additive_mask(const char* name, const Tensor& mask, const Tensor& like) {
  if (!mask.defined()) return mask;
  CRESSET_CHECK(mask.scalar_type() == kBool || mask.scalar_type() == kByte || is_floating_type(mask.scalar_type()), "multi_head_attention: ", name,
                " must be boolean or floating point, got ", mask.scalar_type());
  if (is_floating_type(mask.scalar_type())) return mask;
  return cresset::zeros(mask.sizes(), like.options().requires_grad(false))
      .masked_fill(mask.to(kBool), -std::numeric_limits<double>::infinity());
}

// (S, N, E) -> (N * heads, S, head_dim).
Tensor split_heads(const Tensor& x, int64_t batch, int64_t heads, int64_t head_dim) {
  return x.contiguous().view({-1, batch * heads, head_dim}).transpose(0, 1);
}

}  // namespace

std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& o) {
  CRESSET_CHECK(query.dim() == 3 && key.dim() == 3 && value.dim() == 3,
                "multi_head_attention: query, key and value must have 3 dimensions (length, batch, embedding), got shapes ", query.sizes(), ", ",
                key.sizes(), " and ", value.sizes());
  const int64_t target = query.size(0), batch = query.size(1), embed_dim = query.size(2), heads = o.num_heads();
  CRESSET_CHECK(embed_dim == o.embed_dim_to_check(), "multi_head_attention: embedding of query, got ", embed_dim, ", expected ",
                o.embed_dim_to_check());
  CRESSET_CHECK(key.size(0) == value.size(0) && key.size(1) == value.size(1), "multi_head_attention: key and value differ in length or batch, got shapes ",
                key.sizes(), " and ", value.sizes());
  CRESSET_CHECK(heads > 0 && embed_dim % heads == 0, "multi_head_attention: embed_dim must be divisible by num_heads, got ", embed_dim, " and ", heads);
  const int64_t head_dim = embed_dim / heads;

  const bool separate = o.use_separate_proj_weight();
  const Tensor wq = separate ? o.q_proj_weight() : packed_part(o.in_proj_weight(), 0, embed_dim);
  const Tensor wk = separate ? o.k_proj_weight() : packed_part(o.in_proj_weight(), 1, embed_dim);
  const Tensor wv = separate ? o.v_proj_weight() : packed_part(o.in_proj_weight(), 2, embed_dim);
  Tensor q = functional::linear(query, wq, packed_part(o.in_proj_bias(), 0, embed_dim)) * (1.0 / std::sqrt(static_cast<double>(head_dim)));
  Tensor k = functional::linear(key, wk, packed_part(o.in_proj_bias(), 1, embed_dim));
  Tensor v = functional::linear(value, wv, packed_part(o.in_proj_bias(), 2, embed_dim));

  Tensor attn_mask = additive_mask("attn_mask", o.attn_mask(), query);
  Tensor padding_mask = additive_mask("key_padding_mask", o.key_padding_mask(), query);
  if (attn_mask.defined() && attn_mask.dim() == 2) attn_mask = attn_mask.unsqueeze(0);
  auto extend_masks = [&] {
    if (attn_mask.defined()) attn_mask = cresset::pad(attn_mask, {0, 1});
    if (padding_mask.defined()) padding_mask = cresset::pad(padding_mask, {0, 1});
  };
  if (o.bias_k().defined() && o.bias_v().defined()) {
    CRESSET_CHECK(!o.static_k().defined() && !o.static_v().defined(), "multi_head_attention: bias_k and bias_v do not go with static_k or static_v");
    k = cresset::cat({k, o.bias_k().repeat({1, batch, 1})});
    v = cresset::cat({v, o.bias_v().repeat({1, batch, 1})});
    extend_masks();
  }
  q = split_heads(q, batch, heads, head_dim);
  k = o.static_k().defined() ? o.static_k() : split_heads(k, batch, heads, head_dim);
  v = o.static_v().defined() ? o.static_v() : split_heads(v, batch, heads, head_dim);
  if (o.add_zero_attn()) {
    const Tensor zero = cresset::zeros({k.size(0), 1, head_dim}, k.options().requires_grad(false));
    k = cresset::cat({k, zero}, 1);
    v = cresset::cat({v, zero}, 1);
    extend_masks();
  }
  const int64_t source = k.size(1);

  Tensor scores = cresset::bmm(q, k.transpose(1, 2));
  if (attn_mask.defined()) {
    CRESSET_CHECK(attn_mask.dim() == 3 && (attn_mask.size(0) == 1 || attn_mask.size(0) == batch * heads) && attn_mask.size(1) == target &&
                      attn_mask.size(2) == source,
                  "multi_head_attention: shape of attn_mask, got ", attn_mask.sizes(), ", expected [", target, ", ", source, "] or [",
                  batch * heads, ", ", target, ", ", source, "]");
    scores = scores + attn_mask;
  }
  if (padding_mask.defined()) {
    CRESSET_CHECK(padding_mask.dim() == 2 && padding_mask.size(0) == batch && padding_mask.size(1) == source,
                  "multi_head_attention: shape of key_padding_mask, got ", padding_mask.sizes(), ", expected [", batch, ", ", source, "]");
    scores = (scores.view({batch, heads, target, source}) + padding_mask.unsqueeze(1).unsqueeze(2)).view({batch * heads, target, source});
  }
  const Tensor weights = cresset::dropout(cresset::softmax(scores, -1), o.dropout_p(), o.training());
  Tensor output = cresset::bmm(weights, v).transpose(0, 1).contiguous().view({target, batch, embed_dim});
  output = functional::linear(output, o.out_proj_weight(), o.out_proj_bias());
  if (!o.need_weights()) return {output, Tensor()};
  const Tensor per_head = weights.view({batch, heads, target, source});
  return {output, o.average_attn_weights() ? per_head.mean(1) : per_head};
}

}  // namespace functional

MultiheadAttentionImpl::MultiheadAttentionImpl(const MultiheadAttentionOptions& o) : Cloneable("torch::nn::MultiheadAttention"), options(o) {
  MultiheadAttentionImpl::reset();
}

void MultiheadAttentionImpl::reset() {
  const int64_t e = options.embed_dim();
  CRESSET_CHECK(options.num_heads() > 0 && e % options.num_heads() == 0, "MultiheadAttention: embed_dim must be divisible by num_heads, got ", e, " and ",
                options.num_heads());
  _qkv_same_embed_dim = options.kdim() == e && options.vdim() == e;
  head_dim = e / options.num_heads();
  if (_qkv_same_embed_dim) {
    in_proj_weight = register_parameter("in_proj_weight", cresset::empty({3 * e, e}));
  } else {
    q_proj_weight = register_parameter("q_proj_weight", cresset::empty({e, e}));
    k_proj_weight = register_parameter("k_proj_weight", cresset::empty({e, options.kdim()}));
    v_proj_weight = register_parameter("v_proj_weight", cresset::empty({e, options.vdim()}));
  }
  in_proj_bias = register_parameter("in_proj_bias", options.bias() ? cresset::empty(3 * e) : Tensor(), options.bias());
  out_proj = register_module("out_proj", Linear(LinearOptions(e, e).bias(options.bias())));
  if (options.add_bias_kv()) {
    bias_k = register_parameter("bias_k", cresset::empty({1, 1, e}));
    bias_v = register_parameter("bias_v", cresset::empty({1, 1, e}));
  } else {
    bias_k = bias_v = Tensor();
  }
  _reset_parameters();
}

void MultiheadAttentionImpl::_reset_parameters() {
  for (const Tensor& weight : {in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight})
    if (weight.defined()) init::xavier_uniform_(weight);
  if (in_proj_bias.defined()) {
    init::constant_(in_proj_bias, 0);
    init::constant_(out_proj->bias, 0);
  }
  if (bias_k.defined()) init::xavier_normal_(bias_k);
  if (bias_v.defined()) init::xavier_normal_(bias_v);
}

std::tuple<Tensor, Tensor> MultiheadAttentionImpl::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                           const Tensor& key_padding_mask, bool need_weights, const Tensor& attn_mask,
                                                           bool average_attn_weights) {
  auto o = functional::MultiheadAttentionForwardFuncOptions(options.embed_dim(), options.num_heads(), in_proj_weight, in_proj_bias, bias_k, bias_v,
                                                            options.add_zero_attn(), options.dropout(), out_proj->weight, out_proj->bias)
               .training(is_training())
               .key_padding_mask(key_padding_mask)
               .need_weights(need_weights)
               .attn_mask(attn_mask)
               .average_attn_weights(average_attn_weights);
  if (!_qkv_same_embed_dim)
    o.use_separate_proj_weight(true).q_proj_weight(q_proj_weight).k_proj_weight(k_proj_weight).v_proj_weight(v_proj_weight);
  return functional::multi_head_attention_forward(query, key, value, o);
}

// Which arguments containers may leave out.
CRESSET_DEFINE_DEFAULT_ARGS(MultiheadAttentionImpl, {3, AnyValue(Tensor())}, {4, AnyValue(true)}, {5, AnyValue(Tensor())}, {6, AnyValue(true)})

}  // namespace cresset::nn
