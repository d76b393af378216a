#pragma once
// A softmax over many classes that spends less on the rare ones.

#include <vector>

#include "cresset/nn/layers/linear.h"
#include "cresset/nn/module/containers.h"

namespace cresset::nn {

// The log-probabilities of the targets, and their mean loss.
struct CRESSET_API ASMoutput {
  ASMoutput(Tensor output_, double loss_) : output(std::move(output_)), loss(loss_) {}
  ASMoutput(Tensor output_, double loss_, Tensor mean_) : output(std::move(output_)), loss(loss_), mean(std::move(mean_)) {}
  Tensor output;
  double loss;
  // The loss with its history: what backward starts from.
  Tensor mean;
};

struct CRESSET_API AdaptiveLogSoftmaxWithLossOptions {
  AdaptiveLogSoftmaxWithLossOptions(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs)
      : in_features_(in_features), n_classes_(n_classes), cutoffs_(std::move(cutoffs)) {}
  CRESSET_ARG(int64_t, in_features);
  CRESSET_ARG(int64_t, n_classes);
  CRESSET_ARG(std::vector<int64_t>, cutoffs);
  CRESSET_ARG(double, div_value) = 4.0;
  CRESSET_ARG(bool, head_bias) = false;
};

// Classes are sorted by frequency and cut into clusters. Errors where it is made: cutoffs that do not rise.
class CRESSET_API AdaptiveLogSoftmaxWithLossImpl : public Cloneable<AdaptiveLogSoftmaxWithLossImpl> {
 public:
  AdaptiveLogSoftmaxWithLossImpl(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs)
      : AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions(in_features, n_classes, std::move(cutoffs))) {}
  explicit AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  // (N, in_features) and (N).
  ASMoutput forward(const Tensor& input, const Tensor& target);
  // Of every class: (N, in_features) to (N, n_classes).
  Tensor log_prob(const Tensor& input);
  // The most likely class of each row.
  Tensor predict(const Tensor& input);

  AdaptiveLogSoftmaxWithLossOptions options;
  std::vector<int64_t> cutoffs;
  int64_t shortlist_size = 0, n_clusters = 0, head_size = 0;
  Linear head = nullptr;
  ModuleList tail = nullptr;

 private:
  CRESSET_LOCAL Tensor in_cluster(const Tensor& input, int64_t cluster);
};
CRESSET_MODULE(AdaptiveLogSoftmaxWithLoss);

}  // namespace cresset::nn
