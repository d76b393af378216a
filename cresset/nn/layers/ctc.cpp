#include "cresset/nn/layers/ctc.h"

#include <ostream>

namespace cresset::nn {

namespace functional {

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths, const CTCLossFuncOptions& o) {
  const int64_t reduction = o.reduction() == kNone ? 0 : o.reduction() == kMean ? 1 : 2;
  return cresset::ctc_loss(log_probs, targets, input_lengths, target_lengths, o.blank(), reduction, o.zero_infinity());
}

}  // namespace functional

void CTCLossImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::CTCLoss()"; }
Tensor CTCLossImpl::forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths) {
  return functional::ctc_loss(log_probs, targets, input_lengths, target_lengths, options);
}

}  // namespace cresset::nn
