#include "cresset/nn/loss.h"

#include <cmath>
#include <ostream>

#include "cresset/core/batched.h"
#include "cresset/nn/distance.h"

namespace cresset::nn {

namespace functional {

namespace {

int64_t code(Reduction_t reduction) { return reduction == kNone ? 0 : reduction == kMean ? 1 : 2; }

Tensor reduce(const Tensor& values, Reduction_t reduction) {
  if (reduction == kNone) return values;
  return reduction == kMean ? values.mean() : values.sum();
}

void check_same_shape(const char* name, const Tensor& input, const Tensor& target) {
  CRESSET_CHECK(input.sizes() == target.sizes(), name, ": input and target must have the same shape, got ", input.sizes(), " and ", target.sizes());
}

}  // namespace

Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& o) {
  return cresset::l1_loss(input, target, code(o.reduction()));
}
Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& o) {
  return cresset::mse_loss(input, target, code(o.reduction()));
}

Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& o) {
  if (o.reduction() != kBatchMean) return cresset::kl_div(input, target, o.reduction() == kNone ? 0 : o.reduction() == kMean ? 1 : 2, o.log_target());
  CRESSET_CHECK(input.dim() > 0, "kl_div: kBatchMean needs an input with a batch dimension, got shape ", input.sizes());
  return cresset::kl_div(input, target, 2, o.log_target()) / input.size(0);
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
  CRESSET_CHECK_VALUE(input.sizes() == target.sizes(), "binary_cross_entropy: input and target must have the same shape, got ", input.sizes(), " and ",
                      target.sizes());
  return cresset::binary_cross_entropy(input, target, o.weight(), code(o.reduction()));
}
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, const BinaryCrossEntropyWithLogitsFuncOptions& o) {
  CRESSET_CHECK_VALUE(input.sizes() == target.sizes(), "binary_cross_entropy_with_logits: input and target must have the same shape, got ",
                      input.sizes(), " and ", target.sizes());
  return cresset::binary_cross_entropy_with_logits(input, target, o.weight(), o.pos_weight(), code(o.reduction()));
}
Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& o) {
  return cresset::nll_loss_nd(input, target, o.weight(), code(o.reduction()), o.ignore_index());
}
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& o) {
  return cresset::cross_entropy_loss(input, target, o.weight(), code(o.reduction()), o.ignore_index(), o.label_smoothing());
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, const HingeEmbeddingLossFuncOptions& o) {
  const Tensor zero = cresset::zeros_like(input).detach();
  const Tensor dissimilar = cresset::where(target == 1, zero, (o.margin() - input).clamp_min(0));
  const Tensor similar = cresset::where(target == -1, zero, input);
  return reduce(dissimilar + similar, o.reduction());
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
  CRESSET_CHECK(input.dim() == 1 || input.dim() == 2, "multi_margin_loss: input must have 1 or 2 dimensions, got shape ", input.sizes());
  const Tensor x = input.dim() == 2 ? input : input.unsqueeze(0), y = target.reshape({-1, 1});
  const int64_t classes = x.size(1);
  CRESSET_CHECK(y.size(0) == x.size(0), "multi_margin_loss: shape of target, got ", target.sizes(), " for an input of ", input.sizes());
  CRESSET_CHECK(!o.weight().defined() || (o.weight().dim() == 1 && o.weight().size(0) == classes), "multi_margin_loss: weight must have ", classes,
                " elements");
  Tensor margins = cresset::relu(o.margin() - x.gather(1, y) + x);
  if (o.p() == 2) margins = margins * margins;
  if (o.weight().defined()) margins = margins * o.weight().index_select(0, y.reshape({-1})).unsqueeze(1);
  const Tensor others = margins.scatter(1, y, 0.0);
  const Tensor losses = others.sum(1) / classes;
  return reduce(input.dim() == 2 ? losses : losses.squeeze(0), o.reduction());
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, const MultilabelMarginLossFuncOptions& o) {
  check_same_shape("multilabel_margin_loss", input, target);
  CRESSET_CHECK(input.dim() == 1 || input.dim() == 2, "multilabel_margin_loss: input must have 1 or 2 dimensions, got shape ", input.sizes());
  const Tensor x = input.dim() == 2 ? input : input.unsqueeze(0), y = input.dim() == 2 ? target : target.unsqueeze(0);
  const int64_t classes = x.size(1);
  // Labels count up to the first -1 of a row.
  Tensor valid = (y < 0).to(kLong).cumsum(1) == 0, labels = y.clamp_min(0);
  if (y.numel() > 0 && !y.lacks_data() && !as_batched(y)) {
    // As many columns as the row with most of them.
    const int64_t longest = valid.sum(1).max().item<int64_t>();
    valid = valid.narrow(1, 0, longest);
    labels = labels.narrow(1, 0, longest);
  }
  const Tensor is_label =
      cresset::zeros({x.size(0), classes}, y.options().dtype(kLong)).scatter_add(1, labels, valid.to(kLong)) > 0;
  const Tensor pairs = cresset::relu(1 - x.gather(1, labels).unsqueeze(2) + x.unsqueeze(1));
  const Tensor counted = valid.unsqueeze(2).logical_and(is_label.logical_not().unsqueeze(1));
  const Tensor losses = cresset::where(counted, pairs, cresset::zeros_like(pairs).detach()).sum(IntArrayRef({1, 2})) / classes;
  return reduce(input.dim() == 2 ? losses : losses.squeeze(0), o.reduction());
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const SoftMarginLossFuncOptions& o) {
  return reduce((-target * input).exp().log1p(), o.reduction());
}
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const MultilabelSoftMarginLossFuncOptions& o) {
  Tensor loss = -(target * cresset::log_sigmoid(input) + (1 - target) * cresset::log_sigmoid(-input));
  if (o.weight().defined()) loss = loss * o.weight();
  const int64_t classes_dim = input.dim() - 1;
  return reduce(loss.sum(classes_dim) / input.size(classes_dim), o.reduction());
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, const TripletMarginLossFuncOptions& o) {
  return cresset::triplet_margin_loss(anchor, positive, negative, o.margin(), o.p(), o.eps(), o.swap(), code(o.reduction()));
}
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& o) {
  auto distance = [&](const Tensor& a, const Tensor& b) { return o.distance_function() ? (*o.distance_function())(a, b) : functional::pairwise_distance(a, b); };
  const Tensor to_positive = distance(anchor, positive);
  Tensor to_negative = distance(anchor, negative);
  if (o.swap()) to_negative = cresset::minimum(to_negative, distance(positive, negative));
  return reduce((o.margin() + to_positive - to_negative).clamp_min(0), o.reduction());
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNLLLossFuncOptions& o) {
  Tensor loss = o.log_input() ? input.exp() - target * input : input - target * (input + o.eps()).log();
  if (o.full()) {
    const Tensor stirling = target * target.log() - target + 0.5 * (2 * M_PI * target).log();
    loss = loss + stirling.masked_fill(target <= 1, 0);
  }
  return reduce(loss, o.reduction());
}

}  // namespace functional

#define CRESSET_DEFINE_LOSS(Name, function, printed)                                                                           \
  void Name##Impl::pretty_print(std::ostream& stream) const { stream << std::boolalpha << "torch::nn::" #Name "(" printed << ")"; } \
  Tensor Name##Impl::forward(const Tensor& input, const Tensor& target) { return functional::function(input, target, options); }
CRESSET_DEFINE_LOSS(L1Loss, l1_loss, )
CRESSET_DEFINE_LOSS(MSELoss, mse_loss, )
CRESSET_DEFINE_LOSS(KLDivLoss, kl_div, )
CRESSET_DEFINE_LOSS(HingeEmbeddingLoss, hinge_embedding_loss, "margin=" << options.margin())
CRESSET_DEFINE_LOSS(MultiMarginLoss, multi_margin_loss, "p=" << options.p() << ", margin=" << options.margin() << ", weight=" << options.weight()
                    << ", reduction=" << options.reduction().name())
CRESSET_DEFINE_LOSS(MultiLabelMarginLoss, multilabel_margin_loss, )
CRESSET_DEFINE_LOSS(SoftMarginLoss, soft_margin_loss, )
CRESSET_DEFINE_LOSS(MultiLabelSoftMarginLoss, multilabel_soft_margin_loss, )
CRESSET_DEFINE_LOSS(PoissonNLLLoss, poisson_nll_loss, )

// These two print without parentheses in LibTorch.
void SmoothL1LossImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::SmoothL1Loss"; }
Tensor SmoothL1LossImpl::forward(const Tensor& input, const Tensor& target) { return functional::smooth_l1_loss(input, target, options); }
void HuberLossImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::HuberLoss"; }
Tensor HuberLossImpl::forward(const Tensor& input, const Tensor& target) { return functional::huber_loss(input, target, options); }

#define CRESSET_DEFINE_TRIPLE_LOSS(Name, function, printed)                                                                    \
  void Name##Impl::pretty_print(std::ostream& stream) const { stream << std::boolalpha << "torch::nn::" #Name "(" printed << ")"; } \
  Tensor Name##Impl::forward(const Tensor& first, const Tensor& second, const Tensor& third) {                                 \
    return functional::function(first, second, third, options);                                                                \
  }
CRESSET_DEFINE_TRIPLE_LOSS(CosineEmbeddingLoss, cosine_embedding_loss, "margin=" << options.margin())
CRESSET_DEFINE_TRIPLE_LOSS(MarginRankingLoss, margin_ranking_loss, )
CRESSET_DEFINE_TRIPLE_LOSS(TripletMarginLoss, triplet_margin_loss,
                           "margin=" << options.margin() << ", p=" << options.p() << ", eps=" << options.eps() << ", swap=" << options.swap())
CRESSET_DEFINE_TRIPLE_LOSS(TripletMarginWithDistanceLoss, triplet_margin_with_distance_loss,
                           "margin=" << options.margin() << ", swap=" << options.swap())

#define CRESSET_DEFINE_WEIGHTED_LOSS(Name)                                                    \
  Name##Impl::Name##Impl(Name##Options o) : options(std::move(o)) { Name##Impl::reset(); }    \
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
      input, target,
      functional::BinaryCrossEntropyWithLogitsFuncOptions().weight(weight).reduction(options.reduction()).pos_weight(pos_weight));
}

void NLLLossImpl::reset() { weight = register_buffer("weight", options.weight()); }
Tensor NLLLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::nll_loss(
      input, target, functional::NLLLossFuncOptions().weight(weight).ignore_index(options.ignore_index()).reduction(options.reduction()));
}

void CrossEntropyLossImpl::reset() { weight = register_buffer("weight", options.weight()); }
Tensor CrossEntropyLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::cross_entropy(input, target, functional::CrossEntropyFuncOptions()
                                                      .weight(weight)
                                                      .ignore_index(options.ignore_index())
                                                      .reduction(options.reduction())
                                                      .label_smoothing(options.label_smoothing()));
}

}  // namespace cresset::nn
