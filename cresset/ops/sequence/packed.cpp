// Sequences of different lengths: padded to one length, or packed, one time step after the other.

#include <algorithm>

#include "cresset/ops/functions.h"
#include "cresset/ops/index/indexing.h"
#include "cresset/ops/support.h"

namespace cresset::ops::composite {

namespace {

// Which of (steps, sequences) lie within their sequence.
Tensor inside_of(const Tensor& lengths, int64_t steps) { return cresset::arange(steps).unsqueeze(1).lt(lengths.unsqueeze(0)); }

int64_t longest_of(const Tensor& lengths, const Tensor& input) {
  CRESSET_CHECK(lengths.scalar_type() == kLong && lengths.device().is_cpu() && lengths.dim() == 1,
                "pack_padded_sequence: expected lengths as a 1-D CPU int64 tensor, got ", lengths.dim(), "-D of ", lengths.scalar_type(), " on ",
                lengths.device());
  CRESSET_CHECK(lengths.numel() == input.size(1), "pack_padded_sequence: expected a length for each of the batch, got ", lengths.numel(),
                " lengths (batch_size=", input.size(1), ")");
  const Tensor flat = lengths.contiguous();
  const int64_t* values = flat.data_ptr<int64_t>();
  const IntArrayRef all(values, static_cast<size_t>(flat.numel()));
  CRESSET_CHECK(!all.empty(), "pack_padded_sequence: expected a sequence at least, got an empty tensor");
  CRESSET_CHECK(*std::min_element(all.begin(), all.end()) > 0, "pack_padded_sequence: expected lengths above 0, got ", all);
  CRESSET_CHECK(std::is_sorted(all.begin(), all.end(), std::greater<>()), "pack_padded_sequence: lengths must be sorted in decreasing order, got ", all,
                ". You can pass `enforce_sorted=False`");
  CRESSET_CHECK(all[0] <= input.size(0), "pack_padded_sequence: expected lengths of at most ", input.size(0), ", the size of the input, got ", all[0]);
  return all[0];
}

}  // namespace

Tensor pad_sequence(TensorList sequences, bool batch_first, double padding_value, std::string_view padding_side) {
  CRESSET_CHECK(padding_side == "left" || padding_side == "right", "pad_sequence: expected padding_side to be left or right, got ", std::string(padding_side));
  CRESSET_CHECK(!sequences.empty(), "pad_sequence: received an empty list of sequences");
  // Dtype and trailing sizes are those of the first.
  const Tensor& first = sequences[0];
  int64_t longest = 0;
  for (const Tensor& s : sequences) {
    CRESSET_CHECK(s.dim() > 0, "pad_sequence: expected sequences of at least one dimension, got a tensor without");
    longest = std::max(longest, s.size(0));
  }
  std::vector<Tensor> rows;
  for (const Tensor& given : sequences) {
    std::vector<int64_t> shape = first.sizes().vec();
    shape[0] = given.size(0);
    const Tensor s = given.to(first.options().requires_grad(false)).expand(shape);
    shape[0] = longest - given.size(0);
    const Tensor gap = first.new_full(shape, padding_value);
    rows.push_back(padding_side == "left" ? cresset::cat({gap, s}) : cresset::cat({s, gap}));
  }
  return cresset::stack(rows, batch_first ? 0 : 1);
}

std::tuple<Tensor, Tensor> _pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first) {
  const Tensor steps_first = batch_first ? input.transpose(0, 1) : input;
  const int64_t steps = longest_of(lengths, steps_first);
  const Tensor inside = inside_of(lengths, steps);
  return {steps_first.narrow(0, 0, steps).index({inside}), inside.to(kLong).sum(1)};
}

std::tuple<Tensor, Tensor> _pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes, bool batch_first, const Scalar& padding_value,
                                                int64_t total_length) {
  const int64_t longest = batch_sizes.numel(), count = batch_sizes.select(0, 0).item<int64_t>();
  CRESSET_CHECK(total_length <= 0 || total_length >= longest, "pad_packed_sequence: expected total_length of at least the longest sequence, got ", total_length,
                " and ", longest);
  const Tensor inside = inside_of(batch_sizes, count).t();
  std::vector<int64_t> shape = data.sizes().vec();
  shape[0] = count;
  shape.insert(shape.begin(), std::max(longest, total_length));
  const Tensor places = inside.nonzero();
  const Tensor padded = data.new_full(shape, padding_value).index_put({places.select(1, 0), places.select(1, 1)}, data);
  return {batch_first ? padded.transpose(0, 1) : padded, inside.to(kLong).sum(0)};
}

}  // namespace cresset::ops::composite
