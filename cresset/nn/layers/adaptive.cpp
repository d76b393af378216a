#include "cresset/nn/layers/adaptive.h"

#include <cmath>
#include <ostream>

namespace cresset::nn {

AdaptiveLogSoftmaxWithLossImpl::AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions o) : options(std::move(o)) {
  AdaptiveLogSoftmaxWithLossImpl::reset();
}

void AdaptiveLogSoftmaxWithLossImpl::reset() {
  const auto& given = options.cutoffs();
  CRESSET_CHECK_VALUE(!given.empty(), "adaptive log-softmax: cutoffs must not be empty");
  int64_t below = 0;
  for (int64_t c : given) {
    CRESSET_CHECK_VALUE(c > below && c < options.n_classes(), "adaptive log-softmax: cutoffs must be positive and rise below the number of classes, got ",
                        IntArrayRef(given), " of ", options.n_classes());
    below = c;
  }
  CRESSET_CHECK_VALUE(options.div_value() != 0, "adaptive log-softmax: div_value should not be equal to 0, got ", options.div_value());
  cutoffs = given;
  cutoffs.push_back(options.n_classes());
  shortlist_size = cutoffs[0];
  n_clusters = static_cast<int64_t>(cutoffs.size()) - 1;
  head_size = shortlist_size + n_clusters;
  head = register_module("head", Linear(LinearOptions(options.in_features(), head_size).bias(options.head_bias())));
  tail = register_module("tail", ModuleList());
  for (int64_t i = 0; i < n_clusters; i++) {
    const auto hidden = static_cast<int64_t>(std::floor(static_cast<double>(options.in_features()) / std::pow(options.div_value(), i + 1)));
    // LibTorch's builds draw the weights of the second layer first.
    Linear up(LinearOptions(hidden, cutoffs[i + 1] - cutoffs[i]).bias(false));
    Linear down(LinearOptions(options.in_features(), hidden).bias(false));
    tail->push_back(Sequential(down, up));
  }
}

void AdaptiveLogSoftmaxWithLossImpl::reset_parameters() {
  head->reset_parameters();
  for (int64_t i = 0; i < n_clusters; i++)
    for (const auto& layer : tail[i]->children()) layer->as<Linear>()->reset_parameters();
}

void AdaptiveLogSoftmaxWithLossImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::AdaptiveLogSoftmaxWithLoss"; }

Tensor AdaptiveLogSoftmaxWithLossImpl::in_cluster(const Tensor& input, int64_t cluster) {
  return log_softmax(tail[cluster]->as<Sequential>()->forward(input), 1);
}

ASMoutput AdaptiveLogSoftmaxWithLossImpl::forward(const Tensor& input_, const Tensor& target_) {
  const bool batched = target_.dim() > 0;
  CRESSET_CHECK(batched ? input_.dim() == 2 && target_.dim() == 1 && input_.size(0) == target_.size(0) : input_.dim() == 1,
                "adaptive log-softmax: input and target must have the same size in the batch dimension, got ", input_.sizes(), " and ", target_.sizes());
  const Tensor input = batched ? input_ : input_.unsqueeze(0), target = batched ? target_ : target_.unsqueeze(0);
  CRESSET_CHECK(target.numel() == 0 || (target.min().item<int64_t>() >= 0 && target.max().item<int64_t>() < options.n_classes()),
                "adaptive log-softmax: target values must be in [0, ", options.n_classes() - 1, "]");
  const Tensor in_head = log_softmax(head(input), 1);
  Tensor column = target.clamp_max(shortlist_size - 1);
  std::vector<Tensor> inside;
  for (int64_t i = 0; i < n_clusters; i++) {
    inside.push_back(target.ge(cutoffs[i]).logical_and(target.lt(cutoffs[i + 1])));
    column = where(inside.back(), full_like(target, shortlist_size + i), column);
  }
  Tensor output = in_head.gather(1, column.unsqueeze(1)).squeeze(1);
  for (int64_t i = 0; i < n_clusters; i++) {
    const Tensor rows = inside[i].nonzero().squeeze(1);
    if (rows.numel() == 0) continue;
    const Tensor within = in_cluster(input.index_select(0, rows), i), place = target.index_select(0, rows) - cutoffs[i];
    output = output.index_add(0, rows, within.gather(1, place.unsqueeze(1)).squeeze(1));
  }
  const Tensor mean = (-output).mean();
  return {batched ? output : output.squeeze(0), mean.item<double>(), mean};
}

Tensor AdaptiveLogSoftmaxWithLossImpl::log_prob(const Tensor& input) {
  const Tensor in_head = log_softmax(head(input), 1);
  std::vector<Tensor> parts = {in_head.narrow(1, 0, shortlist_size)};
  for (int64_t i = 0; i < n_clusters; i++) parts.push_back(in_cluster(input, i) + in_head.select(1, shortlist_size + i).unsqueeze(1));
  return cat(parts, 1);
}

Tensor AdaptiveLogSoftmaxWithLossImpl::predict(const Tensor& input) { return log_prob(input).argmax(1); }

}  // namespace cresset::nn
