#pragma once
// Connectionist temporal classification.

#include "cresset/nn/module/layer.h"

namespace cresset::nn {

struct CRESSET_API CTCLossOptions {
  using reduction_t = Reduction_t;
  CRESSET_ARG(int64_t, blank) = 0;
  // kMean divides each loss by the length of its target first.
  CRESSET_ARG(reduction_t, reduction) = kMean;
  // Whether targets that cannot be spelled cost nothing, instead of infinity.
  CRESSET_ARG(bool, zero_infinity) = false;
};

class CRESSET_API CTCLossImpl : public detail::OptionsLayer<CTCLossImpl, CTCLossOptions> {
 public:
  explicit CTCLossImpl(const CTCLossOptions& options = {}) : OptionsLayer(options) {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths);
};
CRESSET_MODULE(CTCLoss);

namespace functional {

using CTCLossFuncOptions = CTCLossOptions;
// The negative log of the probability that (T, N, C) log-probabilities spell the targets, (N, S) or joined in one row.
// Errors: lengths or a blank out of range.
CRESSET_API Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths,
                            const CTCLossFuncOptions& options = {});

}  // namespace functional
}  // namespace cresset::nn
