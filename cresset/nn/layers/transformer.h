#pragma once
// Transformer: layers of attention and feed-forward networks, normalised after each part; stacks of them; encoder and decoder together.
// Sequences are (length, batch, features).

#include "cresset/base/std_function.h"

#include "cresset/nn/layers/activation.h"
#include "cresset/nn/layers/dropout.h"
#include "cresset/nn/layers/linear.h"
#include "cresset/nn/layers/normalization.h"
#include "cresset/nn/module/any.h"
#include "cresset/nn/module/containers.h"
#include "cresset/nn/module/layer.h"

namespace cresset::nn {

// The activation between the two linear layers: kReLU, kGELU, or a function.
class CRESSET_API activation_t {
 public:
  using Function = std::function<Tensor(const Tensor&)>;
  activation_t(enumtype::kReLU) {}
  activation_t(enumtype::kGELU) : gelu_(true) {}
  template <class F, class = std::enable_if_t<std::is_convertible<F, Function>::value && !std::is_same<std::decay_t<F>, activation_t>::value>>
  activation_t(F function) : function_(std::move(function)) {}
  Tensor operator()(const Tensor& x) const;

 private:
  Function function_;
  bool gelu_ = false;
};

struct CRESSET_API TransformerEncoderLayerOptions {
  TransformerEncoderLayerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  CRESSET_ARG(int64_t, d_model);
  CRESSET_ARG(int64_t, nhead);
  CRESSET_ARG(int64_t, dim_feedforward) = 2048;
  CRESSET_ARG(double, dropout) = 0.1;
  CRESSET_ARG(activation_t, activation) = kReLU;
};
using TransformerDecoderLayerOptions = TransformerEncoderLayerOptions;

// Self-attention, then a feed-forward network.
class CRESSET_API TransformerEncoderLayerImpl : public Cloneable<TransformerEncoderLayerImpl> {
 public:
  TransformerEncoderLayerImpl(int64_t d_model, int64_t nhead);
  explicit TransformerEncoderLayerImpl(TransformerEncoderLayerOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {});

  TransformerEncoderLayerOptions options;
  MultiheadAttention self_attn = nullptr;
  Linear linear1 = nullptr;
  Dropout dropout = nullptr;
  Linear linear2 = nullptr;
  LayerNorm norm1 = nullptr, norm2 = nullptr;
  Dropout dropout1 = nullptr, dropout2 = nullptr;
  CRESSET_DECLARE_DEFAULT_ARGS()
};
CRESSET_MODULE(TransformerEncoderLayer);
CRESSET_IN_LAYERS(TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(int64_t d_model, int64_t nhead)
                  : TransformerEncoderLayerImpl(TransformerEncoderLayerOptions(d_model, nhead)){})

// Self-attention, attention to `memory`, then a feed-forward network.
class CRESSET_API TransformerDecoderLayerImpl : public Cloneable<TransformerDecoderLayerImpl> {
 public:
  TransformerDecoderLayerImpl(int64_t d_model, int64_t nhead);
  explicit TransformerDecoderLayerImpl(TransformerDecoderLayerOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {}, const Tensor& tgt_key_padding_mask = {},
                 const Tensor& memory_key_padding_mask = {});

  TransformerDecoderLayerOptions options;
  MultiheadAttention self_attn = nullptr;
  Dropout dropout1 = nullptr;
  LayerNorm norm1 = nullptr;
  MultiheadAttention multihead_attn = nullptr;
  Dropout dropout2 = nullptr;
  LayerNorm norm2 = nullptr;
  Linear linear1 = nullptr;
  Dropout dropout = nullptr;
  Linear linear2 = nullptr;
  Dropout dropout3 = nullptr;
  LayerNorm norm3 = nullptr;
  CRESSET_DECLARE_DEFAULT_ARGS()
};
CRESSET_MODULE(TransformerDecoderLayer);
CRESSET_IN_LAYERS(TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(int64_t d_model, int64_t nhead)
                  : TransformerDecoderLayerImpl(TransformerDecoderLayerOptions(d_model, nhead)){})

struct CRESSET_API TransformerEncoderOptions {
  TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, int64_t num_layers) : encoder_layer_(std::move(encoder_layer)), num_layers_(num_layers) {}
  TransformerEncoderOptions(const TransformerEncoderLayerOptions& layer, int64_t num_layers)
      : TransformerEncoderOptions(TransformerEncoderLayer(layer), num_layers) {}
  // Copied for each layer.
  CRESSET_ARG(TransformerEncoderLayer, encoder_layer) = nullptr;
  CRESSET_ARG(int64_t, num_layers);
  // Applied to the output, if there is one.
  CRESSET_ARG(AnyModule, norm);
};
struct CRESSET_API TransformerDecoderOptions {
  TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, int64_t num_layers) : decoder_layer_(std::move(decoder_layer)), num_layers_(num_layers) {}
  TransformerDecoderOptions(const TransformerDecoderLayerOptions& layer, int64_t num_layers)
      : TransformerDecoderOptions(TransformerDecoderLayer(layer), num_layers) {}
  CRESSET_ARG(TransformerDecoderLayer, decoder_layer) = nullptr;
  CRESSET_ARG(int64_t, num_layers);
  CRESSET_ARG(AnyModule, norm);
};

class CRESSET_API TransformerEncoderImpl : public Cloneable<TransformerEncoderImpl> {
 public:
  TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, int64_t num_layers);
  explicit TransformerEncoderImpl(TransformerEncoderOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {});

  TransformerEncoderOptions options;
  ModuleList layers = nullptr;
  AnyModule norm;
  CRESSET_DECLARE_DEFAULT_ARGS()
};
CRESSET_MODULE(TransformerEncoder);
CRESSET_IN_LAYERS(TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, int64_t num_layers)
                  : TransformerEncoderImpl(TransformerEncoderOptions(std::move(encoder_layer), num_layers)){})

class CRESSET_API TransformerDecoderImpl : public Cloneable<TransformerDecoderImpl> {
 public:
  TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, int64_t num_layers);
  explicit TransformerDecoderImpl(TransformerDecoderOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {}, const Tensor& tgt_key_padding_mask = {},
                 const Tensor& memory_key_padding_mask = {});

  TransformerDecoderOptions options;
  ModuleList layers = nullptr;
  AnyModule norm;
  CRESSET_DECLARE_DEFAULT_ARGS()
};
CRESSET_MODULE(TransformerDecoder);
CRESSET_IN_LAYERS(TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, int64_t num_layers)
                  : TransformerDecoderImpl(TransformerDecoderOptions(std::move(decoder_layer), num_layers)){})

struct CRESSET_API TransformerOptions {
  TransformerOptions() = default;
  TransformerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  TransformerOptions(int64_t d_model, int64_t nhead, int64_t num_encoder_layers, int64_t num_decoder_layers)
      : d_model_(d_model), nhead_(nhead), num_encoder_layers_(num_encoder_layers), num_decoder_layers_(num_decoder_layers) {}
  CRESSET_ARG(int64_t, d_model) = 512;
  CRESSET_ARG(int64_t, nhead) = 8;
  CRESSET_ARG(int64_t, num_encoder_layers) = 6;
  CRESSET_ARG(int64_t, num_decoder_layers) = 6;
  CRESSET_ARG(int64_t, dim_feedforward) = 2048;
  CRESSET_ARG(double, dropout) = 0.1;
  CRESSET_ARG(activation_t, activation) = kReLU;
  // In place of our own, if given.
  CRESSET_ARG(AnyModule, custom_encoder);
  CRESSET_ARG(AnyModule, custom_decoder);
};

class CRESSET_API TransformerImpl : public Cloneable<TransformerImpl> {
 public:
  explicit TransformerImpl(TransformerOptions options = TransformerOptions());
  void reset() override;
  void reset_parameters();
  // Errors: src and tgt of different batch sizes, or of another size than d_model.
  Tensor forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {}, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& src_key_padding_mask = {}, const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {});
  // (size, size): 0 on and below the diagonal, -inf above.
  static Tensor generate_square_subsequent_mask(int64_t size);

  TransformerOptions options;
  AnyModule encoder, decoder;
  CRESSET_DECLARE_DEFAULT_ARGS()
};
CRESSET_MODULE(Transformer);

}  // namespace cresset::nn
