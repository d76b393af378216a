// Connectionist temporal classification as a composite: one step of the forward recursion after the other.

#include <limits>

#include "cresset/core/batched.h"
#include "cresset/ops/bodies_loss.h"
#include "cresset/ops/functions.h"

namespace cresset::ops::composite {

namespace {

// Stands for the logarithm of zero, and stays finite in sums.
constexpr double kNever = -1e30;

Tensor reduced(const Tensor& loss, const Tensor& lengths, int64_t reduction, bool alone) {
  if (reduction == 1) return (loss / lengths.clamp_min(1).to(loss.scalar_type())).mean();
  if (reduction == 2) return loss.sum();
  return alone ? loss.squeeze(0) : loss;
}

// (N, max(S, 1)) labels of the targets, filled up with blanks.
Tensor label_rows(const Tensor& targets, const Tensor& lengths, int64_t blank, bool alone) {
  const int64_t batch = lengths.numel(), longest = batch == 0 ? 0 : lengths.max().item<int64_t>();
  const Tensor labels = targets.new_full({batch, std::max<int64_t>(longest, 1)}, blank, TensorOptions(kLong));
  const Tensor rows = alone && targets.dim() == 1 ? targets.reshape({1, -1}) : targets;
  int64_t start = 0;
  for (int64_t n = 0; n < batch; n++) {
    const int64_t length = lengths.select(0, n).item<int64_t>();
    const int64_t there = rows.dim() == 2 ? rows.size(1) : rows.size(0) - start;
    CRESSET_CHECK(there >= length && (rows.dim() == 1 || n < rows.size(0)), "ctc_loss: Expected tensor to have size at least ", length,
                  " at dimension 1, the labels of target ", n, ", got ", there);
    const Tensor row = rows.dim() == 2 ? rows.select(0, n).narrow(0, 0, length) : rows.narrow(0, start, length);
    labels.select(0, n).narrow(0, 0, length).copy_(row);
    start += length;
  }
  return labels;
}

Tensor list_of(IntArrayRef numbers) {
  const Tensor made = cresset::empty({static_cast<int64_t>(numbers.size())}, TensorOptions(kLong));
  std::copy(numbers.begin(), numbers.end(), made.data_ptr<int64_t>());
  return made;
}

// Labels and lengths decide how much is computed, so where they are a batch's, each element of it is computed on its own.
Tensor one_by_one(const Tensor (&given)[4], int64_t blank, int64_t reduction, bool zero_infinity) {
  uint64_t level = 0;
  int64_t size = 0;
  for (const Tensor& t : given)
    if (const BatchedImpl* b = as_batched(t); b && b->level() >= level) {
      level = b->level();
      size = b->batch_size();
    }
  std::vector<Tensor> losses;
  for (int64_t i = 0; i < size; i++) {
    auto element = [&](const Tensor& t) {
      const BatchedImpl* b = as_batched(t);
      return b && b->level() == level ? b->value().select(b->batch_dim(), i) : t;
    };
    losses.push_back(cresset::ctc_loss(element(given[0]), element(given[1]), element(given[2]), element(given[3]), blank, reduction, zero_infinity));
  }
  return make_batched(cresset::stack(losses), 0, level);
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths, int64_t blank, int64_t reduction,
                bool zero_infinity) {
  CRESSET_CHECK_VALUE(reduction >= 0 && reduction <= 2, "ctc_loss: reduction is 0, 1 or 2, got ", reduction);
  const bool alone = log_probs.dim() == 2;
  CRESSET_CHECK(alone || log_probs.dim() == 3, "ctc_loss: log_probs must have 2 or 3 dimensions, got shape ", log_probs.sizes());
  CRESSET_CHECK(is_integral_type(input_lengths.scalar_type(), false), "ctc_loss: input_lengths must be integral, got ", input_lengths.scalar_type());
  CRESSET_CHECK(is_integral_type(target_lengths.scalar_type(), false), "ctc_loss: target_lengths must be integral, got ", target_lengths.scalar_type());
  if (as_batched(targets) || as_batched(input_lengths) || as_batched(target_lengths))
    return one_by_one({log_probs, targets, input_lengths, target_lengths}, blank, reduction, zero_infinity);
  const Tensor lp = alone ? log_probs.unsqueeze(1) : log_probs;
  const int64_t steps = lp.size(0), batch = lp.size(1), classes = lp.size(2);
  const Tensor lengths_in = input_lengths.to(kLong).reshape(-1), lengths = target_lengths.to(kLong).reshape(-1);
  CRESSET_CHECK(blank >= 0 && blank < classes, "ctc_loss: blank must be in label range, got ", blank, " of ", classes);
  CRESSET_CHECK(lengths_in.numel() == batch && lengths.numel() == batch, "ctc_loss: expected ", batch, " lengths, got ", lengths_in.numel(), " of inputs and ",
                lengths.numel(), " of targets");
  if (lp.lacks_data() || targets.lacks_data() || lengths_in.lacks_data() || lengths.lacks_data())
    return reduced(lp.sum(IntArrayRef({0, 2})), lengths.to(lp.device()), reduction, alone);
  CRESSET_CHECK(lengths_in.max().item<int64_t>() <= steps && lengths.min().item<int64_t>() >= 0 && lengths_in.min().item<int64_t>() >= 0,
                "ctc_loss: lengths of inputs must be 0 to ", steps, ", those of targets at least 0");
  const Tensor labels = label_rows(targets, lengths, blank, alone);
  const int64_t width = 2 * labels.size(1) + 1;
  const Tensor spread = labels.new_full({batch, width}, blank);
  spread.slice(1, 1, std::nullopt, 2).copy_(labels);
  const Tensor may_skip = labels.new_zeros({batch, width}, TensorOptions(kBool));
  may_skip.slice(1, 3, std::nullopt, 2).copy_(labels.slice(1, 1) != labels.slice(1, 0, -1));
  const std::vector<Tensor> emitted = lp.clamp_min(kNever).gather(2, spread.unsqueeze(0).expand({steps, -1, -1})).unbind(0);
  const TensorOptions floats = TensorOptions(lp.scalar_type()), integers = TensorOptions(kLong);
  const Tensor never = cresset::full({batch, 2}, kNever, floats), nowhere = cresset::full({}, kNever, floats);
  Tensor alpha;
  std::vector<Tensor> history;
  for (int64_t t = 0; t < steps; t++) {
    const Tensor& here = emitted[static_cast<size_t>(t)];
    if (t == 0) {
      // Before the first step only the start: its first blank and first label are one step away.
      alpha = cresset::where(cresset::arange(width, integers) < 2, here, cresset::full_like(here, kNever));
    } else {
      const Tensor shifted = cresset::cat({never, alpha}, 1);
      const Tensor two = cresset::where(may_skip, shifted.narrow(1, 0, width), nowhere);
      alpha = cresset::logsumexp(cresset::stack({alpha, shifted.narrow(1, 1, width), two}), IntArrayRef(0)) + here;
    }
    history.push_back(alpha);
  }
  const Tensor at_end = (lengths_in - 1).clamp_min(0).view({1, batch, 1}).expand({1, batch, width});
  const Tensor last = cresset::stack(history).gather(0, at_end).squeeze(0);
  const Tensor end = last.gather(1, (lengths * 2).unsqueeze(1)).squeeze(1);
  const Tensor before = last.gather(1, (lengths * 2 - 1).clamp_min(0).unsqueeze(1)).squeeze(1);
  Tensor total = cresset::where(lengths > 0, cresset::logaddexp(end, before), end);
  total = cresset::where(lengths_in > 0, total, cresset::where(lengths == 0, cresset::zeros_like(total), cresset::full_like(total, kNever)));
  Tensor loss = cresset::where(total < kNever / 2, cresset::full_like(total, std::numeric_limits<double>::infinity()), -total);
  // The gradient is the one of scores under a log-softmax: probabilities less what the alignment expects.
  const Tensor inside = (cresset::arange(steps, integers).unsqueeze(1) < lengths_in.unsqueeze(0)).to(lp.scalar_type());
  const Tensor mass = (lp.exp().sum(IntArrayRef(2)) * inside).sum(IntArrayRef(0));
  loss = loss + (mass - mass.detach());
  if (zero_infinity) loss = cresset::where(loss == std::numeric_limits<double>::infinity(), cresset::zeros_like(loss), loss);
  return reduced(loss, lengths, reduction, alone);
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths, int64_t blank, int64_t reduction,
                bool zero_infinity) {
  return composite::ctc_loss(log_probs, targets, list_of(input_lengths), list_of(target_lengths), blank, reduction, zero_infinity);
}

}  // namespace cresset::ops::composite
