#include "cresset/nn/ctc.h"

#include <limits>
#include <ostream>

#include "cresset/ops/indexing.h"

namespace cresset::nn {

namespace {

// Stands for the logarithm of zero, and stays finite in sums.
constexpr double kNever = -1e30;

Tensor reduced(const Tensor& loss, const Tensor& lengths, Reduction_t reduction, bool alone) {
  if (reduction == kMean) return (loss / lengths.clamp_min(1).to(loss.scalar_type())).mean();
  if (reduction == kSum) return loss.sum();
  return alone ? loss.squeeze(0) : loss;
}

// (N, max(S, 1)) labels of the targets, filled up with blanks.
Tensor label_rows(const Tensor& targets, const Tensor& lengths, int64_t longest, int64_t blank, bool alone) {
  const int64_t batch = lengths.numel();
  const Tensor labels = targets.new_full({batch, std::max<int64_t>(longest, 1)}, blank, TensorOptions(kLong));
  const Tensor rows = alone && targets.dim() == 1 ? targets.reshape({1, -1}) : targets;
  int64_t start = 0;
  for (int64_t n = 0; n < batch; n++) {
    const int64_t length = lengths[n].item<int64_t>();
    const int64_t there = rows.dim() == 2 ? rows.size(1) : rows.size(0) - start;
    CRESSET_CHECK(there >= length && (rows.dim() == 1 || n < rows.size(0)), "ctc_loss: target ", n, " has ", there, " labels, its length says ", length);
    const Tensor row = rows.dim() == 2 ? rows[n].narrow(0, 0, length) : rows.narrow(0, start, length);
    labels[n].narrow(0, 0, length).copy_(row);
    start += length;
  }
  return labels;
}

}  // namespace

namespace functional {

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths,
                const CTCLossFuncOptions& o) {
  const bool alone = log_probs.dim() == 2;
  CRESSET_CHECK(alone || log_probs.dim() == 3, "ctc_loss: log_probs must have 2 or 3 dimensions, got shape ", log_probs.sizes());
  CRESSET_CHECK(is_integral_type(input_lengths.scalar_type(), false), "ctc_loss: input_lengths must be integral, got ", input_lengths.scalar_type());
  CRESSET_CHECK(is_integral_type(target_lengths.scalar_type(), false), "ctc_loss: target_lengths must be integral, got ", target_lengths.scalar_type());
  const Tensor lp = alone ? log_probs.unsqueeze(1) : log_probs;
  const int64_t steps = lp.size(0), batch = lp.size(1), classes = lp.size(2);
  for (const Tensor& n : {input_lengths, target_lengths})
    CRESSET_CHECK(is_integral_type(n.scalar_type(), false), "ctc_loss: lengths must be integers, got ", n.scalar_type());
  const Tensor lengths_in = input_lengths.to(kLong).reshape(-1), lengths = target_lengths.to(kLong).reshape(-1);
  CRESSET_CHECK(o.blank() >= 0 && o.blank() < classes, "ctc_loss: blank must be in label range, got ", o.blank(), " of ", classes);
  CRESSET_CHECK(lengths_in.numel() == batch && lengths.numel() == batch, "ctc_loss: expected ", batch, " lengths, got ", lengths_in.numel(),
                " of inputs and ", lengths.numel(), " of targets");
  if (lp.is_meta()) return reduced(lp.sum({0, 2}), lengths.to(lp.device()), o.reduction(), alone);
  CRESSET_CHECK(lengths_in.max().item<int64_t>() <= steps && lengths.min().item<int64_t>() >= 0 && lengths_in.min().item<int64_t>() >= 0,
                "ctc_loss: lengths of inputs must be 0 to ", steps, ", those of targets at least 0");
  const Tensor labels = label_rows(targets, lengths, lengths.max().item<int64_t>(), o.blank(), alone);
  const int64_t width = 2 * labels.size(1) + 1;
  using indexing::Slice;
  Tensor spread = labels.new_full({batch, width}, o.blank());
  spread.index_put_({Slice(), Slice(1, indexing::None, 2)}, labels);
  Tensor may_skip = labels.new_zeros({batch, width}, TensorOptions(kBool));
  may_skip.index_put_({Slice(), Slice(3, indexing::None, 2)}, labels.narrow(1, 1, labels.size(1) - 1).ne(labels.narrow(1, 0, labels.size(1) - 1)));
  const Tensor emit = lp.clamp_min(kNever).gather(2, spread.unsqueeze(0).expand({steps, -1, -1}));
  const TensorOptions floats = TensorOptions(lp.scalar_type());
  const std::vector<Tensor> emitted = emit.unbind(0);
  const Tensor never = full({batch, 2}, kNever, floats), nowhere = full({}, kNever, floats);
  Tensor alpha;
  std::vector<Tensor> history;
  for (int64_t t = 0; t < steps; t++) {
    if (t == 0) {
      // Before the first step only the start: its first blank and first label are one step away.
      alpha = where(arange(width).lt(2), emitted[0], full_like(emitted[0], kNever));
    } else {
      const Tensor shifted = cat({never, alpha}, 1);
      const Tensor two = where(may_skip, shifted.narrow(1, 0, width), nowhere);
      alpha = logsumexp(stack({alpha, shifted.narrow(1, 1, width), two}), 0) + emitted[t];
    }
    history.push_back(alpha);
  }
  const Tensor last = stack(history).index({(lengths_in - 1).clamp_min(0), arange(batch)});
  const Tensor end = last.gather(1, (lengths * 2).unsqueeze(1)).squeeze(1);
  const Tensor before = last.gather(1, (lengths * 2 - 1).clamp_min(0).unsqueeze(1)).squeeze(1);
  Tensor total = where(lengths.gt(0), logaddexp(end, before), end);
  total = where(lengths_in.gt(0), total, where(lengths.eq(0), zeros_like(total), full_like(total, kNever)));
  Tensor loss = where(total.lt(kNever / 2), full_like(total, std::numeric_limits<double>::infinity()), -total);
  // The gradient is the one of scores under a log-softmax: probabilities less what the alignment expects.
  const Tensor inside = arange(steps).unsqueeze(1).lt(lengths_in.unsqueeze(0)).to(lp.scalar_type());
  const Tensor mass = (lp.exp().sum(2) * inside).sum(0);
  loss = loss + (mass - mass.detach());
  if (o.zero_infinity()) loss = where(loss.eq(std::numeric_limits<double>::infinity()), zeros_like(loss), loss);
  return reduced(loss, lengths, o.reduction(), alone);
}

}  // namespace functional

void CTCLossImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::CTCLoss()"; }
Tensor CTCLossImpl::forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths) {
  return functional::ctc_loss(log_probs, targets, input_lengths, target_lengths, options);
}

}  // namespace cresset::nn
