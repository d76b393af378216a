#include "cresset/nn/layers/loss.h"

#include <ostream>

#include "cresset/nn/layers/distance.h"

namespace cresset::nn {

namespace functional {

namespace {

int64_t code(Reduction_t reduction) { return reduction == kNone ? 0 : reduction == kMean ? 1 : 2; }

}  // namespace

Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& o) { return cresset::l1_loss(input, target, code(o.reduction())); }
Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& o) { return cresset::mse_loss(input, target, code(o.reduction())); }

Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& o) {
  CRESSET_CHECK(o.reduction() != kBatchMean || input.dim() > 0, "kl_div: kBatchMean needs an input with a batch dimension, got shape ", input.sizes());
  return cresset::kl_div(input, target, o.reduction() == kNone ? 0 : o.reduction() == kMean ? 1 : o.reduction() == kSum ? 2 : 3, o.log_target());
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& o) {
  return cresset::smooth_l1_loss(input, target, code(o.reduction()), o.beta().value_or(1.0));
}
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& o, double beta) {
  CRESSET_CHECK(!o.beta(), "smooth_l1_loss: beta is given twice");
  return cresset::smooth_l1_loss(input, target, code(o.reduction()), beta);
}
Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& o) {
  return cresset::huber_loss(input, target, code(o.reduction()), o.delta());
}
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BinaryCrossEntropyFuncOptions& o) {
  CRESSET_CHECK_VALUE(input.sizes() == target.sizes(), "binary_cross_entropy: target size ", target.sizes(), " must be the same as input size ", input.sizes());
  return cresset::binary_cross_entropy(input, target, o.weight(), code(o.reduction()));
}
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, const BinaryCrossEntropyWithLogitsFuncOptions& o) {
  CRESSET_CHECK_VALUE(input.sizes() == target.sizes(), "binary_cross_entropy_with_logits: target size ", target.sizes(), " must be the same as input size ",
                      input.sizes());
  return cresset::binary_cross_entropy_with_logits(input, target, o.weight(), o.pos_weight(), code(o.reduction()));
}
Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& o) {
  return cresset::nll_loss_nd(input, target, o.weight(), code(o.reduction()), o.ignore_index());
}
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& o) {
  return cresset::cross_entropy_loss(input, target, o.weight(), code(o.reduction()), o.ignore_index(), o.label_smoothing());
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, const HingeEmbeddingLossFuncOptions& o) {
  return cresset::hinge_embedding_loss(input, target, o.margin(), code(o.reduction()));
}
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, const CosineEmbeddingLossFuncOptions& o) {
  return cresset::cosine_embedding_loss(input1, input2, target, o.margin(), code(o.reduction()));
}
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, const MarginRankingLossFuncOptions& o) {
  CRESSET_CHECK(input1.dim() == input2.dim() && input1.dim() == target.dim(),
                "margin_ranking_loss: all tensors must have the same number of dimensions, got shapes ", input1.sizes(), ", ", input2.sizes(), " and ",
                target.sizes());
  return cresset::margin_ranking_loss(input1, input2, target, o.margin(), code(o.reduction()));
}

Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const MultiMarginLossFuncOptions& o) {
  CRESSET_CHECK_VALUE(o.p() == 1 || o.p() == 2, "multi_margin_loss: p must be 1 or 2, got ", o.p());
  return cresset::multi_margin_loss(input, target, o.p(), o.margin(), o.weight(), code(o.reduction()));
}
Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, const MultilabelMarginLossFuncOptions& o) {
  return cresset::multilabel_margin_loss(input, target, code(o.reduction()));
}
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const SoftMarginLossFuncOptions& o) {
  return cresset::soft_margin_loss(input, target, code(o.reduction()));
}
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const MultilabelSoftMarginLossFuncOptions& o) {
  return cresset::_multilabel_soft_margin_loss(input, target, o.weight(), code(o.reduction()));
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, const TripletMarginLossFuncOptions& o) {
  return cresset::triplet_margin_loss(anchor, positive, negative, o.margin(), o.p(), o.eps(), o.swap(), code(o.reduction()));
}
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& o) {
  auto distance = [&](const Tensor& a, const Tensor& b) {
    return o.distance_function() ? (*o.distance_function())(a, b) : functional::pairwise_distance(a, b);
  };
  std::optional<Tensor> other;
  if (o.swap()) other = distance(positive, negative);
  return cresset::_triplet_hinge(distance(anchor, positive), distance(anchor, negative), other, o.margin(), code(o.reduction()));
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNLLLossFuncOptions& o) {
  return cresset::poisson_nll_loss(input, target, o.log_input(), o.full(), o.eps(), code(o.reduction()));
}

}  // namespace functional

#define CRESSET_DEFINE_LOSS(Name, function, printed)                                                                                \
  void Name##Impl::pretty_print(std::ostream& stream) const { stream << std::boolalpha << "torch::nn::" #Name "(" printed << ")"; } \
  Tensor Name##Impl::forward(const Tensor& input, const Tensor& target) { return functional::function(input, target, options); }
CRESSET_DEFINE_LOSS(L1Loss, l1_loss, )
CRESSET_DEFINE_LOSS(MSELoss, mse_loss, )
CRESSET_DEFINE_LOSS(KLDivLoss, kl_div, )
CRESSET_DEFINE_LOSS(HingeEmbeddingLoss, hinge_embedding_loss, "margin=" << options.margin())
CRESSET_DEFINE_LOSS(MultiMarginLoss, multi_margin_loss,
                    "p=" << options.p() << ", margin=" << options.margin() << ", weight=" << options.weight() << ", reduction=" << options.reduction().name())
CRESSET_DEFINE_LOSS(MultiLabelMarginLoss, multilabel_margin_loss, )
CRESSET_DEFINE_LOSS(SoftMarginLoss, soft_margin_loss, )
CRESSET_DEFINE_LOSS(MultiLabelSoftMarginLoss, multilabel_soft_margin_loss, )
CRESSET_DEFINE_LOSS(PoissonNLLLoss, poisson_nll_loss, )

// These two print without parentheses in LibTorch.
void SmoothL1LossImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::SmoothL1Loss"; }
Tensor SmoothL1LossImpl::forward(const Tensor& input, const Tensor& target) { return functional::smooth_l1_loss(input, target, options); }
void HuberLossImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::HuberLoss"; }
Tensor HuberLossImpl::forward(const Tensor& input, const Tensor& target) { return functional::huber_loss(input, target, options); }

#define CRESSET_DEFINE_TRIPLE_LOSS(Name, function, printed)                                                                         \
  void Name##Impl::pretty_print(std::ostream& stream) const { stream << std::boolalpha << "torch::nn::" #Name "(" printed << ")"; } \
  Tensor Name##Impl::forward(const Tensor& first, const Tensor& second, const Tensor& third) { return functional::function(first, second, third, options); }
CRESSET_DEFINE_TRIPLE_LOSS(CosineEmbeddingLoss, cosine_embedding_loss, "margin=" << options.margin())
CRESSET_DEFINE_TRIPLE_LOSS(MarginRankingLoss, margin_ranking_loss, )
CRESSET_DEFINE_TRIPLE_LOSS(TripletMarginLoss, triplet_margin_loss,
                           "margin=" << options.margin() << ", p=" << options.p() << ", eps=" << options.eps() << ", swap=" << options.swap())
CRESSET_DEFINE_TRIPLE_LOSS(TripletMarginWithDistanceLoss, triplet_margin_with_distance_loss, "margin=" << options.margin() << ", swap=" << options.swap())

#define CRESSET_DEFINE_WEIGHTED_LOSS(Name)                                                 \
  Name##Impl::Name##Impl(Name##Options o) : options(std::move(o)) { Name##Impl::reset(); } \
  void Name##Impl::pretty_print(std::ostream& stream) const { stream << "torch::nn::" #Name "()"; }
CRESSET_DEFINE_WEIGHTED_LOSS(BCELoss)
CRESSET_DEFINE_WEIGHTED_LOSS(BCEWithLogitsLoss)
CRESSET_DEFINE_WEIGHTED_LOSS(NLLLoss)
CRESSET_DEFINE_WEIGHTED_LOSS(CrossEntropyLoss)

void BCELossImpl::reset() { weight = register_buffer("weight", options.weight()); }
Tensor BCELossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::binary_cross_entropy(input, target, functional::BinaryCrossEntropyFuncOptions().weight(weight).reduction(options.reduction()));
}

void BCEWithLogitsLossImpl::reset() {
  weight = register_buffer("weight", options.weight());
  pos_weight = register_buffer("pos_weight", options.pos_weight());
}
Tensor BCEWithLogitsLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::binary_cross_entropy_with_logits(
      input, target, functional::BinaryCrossEntropyWithLogitsFuncOptions().weight(weight).reduction(options.reduction()).pos_weight(pos_weight));
}

void NLLLossImpl::reset() { weight = register_buffer("weight", options.weight()); }
Tensor NLLLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::nll_loss(input, target,
                              functional::NLLLossFuncOptions().weight(weight).ignore_index(options.ignore_index()).reduction(options.reduction()));
}

void CrossEntropyLossImpl::reset() { weight = register_buffer("weight", options.weight()); }
Tensor CrossEntropyLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::cross_entropy(input, target,
                                   functional::CrossEntropyFuncOptions()
                                       .weight(weight)
                                       .ignore_index(options.ignore_index())
                                       .reduction(options.reduction())
                                       .label_smoothing(options.label_smoothing()));
}

}  // namespace cresset::nn
