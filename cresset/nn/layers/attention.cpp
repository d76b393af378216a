#include "cresset/nn/layers/activation.h"
#include "cresset/nn/utils/init.h"

namespace cresset::nn {

namespace functional {

MultiheadAttentionForwardFuncOptions::MultiheadAttentionForwardFuncOptions(int64_t embed_dim_to_check, int64_t num_heads, Tensor in_proj_weight,
                                                                           Tensor in_proj_bias, Tensor bias_k, Tensor bias_v, bool add_zero_attn,
                                                                           double dropout_p, Tensor out_proj_weight, Tensor out_proj_bias)
    : embed_dim_to_check_(embed_dim_to_check),
      num_heads_(num_heads),
      in_proj_weight_(std::move(in_proj_weight)),
      in_proj_bias_(std::move(in_proj_bias)),
      bias_k_(std::move(bias_k)),
      bias_v_(std::move(bias_v)),
      add_zero_attn_(add_zero_attn),
      dropout_p_(dropout_p),
      out_proj_weight_(std::move(out_proj_weight)),
      out_proj_bias_(std::move(out_proj_bias)) {}

std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& o) {
  CRESSET_CHECK(query.dim() == 3 && key.dim() == 3 && value.dim() == 3,
                "multi_head_attention: query, key and value must have 3 dimensions (length, batch, embedding), got shapes ", query.sizes(), ", ", key.sizes(),
                " and ", value.sizes());
  const int64_t embed_dim = query.size(2), heads = o.num_heads();
  CRESSET_CHECK(embed_dim == o.embed_dim_to_check(), "multi_head_attention: embedding of query, got ", embed_dim, ", expected ", o.embed_dim_to_check());
  CRESSET_CHECK(key.size(0) == value.size(0) && key.size(1) == value.size(1), "multi_head_attention: key and value differ in length or batch, got shapes ",
                key.sizes(), " and ", value.sizes());
  CRESSET_CHECK(heads > 0 && embed_dim % heads == 0, "multi_head_attention: embed_dim must be divisible by num_heads, got ", embed_dim, " and ", heads);
  CRESSET_CHECK(!o.bias_k().defined() || (!o.static_k().defined() && !o.static_v().defined()),
                "multi_head_attention: bias cannot be added to static key or static value");
  for (const Tensor& mask : {o.attn_mask(), o.key_padding_mask()})
    CRESSET_CHECK(!mask.defined() || mask.scalar_type() == kBool || mask.scalar_type() == kByte || is_floating_type(mask.scalar_type()),
                  "multi_head_attention: masks must be boolean or floating point, got ", mask.scalar_type());
  const bool separate = o.use_separate_proj_weight();
  const auto only = [](bool wanted, const Tensor& t) { return wanted ? t : Tensor(); };
  return cresset::_multi_head_attention(query, key, value, heads, only(!separate, o.in_proj_weight()), o.in_proj_bias(), only(separate, o.q_proj_weight()),
                                        only(separate, o.k_proj_weight()), only(separate, o.v_proj_weight()), o.bias_k(), o.bias_v(), o.static_k(),
                                        o.static_v(), o.add_zero_attn(), o.training() ? o.dropout_p() : 0.0, o.out_proj_weight(), o.out_proj_bias(),
                                        o.key_padding_mask(), o.attn_mask(), false, o.need_weights(), o.average_attn_weights());
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

std::tuple<Tensor, Tensor> MultiheadAttentionImpl::forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& key_padding_mask,
                                                           bool need_weights, const Tensor& attn_mask, bool average_attn_weights) {
  auto o = functional::MultiheadAttentionForwardFuncOptions(options.embed_dim(), options.num_heads(), in_proj_weight, in_proj_bias, bias_k, bias_v,
                                                            options.add_zero_attn(), options.dropout(), out_proj->weight, out_proj->bias)
               .training(is_training())
               .key_padding_mask(key_padding_mask)
               .need_weights(need_weights)
               .attn_mask(attn_mask)
               .average_attn_weights(average_attn_weights);
  if (!_qkv_same_embed_dim) o.use_separate_proj_weight(true).q_proj_weight(q_proj_weight).k_proj_weight(k_proj_weight).v_proj_weight(v_proj_weight);
  return functional::multi_head_attention_forward(query, key, value, o);
}

// Which arguments containers may leave out.
CRESSET_DEFINE_DEFAULT_ARGS(MultiheadAttentionImpl, {3, AnyValue(Tensor())}, {4, AnyValue(true)}, {5, AnyValue(Tensor())}, {6, AnyValue(true)})

}  // namespace cresset::nn
