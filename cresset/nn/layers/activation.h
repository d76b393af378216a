#pragma once
// Activation functions, the softmax family, multi-head attention.

#include <optional>
#include <tuple>

#include "cresset/nn/layers/linear.h"
#include "cresset/nn/module/any.h"
#include "cresset/nn/module/layer.h"

namespace cresset::nn {

struct CRESSET_API ELUOptions {
  CRESSET_ARG(double, alpha) = 1.0;
  CRESSET_ARG(bool, inplace) = false;
};
struct CRESSET_API SELUOptions {
  SELUOptions(bool inplace = false) : inplace_(inplace) {}
  CRESSET_ARG(bool, inplace);
};
struct CRESSET_API GLUOptions {
  GLUOptions(int64_t dim = -1) : dim_(dim) {}
  CRESSET_ARG(int64_t, dim);
};
struct CRESSET_API GELUOptions {
  // "none" (exact) or "tanh".
  CRESSET_ARG(std::string, approximate) = "none";
};
struct CRESSET_API HardshrinkOptions {
  HardshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  CRESSET_ARG(double, lambda);
};
struct CRESSET_API HardtanhOptions {
  CRESSET_ARG(double, min_val) = -1.0;
  CRESSET_ARG(double, max_val) = 1.0;
  CRESSET_ARG(bool, inplace) = false;
};
struct CRESSET_API LeakyReLUOptions {
  CRESSET_ARG(double, negative_slope) = 1e-2;
  CRESSET_ARG(bool, inplace) = false;
};
struct CRESSET_API SoftmaxOptions {
  SoftmaxOptions(int64_t dim) : dim_(dim) {}
  CRESSET_ARG(int64_t, dim);
};
using SoftminOptions = SoftmaxOptions;
using LogSoftmaxOptions = SoftmaxOptions;
struct CRESSET_API PReLUOptions {
  CRESSET_ARG(int64_t, num_parameters) = 1;
  CRESSET_ARG(double, init) = 0.25;
};
struct CRESSET_API ReLUOptions {
  ReLUOptions(bool inplace = false) : inplace_(inplace) {}
  CRESSET_ARG(bool, inplace);
};
struct CRESSET_API ReLU6Options {
  ReLU6Options(bool inplace = false) : inplace_(inplace) {}
  CRESSET_ARG(bool, inplace);
};
struct CRESSET_API RReLUOptions {
  CRESSET_ARG(double, lower) = 1.0 / 8.0;
  CRESSET_ARG(double, upper) = 1.0 / 3.0;
  CRESSET_ARG(bool, inplace) = false;
};
struct CRESSET_API CELUOptions {
  CRESSET_ARG(double, alpha) = 1.0;
  CRESSET_ARG(bool, inplace) = false;
};
struct CRESSET_API SoftplusOptions {
  CRESSET_ARG(double, beta) = 1.0;
  CRESSET_ARG(double, threshold) = 20.0;
};
struct CRESSET_API SoftshrinkOptions {
  SoftshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  CRESSET_ARG(double, lambda);
};
struct CRESSET_API ThresholdOptions {
  ThresholdOptions(double threshold, double value) : threshold_(threshold), value_(value) {}
  CRESSET_ARG(double, threshold);
  CRESSET_ARG(double, value);
  CRESSET_ARG(bool, inplace) = false;
};

#define CRESSET_DECLARE_ACTIVATION(Name)                                                  \
  class CRESSET_API Name##Impl : public detail::OptionsLayer<Name##Impl, Name##Options> { \
   public:                                                                                \
    explicit Name##Impl(const Name##Options& options = {});                               \
    void pretty_print(std::ostream& stream) const override;                               \
    Tensor forward(Tensor input);                                                         \
  };                                                                                      \
  CRESSET_MODULE(Name);                                                                   \
  CRESSET_IN_LAYERS(Name##Impl::Name##Impl(const Name##Options& options) : OptionsLayer(options){})
CRESSET_DECLARE_ACTIVATION(ELU)
CRESSET_DECLARE_ACTIVATION(SELU)
CRESSET_DECLARE_ACTIVATION(GLU)
CRESSET_DECLARE_ACTIVATION(GELU)
CRESSET_DECLARE_ACTIVATION(Hardshrink)
CRESSET_DECLARE_ACTIVATION(LeakyReLU)
CRESSET_DECLARE_ACTIVATION(ReLU)
CRESSET_DECLARE_ACTIVATION(ReLU6)
CRESSET_DECLARE_ACTIVATION(RReLU)
CRESSET_DECLARE_ACTIVATION(CELU)
CRESSET_DECLARE_ACTIVATION(Softplus)
CRESSET_DECLARE_ACTIVATION(Softshrink)
#undef CRESSET_DECLARE_ACTIVATION

class CRESSET_API HardtanhImpl : public detail::OptionsLayer<HardtanhImpl, HardtanhOptions> {
 public:
  // Errors: min_val is not below max_val.
  explicit HardtanhImpl(const HardtanhOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
};
CRESSET_MODULE(Hardtanh);

#define CRESSET_DECLARE_PLAIN_ACTIVATION(Name)                           \
  class CRESSET_API Name##Impl : public detail::PlainLayer<Name##Impl> { \
   public:                                                               \
    void pretty_print(std::ostream& stream) const override;              \
    Tensor forward(const Tensor& input);                                 \
  };                                                                     \
  CRESSET_MODULE(Name);
CRESSET_DECLARE_PLAIN_ACTIVATION(LogSigmoid)
CRESSET_DECLARE_PLAIN_ACTIVATION(SiLU)
CRESSET_DECLARE_PLAIN_ACTIVATION(Mish)
CRESSET_DECLARE_PLAIN_ACTIVATION(Sigmoid)
CRESSET_DECLARE_PLAIN_ACTIVATION(Softsign)
CRESSET_DECLARE_PLAIN_ACTIVATION(Tanh)
CRESSET_DECLARE_PLAIN_ACTIVATION(Tanhshrink)
// Over the channels of (N, C, H, W) or (C, H, W).
CRESSET_DECLARE_PLAIN_ACTIVATION(Softmax2d)
#undef CRESSET_DECLARE_PLAIN_ACTIVATION

#define CRESSET_DECLARE_SOFTMAX(Name)                                                       \
  class CRESSET_API Name##Impl : public detail::OptionsLayer<Name##Impl, Name##Options> {   \
   public:                                                                                  \
    explicit Name##Impl(int64_t dim);                                                       \
    explicit Name##Impl(const Name##Options& options);                                      \
    void pretty_print(std::ostream& stream) const override;                                 \
    Tensor forward(const Tensor& input);                                                    \
  };                                                                                        \
  CRESSET_MODULE(Name);                                                                     \
  CRESSET_IN_LAYERS(Name##Impl::Name##Impl(int64_t dim) : Name##Impl(Name##Options(dim)){}) \
  CRESSET_IN_LAYERS(Name##Impl::Name##Impl(const Name##Options& options) : OptionsLayer(options){})
CRESSET_DECLARE_SOFTMAX(Softmax)
CRESSET_DECLARE_SOFTMAX(Softmin)
CRESSET_DECLARE_SOFTMAX(LogSoftmax)
#undef CRESSET_DECLARE_SOFTMAX

class CRESSET_API ThresholdImpl : public detail::OptionsLayer<ThresholdImpl, ThresholdOptions> {
 public:
  ThresholdImpl(double threshold, double value);
  explicit ThresholdImpl(const ThresholdOptions& options);
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
};
CRESSET_MODULE(Threshold);
CRESSET_IN_LAYERS(ThresholdImpl::ThresholdImpl(double threshold, double value) : ThresholdImpl(ThresholdOptions(threshold, value)){})
CRESSET_IN_LAYERS(ThresholdImpl::ThresholdImpl(const ThresholdOptions& options) : OptionsLayer(options){})

// Learns the slope for negative inputs, one for all channels or one each.
class CRESSET_API PReLUImpl : public Cloneable<PReLUImpl> {
 public:
  explicit PReLUImpl(const PReLUOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  PReLUOptions options;
  Tensor weight;
};
CRESSET_MODULE(PReLU);

struct CRESSET_API MultiheadAttentionOptions {
  MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads) : embed_dim_(embed_dim), num_heads_(num_heads), kdim_(embed_dim), vdim_(embed_dim) {}
  CRESSET_ARG(int64_t, embed_dim);
  CRESSET_ARG(int64_t, num_heads);
  CRESSET_ARG(double, dropout) = 0.0;
  CRESSET_ARG(bool, bias) = true;
  CRESSET_ARG(bool, add_bias_kv) = false;
  CRESSET_ARG(bool, add_zero_attn) = false;
  CRESSET_ARG(int64_t, kdim);
  CRESSET_ARG(int64_t, vdim);
};

// query (L, N, E), key (S, N, kdim), value (S, N, vdim) -> output (L, N, E), weights (N, L, S).
class CRESSET_API MultiheadAttentionImpl : public Cloneable<MultiheadAttentionImpl> {
 public:
  MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads);
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options);
  std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& key_padding_mask = {}, bool need_weights = true,
                                     const Tensor& attn_mask = {}, bool average_attn_weights = true);
  void reset() override;
  void _reset_parameters();

  MultiheadAttentionOptions options;
  bool _qkv_same_embed_dim = true;
  Tensor in_proj_weight, in_proj_bias;
  Linear out_proj = nullptr;
  Tensor bias_k, bias_v;
  int64_t head_dim = 0;
  Tensor q_proj_weight, k_proj_weight, v_proj_weight;
  CRESSET_DECLARE_DEFAULT_ARGS()
};
CRESSET_MODULE(MultiheadAttention);
CRESSET_IN_LAYERS(MultiheadAttentionImpl::MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads)
                  : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)){})

namespace functional {

using ELUFuncOptions = ELUOptions;
using SELUFuncOptions = SELUOptions;
using GLUFuncOptions = GLUOptions;
using GELUFuncOptions = GELUOptions;
using HardshrinkFuncOptions = HardshrinkOptions;
using HardtanhFuncOptions = HardtanhOptions;
using LeakyReLUFuncOptions = LeakyReLUOptions;
using ReLUFuncOptions = ReLUOptions;
using ReLU6FuncOptions = ReLU6Options;
using CELUFuncOptions = CELUOptions;
using SoftplusFuncOptions = SoftplusOptions;
using SoftshrinkFuncOptions = SoftshrinkOptions;
using ThresholdFuncOptions = ThresholdOptions;
struct CRESSET_API RReLUFuncOptions {
  CRESSET_ARG(double, lower) = 1.0 / 8.0;
  CRESSET_ARG(double, upper) = 1.0 / 3.0;
  CRESSET_ARG(bool, training) = false;
  CRESSET_ARG(bool, inplace) = false;
};
struct CRESSET_API SoftmaxFuncOptions {
  SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
  CRESSET_ARG(int64_t, dim);
  // The input is cast to it first.
  CRESSET_ARG(std::optional<ScalarType>, dtype) = std::nullopt;
};
using SoftminFuncOptions = SoftmaxFuncOptions;
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
struct CRESSET_API GumbelSoftmaxFuncOptions {
  CRESSET_ARG(double, tau) = 1.0;
  CRESSET_ARG(bool, hard) = false;
  CRESSET_ARG(int, dim) = -1;
};
struct CRESSET_API MultiheadAttentionForwardFuncOptions {
  MultiheadAttentionForwardFuncOptions(int64_t embed_dim_to_check, int64_t num_heads, Tensor in_proj_weight, Tensor in_proj_bias, Tensor bias_k, Tensor bias_v,
                                       bool add_zero_attn, double dropout_p, Tensor out_proj_weight, Tensor out_proj_bias);
  CRESSET_ARG(int64_t, embed_dim_to_check);
  CRESSET_ARG(int64_t, num_heads);
  CRESSET_ARG(Tensor, in_proj_weight);
  CRESSET_ARG(Tensor, in_proj_bias);
  CRESSET_ARG(Tensor, bias_k);
  CRESSET_ARG(Tensor, bias_v);
  CRESSET_ARG(bool, add_zero_attn);
  CRESSET_ARG(double, dropout_p);
  CRESSET_ARG(Tensor, out_proj_weight);
  CRESSET_ARG(Tensor, out_proj_bias);
  CRESSET_ARG(bool, training) = true;
  CRESSET_ARG(Tensor, key_padding_mask) = {};
  CRESSET_ARG(bool, need_weights) = true;
  CRESSET_ARG(Tensor, attn_mask) = {};
  CRESSET_ARG(bool, use_separate_proj_weight) = false;
  CRESSET_ARG(Tensor, q_proj_weight) = {};
  CRESSET_ARG(Tensor, k_proj_weight) = {};
  CRESSET_ARG(Tensor, v_proj_weight) = {};
  CRESSET_ARG(Tensor, static_k) = {};
  CRESSET_ARG(Tensor, static_v) = {};
  CRESSET_ARG(bool, average_attn_weights) = true;
};

CRESSET_API Tensor elu(Tensor input, const ELUFuncOptions& options = {});
CRESSET_API Tensor selu(Tensor input, const SELUFuncOptions& options = {});
CRESSET_API Tensor glu(const Tensor& input, const GLUFuncOptions& options = {});
CRESSET_API Tensor gelu(const Tensor& input, const GELUFuncOptions& options = {});
CRESSET_API Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& options = {});
CRESSET_API Tensor hardtanh(Tensor input, const HardtanhFuncOptions& options = {});
CRESSET_API Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& options = {});
CRESSET_API Tensor logsigmoid(const Tensor& input);
CRESSET_API Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& options = {});
CRESSET_API Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options);
CRESSET_API Tensor softmin(const Tensor& input, const SoftminFuncOptions& options);
CRESSET_API Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options);
CRESSET_API Tensor prelu(const Tensor& input, const Tensor& weight);
CRESSET_API Tensor relu(Tensor input, const ReLUFuncOptions& options = {});
CRESSET_API Tensor relu6(Tensor input, const ReLU6FuncOptions& options = {});
CRESSET_API Tensor rrelu(Tensor input, const RReLUFuncOptions& options = {});
CRESSET_API Tensor celu(Tensor input, const CELUFuncOptions& options = {});
CRESSET_API Tensor silu(const Tensor& input);
CRESSET_API Tensor mish(const Tensor& input);
CRESSET_API Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options = {});
CRESSET_API Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& options = {});
CRESSET_API Tensor softsign(const Tensor& input);
CRESSET_API Tensor tanhshrink(const Tensor& input);
CRESSET_API Tensor threshold(Tensor input, const ThresholdFuncOptions& options);
// Errors: shapes that do not fit together; embed_dim not divisible by num_heads; masks that are neither boolean nor floating point.
CRESSET_API std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                                    const MultiheadAttentionForwardFuncOptions& options);

}  // namespace functional

}  // namespace cresset::nn
