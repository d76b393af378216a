#include "cresset/nn/layers/transformer.h"

#include <limits>

#include "cresset/nn/utils/init.h"

namespace cresset::nn {

namespace {

Tensor attend(MultiheadAttention& attention, const Tensor& query, const Tensor& memory, const Tensor& mask, const Tensor& padding) {
  return std::get<0>(attention->forward(query, memory, memory, padding, /*need_weights=*/false, mask));
}

void reset_layer_norm(LayerNorm& norm) { norm->reset_parameters(); }

}  // namespace

Tensor activation_t::operator()(const Tensor& x) const {
  if (function_) return function_(x);
  return gelu_ ? cresset::gelu(x) : cresset::relu(x);
}

TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(TransformerEncoderLayerOptions o) : options(std::move(o)) { TransformerEncoderLayerImpl::reset(); }

void TransformerEncoderLayerImpl::reset() {
  const double p = options.dropout();
  self_attn = register_module("self_attn", MultiheadAttention(MultiheadAttentionOptions(options.d_model(), options.nhead()).dropout(p)));
  linear1 = register_module("linear1", Linear(options.d_model(), options.dim_feedforward()));
  dropout = register_module("dropout", Dropout(p));
  linear2 = register_module("linear2", Linear(options.dim_feedforward(), options.d_model()));
  norm1 = register_module("norm1", LayerNorm(LayerNormOptions({options.d_model()})));
  norm2 = register_module("norm2", LayerNorm(LayerNormOptions({options.d_model()})));
  dropout1 = register_module("dropout1", Dropout(p));
  dropout2 = register_module("dropout2", Dropout(p));
}

void TransformerEncoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  linear1->reset_parameters();
  linear2->reset_parameters();
  reset_layer_norm(norm1);
  reset_layer_norm(norm2);
}

Tensor TransformerEncoderLayerImpl::forward(const Tensor& src, const Tensor& src_mask, const Tensor& src_key_padding_mask) {
  const Tensor x = norm1(src + dropout1(attend(self_attn, src, src, src_mask, src_key_padding_mask)));
  return norm2(x + dropout2(linear2(dropout(options.activation()(linear1(x))))));
}

TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(TransformerDecoderLayerOptions o) : options(std::move(o)) { TransformerDecoderLayerImpl::reset(); }

void TransformerDecoderLayerImpl::reset() {
  const double p = options.dropout();
  const auto attention = MultiheadAttentionOptions(options.d_model(), options.nhead()).dropout(p);
  const LayerNormOptions norm({options.d_model()});
  self_attn = register_module("self_attn", MultiheadAttention(attention));
  multihead_attn = register_module("multihead_attn", MultiheadAttention(attention));
  linear1 = register_module("linear1", Linear(options.d_model(), options.dim_feedforward()));
  dropout = register_module("dropout", Dropout(p));
  linear2 = register_module("linear2", Linear(options.dim_feedforward(), options.d_model()));
  norm1 = register_module("norm1", LayerNorm(norm));
  norm2 = register_module("norm2", LayerNorm(norm));
  norm3 = register_module("norm3", LayerNorm(norm));
  dropout1 = register_module("dropout1", Dropout(p));
  dropout2 = register_module("dropout2", Dropout(p));
  dropout3 = register_module("dropout3", Dropout(p));
}

void TransformerDecoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  multihead_attn->_reset_parameters();
  linear1->reset_parameters();
  linear2->reset_parameters();
  for (LayerNorm* norm : {&norm1, &norm2, &norm3}) reset_layer_norm(*norm);
}

Tensor TransformerDecoderLayerImpl::forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask, const Tensor& memory_mask,
                                            const Tensor& tgt_key_padding_mask, const Tensor& memory_key_padding_mask) {
  Tensor x = norm1(tgt + dropout1(attend(self_attn, tgt, tgt, tgt_mask, tgt_key_padding_mask)));
  x = norm2(x + dropout2(attend(multihead_attn, x, memory, memory_mask, memory_key_padding_mask)));
  return norm3(x + dropout3(linear2(dropout(options.activation()(linear1(x))))));
}

TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderOptions o) : options(std::move(o)) { TransformerEncoderImpl::reset(); }

void TransformerEncoderImpl::reset() {
  layers = register_module("layers", ModuleList());
  for (int64_t i = 0; i < options.num_layers(); i++) layers->push_back(options.encoder_layer()->clone());
  if (options.norm().is_empty()) return;
  norm = options.norm().clone();
  register_module("norm", norm.ptr());
}

void TransformerEncoderImpl::reset_parameters() {
  CRESSET_CHECK_VALUE(options.num_layers() > 0, "transformer: num_layers must be positive, got ", options.num_layers());
  for (const auto& layer : *layers) layer->as<TransformerEncoderLayer>()->reset_parameters();
}

Tensor TransformerEncoderImpl::forward(const Tensor& src, const Tensor& src_mask, const Tensor& src_key_padding_mask) {
  CRESSET_CHECK(layers->size() > 0, "transformer: the encoder has no layers");
  Tensor x = src;
  for (const auto& layer : *layers) x = layer->as<TransformerEncoderLayer>()->forward(x, src_mask, src_key_padding_mask);
  return norm.is_empty() ? x : norm.forward(x);
}

TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderOptions o) : options(std::move(o)) { TransformerDecoderImpl::reset(); }

void TransformerDecoderImpl::reset() {
  layers = register_module("layers", ModuleList());
  for (int64_t i = 0; i < options.num_layers(); i++) layers->push_back(options.decoder_layer()->clone());
  if (options.norm().is_empty()) return;
  norm = options.norm().clone();
  register_module("norm", norm.ptr());
}

void TransformerDecoderImpl::reset_parameters() {
  CRESSET_CHECK_VALUE(options.num_layers() > 0, "transformer: num_layers must be positive, got ", options.num_layers());
  for (const auto& layer : *layers) layer->as<TransformerDecoderLayer>()->reset_parameters();
}

Tensor TransformerDecoderImpl::forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask, const Tensor& memory_mask,
                                       const Tensor& tgt_key_padding_mask, const Tensor& memory_key_padding_mask) {
  CRESSET_CHECK(layers->size() > 0, "transformer: the decoder has no layers");
  Tensor x = tgt;
  for (const auto& layer : *layers)
    x = layer->as<TransformerDecoderLayer>()->forward(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
  return norm.is_empty() ? x : norm.forward(x);
}

TransformerImpl::TransformerImpl(TransformerOptions o) : options(std::move(o)) { TransformerImpl::reset(); }

void TransformerImpl::reset() {
  const TransformerOptions& o = options;
  const auto layer =
      TransformerEncoderLayerOptions(o.d_model(), o.nhead()).dim_feedforward(o.dim_feedforward()).dropout(o.dropout()).activation(o.activation());
  const LayerNormOptions norm({o.d_model()});
  encoder = o.custom_encoder().is_empty()
                ? AnyModule(TransformerEncoder(TransformerEncoderOptions(layer, o.num_encoder_layers()).norm(AnyModule(LayerNorm(norm)))))
                : o.custom_encoder().clone();
  register_module("encoder", encoder.ptr());
  decoder = o.custom_decoder().is_empty()
                ? AnyModule(TransformerDecoder(TransformerDecoderOptions(layer, o.num_decoder_layers()).norm(AnyModule(LayerNorm(norm)))))
                : o.custom_decoder().clone();
  register_module("decoder", decoder.ptr());
  reset_parameters();
}

void TransformerImpl::reset_parameters() {
  for (const Tensor& p : parameters())
    if (p.dim() > 1) init::xavier_uniform_(p);
}

Tensor TransformerImpl::forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask, const Tensor& tgt_mask, const Tensor& memory_mask,
                                const Tensor& src_key_padding_mask, const Tensor& tgt_key_padding_mask, const Tensor& memory_key_padding_mask) {
  CRESSET_CHECK(src.dim() == 3 && tgt.dim() == 3, "transformer: src and tgt should have 3 dimensions, got shapes ", src.sizes(), " and ", tgt.sizes());
  CRESSET_CHECK(src.size(1) == tgt.size(1), "transformer: src and tgt should have equal batch size, got ", src.size(1), " and ", tgt.size(1));
  CRESSET_CHECK(src.size(2) == options.d_model() && tgt.size(2) == options.d_model(), "transformer: src and tgt should have same feature size as d_model, ",
                options.d_model(), ", got ", src.size(2), " and ", tgt.size(2));
  const Tensor memory = encoder.forward(src, src_mask, src_key_padding_mask);
  return decoder.forward(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
}

Tensor TransformerImpl::generate_square_subsequent_mask(int64_t size) {
  CRESSET_CHECK_VALUE(size >= 0, "transformer: size of a mask must not be negative, got ", size);
  return cresset::full({size, size}, -std::numeric_limits<float>::infinity()).triu(1);
}

// Which arguments containers may leave out.
CRESSET_DEFINE_DEFAULT_ARGS(TransformerEncoderLayerImpl, {1, AnyValue(Tensor())}, {2, AnyValue(Tensor())})
CRESSET_DEFINE_DEFAULT_ARGS(TransformerDecoderLayerImpl, {2, AnyValue(Tensor())}, {3, AnyValue(Tensor())}, {4, AnyValue(Tensor())}, {5, AnyValue(Tensor())})
CRESSET_DEFINE_DEFAULT_ARGS(TransformerEncoderImpl, {1, AnyValue(Tensor())}, {2, AnyValue(Tensor())})
CRESSET_DEFINE_DEFAULT_ARGS(TransformerDecoderImpl, {2, AnyValue(Tensor())}, {3, AnyValue(Tensor())}, {4, AnyValue(Tensor())}, {5, AnyValue(Tensor())})
CRESSET_DEFINE_DEFAULT_ARGS(TransformerImpl, {2, AnyValue(Tensor())}, {3, AnyValue(Tensor())}, {4, AnyValue(Tensor())}, {5, AnyValue(Tensor())},
                            {6, AnyValue(Tensor())}, {7, AnyValue(Tensor())})

}  // namespace cresset::nn
