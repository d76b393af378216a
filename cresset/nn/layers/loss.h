#pragma once
// Loss functions. `reduction` is kMean (the default), kSum, or kNone for one value per element or sample.

#include <optional>
#include "cresset/base/std_function.h"

#include "cresset/nn/module/layer.h"

namespace cresset::nn {

// A loss that has nothing to choose but its reduction.
struct CRESSET_API LossOptions {
  using reduction_t = Reduction_t;
  LossOptions() = default;
  template <class Choice, class = std::enable_if_t<reduction_t::allows<Choice>>> LossOptions(Choice reduction) : reduction_(reduction) {}
  LossOptions(reduction_t reduction) : reduction_(reduction) {}
  CRESSET_ARG(reduction_t, reduction) = kMean;
};
using L1LossOptions = LossOptions;
using MSELossOptions = LossOptions;
using MultiLabelMarginLossOptions = LossOptions;
using SoftMarginLossOptions = LossOptions;

struct CRESSET_API KLDivLossOptions {
  using reduction_t = enumtype::OneOf<enumtype::kNone, enumtype::kBatchMean, enumtype::kSum, enumtype::kMean>;
  KLDivLossOptions() = default;
  template <class Choice, class = std::enable_if_t<reduction_t::allows<Choice>>> KLDivLossOptions(Choice reduction) : reduction_(reduction) {}
  CRESSET_ARG(reduction_t, reduction) = kMean;
  // Whether the target holds logarithms too.
  CRESSET_ARG(bool, log_target) = false;
};
struct CRESSET_API SmoothL1LossOptions {
  using reduction_t = Reduction_t;
  SmoothL1LossOptions() = default;
  template <class Choice, class = std::enable_if_t<reduction_t::allows<Choice>>> SmoothL1LossOptions(Choice reduction) : reduction_(reduction) {}
  CRESSET_ARG(reduction_t, reduction) = kMean;
  CRESSET_ARG(std::optional<double>, beta) = std::nullopt;
};
struct CRESSET_API HuberLossOptions {
  using reduction_t = Reduction_t;
  HuberLossOptions() = default;
  template <class Choice, class = std::enable_if_t<reduction_t::allows<Choice>>> HuberLossOptions(Choice reduction) : reduction_(reduction) {}
  CRESSET_ARG(reduction_t, reduction) = kMean;
  CRESSET_ARG(double, delta) = 1.0;
};
struct CRESSET_API BCELossOptions {
  using reduction_t = Reduction_t;
  CRESSET_ARG(Tensor, weight) = {};
  CRESSET_ARG(reduction_t, reduction) = kMean;
};
struct CRESSET_API BCEWithLogitsLossOptions {
  using reduction_t = Reduction_t;
  CRESSET_ARG(Tensor, weight) = {};
  CRESSET_ARG(reduction_t, reduction) = kMean;
  // A weight of positive examples, one per class.
  CRESSET_ARG(Tensor, pos_weight) = {};
};
struct CRESSET_API NLLLossOptions {
  using reduction_t = Reduction_t;
  CRESSET_ARG(Tensor, weight) = {};
  CRESSET_ARG(int64_t, ignore_index) = -100;
  CRESSET_ARG(reduction_t, reduction) = kMean;
};
struct CRESSET_API CrossEntropyLossOptions {
  using reduction_t = Reduction_t;
  CRESSET_ARG(Tensor, weight) = {};
  CRESSET_ARG(int64_t, ignore_index) = -100;
  CRESSET_ARG(reduction_t, reduction) = kMean;
  CRESSET_ARG(double, label_smoothing) = 0.0;
};
struct CRESSET_API HingeEmbeddingLossOptions {
  using reduction_t = Reduction_t;
  CRESSET_ARG(double, margin) = 1.0;
  CRESSET_ARG(reduction_t, reduction) = kMean;
};
struct CRESSET_API CosineEmbeddingLossOptions {
  using reduction_t = Reduction_t;
  CRESSET_ARG(double, margin) = 0.0;
  CRESSET_ARG(reduction_t, reduction) = kMean;
};
struct CRESSET_API MarginRankingLossOptions {
  using reduction_t = Reduction_t;
  CRESSET_ARG(double, margin) = 0.0;
  CRESSET_ARG(reduction_t, reduction) = kMean;
};
struct CRESSET_API MultiMarginLossOptions {
  using reduction_t = Reduction_t;
  CRESSET_ARG(int64_t, p) = 1;
  CRESSET_ARG(double, margin) = 1.0;
  CRESSET_ARG(Tensor, weight) = {};
  CRESSET_ARG(reduction_t, reduction) = kMean;
};
struct CRESSET_API MultiLabelSoftMarginLossOptions {
  using reduction_t = Reduction_t;
  CRESSET_ARG(Tensor, weight) = {};
  CRESSET_ARG(reduction_t, reduction) = kMean;
};
struct CRESSET_API TripletMarginLossOptions {
  using reduction_t = Reduction_t;
  CRESSET_ARG(double, margin) = 1.0;
  CRESSET_ARG(double, p) = 2.0;
  CRESSET_ARG(double, eps) = 1e-6;
  // Also looks at the distance between positive and negative.
  CRESSET_ARG(bool, swap) = false;
  CRESSET_ARG(reduction_t, reduction) = kMean;
};
struct CRESSET_API TripletMarginWithDistanceLossOptions {
  using reduction_t = Reduction_t;
  using distance_function_t = std::function<Tensor(const Tensor&, const Tensor&)>;
  CRESSET_ARG(std::optional<distance_function_t>, distance_function) = std::nullopt;
  CRESSET_ARG(double, margin) = 1.0;
  CRESSET_ARG(bool, swap) = false;
  CRESSET_ARG(reduction_t, reduction) = kMean;
};
struct CRESSET_API PoissonNLLLossOptions {
  using reduction_t = Reduction_t;
  CRESSET_ARG(bool, log_input) = true;
  // Adds Stirling's approximation.
  CRESSET_ARG(bool, full) = false;
  CRESSET_ARG(double, eps) = 1e-8;
  CRESSET_ARG(reduction_t, reduction) = kMean;
};

#define CRESSET_DECLARE_LOSS(Name)                                                        \
  class CRESSET_API Name##Impl : public detail::OptionsLayer<Name##Impl, Name##Options> { \
   public:                                                                                \
    explicit Name##Impl(const Name##Options& options = {});                               \
    void pretty_print(std::ostream& stream) const override;                               \
    Tensor forward(const Tensor& input, const Tensor& target);                            \
  };                                                                                      \
  CRESSET_MODULE(Name);                                                                   \
  CRESSET_IN_LAYERS(Name##Impl::Name##Impl(const Name##Options& options) : OptionsLayer(options){})
CRESSET_DECLARE_LOSS(L1Loss)
CRESSET_DECLARE_LOSS(MSELoss)
CRESSET_DECLARE_LOSS(KLDivLoss)
CRESSET_DECLARE_LOSS(SmoothL1Loss)
CRESSET_DECLARE_LOSS(HuberLoss)
CRESSET_DECLARE_LOSS(HingeEmbeddingLoss)
CRESSET_DECLARE_LOSS(MultiMarginLoss)
CRESSET_DECLARE_LOSS(MultiLabelMarginLoss)
CRESSET_DECLARE_LOSS(SoftMarginLoss)
CRESSET_DECLARE_LOSS(MultiLabelSoftMarginLoss)
CRESSET_DECLARE_LOSS(PoissonNLLLoss)
#undef CRESSET_DECLARE_LOSS

// Losses whose weights move with the module.
#define CRESSET_DECLARE_WEIGHTED_LOSS(Name, ...)                \
  class CRESSET_API Name##Impl : public Cloneable<Name##Impl> { \
   public:                                                      \
    explicit Name##Impl(Name##Options options = {});            \
    void reset() override;                                      \
    void pretty_print(std::ostream& stream) const override;     \
    Tensor forward(const Tensor& input, const Tensor& target);  \
    Name##Options options;                                      \
    Tensor __VA_ARGS__;                                         \
  };                                                            \
  CRESSET_MODULE(Name);
CRESSET_DECLARE_WEIGHTED_LOSS(BCELoss, weight)
CRESSET_DECLARE_WEIGHTED_LOSS(BCEWithLogitsLoss, weight, pos_weight)
CRESSET_DECLARE_WEIGHTED_LOSS(NLLLoss, weight)
CRESSET_DECLARE_WEIGHTED_LOSS(CrossEntropyLoss, weight)
#undef CRESSET_DECLARE_WEIGHTED_LOSS

// Losses of three tensors: two inputs and a target, or anchor, positive and negative.
#define CRESSET_DECLARE_TRIPLE_LOSS(Name)                                                 \
  class CRESSET_API Name##Impl : public detail::OptionsLayer<Name##Impl, Name##Options> { \
   public:                                                                                \
    explicit Name##Impl(const Name##Options& options = {});                               \
    void pretty_print(std::ostream& stream) const override;                               \
    Tensor forward(const Tensor& first, const Tensor& second, const Tensor& third);       \
  };                                                                                      \
  CRESSET_MODULE(Name);                                                                   \
  CRESSET_IN_LAYERS(Name##Impl::Name##Impl(const Name##Options& options) : OptionsLayer(options){})
CRESSET_DECLARE_TRIPLE_LOSS(CosineEmbeddingLoss)
CRESSET_DECLARE_TRIPLE_LOSS(MarginRankingLoss)
CRESSET_DECLARE_TRIPLE_LOSS(TripletMarginLoss)
CRESSET_DECLARE_TRIPLE_LOSS(TripletMarginWithDistanceLoss)
#undef CRESSET_DECLARE_TRIPLE_LOSS

namespace functional {

using L1LossFuncOptions = L1LossOptions;
using MSELossFuncOptions = MSELossOptions;
using MultilabelMarginLossFuncOptions = MultiLabelMarginLossOptions;
using SoftMarginLossFuncOptions = SoftMarginLossOptions;
using KLDivFuncOptions = KLDivLossOptions;
using SmoothL1LossFuncOptions = SmoothL1LossOptions;
using HuberLossFuncOptions = HuberLossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
using HingeEmbeddingLossFuncOptions = HingeEmbeddingLossOptions;
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLossOptions;
using MarginRankingLossFuncOptions = MarginRankingLossOptions;
using MultiMarginLossFuncOptions = MultiMarginLossOptions;
using MultilabelSoftMarginLossFuncOptions = MultiLabelSoftMarginLossOptions;
using TripletMarginLossFuncOptions = TripletMarginLossOptions;
using TripletMarginWithDistanceLossFuncOptions = TripletMarginWithDistanceLossOptions;
using PoissonNLLLossFuncOptions = PoissonNLLLossOptions;

CRESSET_API Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options = {});
CRESSET_API Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options = {});
// Errors: kBatchMean of a 0-d input.
CRESSET_API Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& options = {});
CRESSET_API Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options = {});
CRESSET_API Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options, double beta);
CRESSET_API Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& options = {});
CRESSET_API Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BinaryCrossEntropyFuncOptions& options = {});
CRESSET_API Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, const BinaryCrossEntropyWithLogitsFuncOptions& options = {});
CRESSET_API Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options = {});
CRESSET_API Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& options = {});
CRESSET_API Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, const HingeEmbeddingLossFuncOptions& options = {});
CRESSET_API Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, const CosineEmbeddingLossFuncOptions& options = {});
CRESSET_API Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, const MarginRankingLossFuncOptions& options = {});
// Errors: p is neither 1 nor 2.
CRESSET_API Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const MultiMarginLossFuncOptions& options = {});
CRESSET_API Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, const MultilabelMarginLossFuncOptions& options = {});
CRESSET_API Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const SoftMarginLossFuncOptions& options = {});
CRESSET_API Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const MultilabelSoftMarginLossFuncOptions& options = {});
CRESSET_API Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, const TripletMarginLossFuncOptions& options = {});
CRESSET_API Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                                     const TripletMarginWithDistanceLossFuncOptions& options = {});
CRESSET_API Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNLLLossFuncOptions& options = {});

}  // namespace functional

}  // namespace cresset::nn
