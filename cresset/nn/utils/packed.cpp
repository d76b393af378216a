#include "cresset/nn/utils/packed.h"

#include "cresset/ops/functions.h"

namespace cresset::nn::utils::rnn {

Tensor invert_permutation(const Tensor& permutation) {
  if (!permutation.defined()) return {};
  return empty_like(permutation).scatter_(0, permutation, arange(permutation.numel(), permutation.options()));
}

PackedSequence::PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices, Tensor unsorted_indices)
    : data_(std::move(data)),
      batch_sizes_(std::move(batch_sizes)),
      sorted_indices_(std::move(sorted_indices)),
      unsorted_indices_(unsorted_indices.defined() ? std::move(unsorted_indices) : invert_permutation(sorted_indices_)) {
  CRESSET_CHECK_VALUE(batch_sizes_.defined(), "PackedSequence: batch_sizes are needed beside the data");
  CRESSET_CHECK_VALUE(batch_sizes_.device().is_cpu(), "PackedSequence: batch_sizes must be on the CPU, got ", batch_sizes_.device());
}

PackedSequence PackedSequence::to(TensorOptions options) const {
  Tensor data = data_.to(options);
  if (data.is_same(data_)) return *this;
  const auto moved = [&](const Tensor& t) { return t.defined() ? t.to(data.device()) : t; };
  const Tensor sorted = moved(sorted_indices_), unsorted = moved(unsorted_indices_);
  return PackedSequence(std::move(data), batch_sizes_, sorted, unsorted);
}

PackedSequence PackedSequence::pin_memory() const { CRESSET_CHECK(false, "pin_memory: no accelerator is available"); }

PackedSequence pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first, bool enforce_sorted) {
  lengths = lengths.to(kLong).cpu();
  Tensor sorted_indices;
  if (!enforce_sorted) {
    std::tie(lengths, sorted_indices) = lengths.sort(0, true);
    sorted_indices = sorted_indices.to(input.device());
    input = input.index_select(batch_first ? 0 : 1, sorted_indices);
  }
  auto [data, batch_sizes] = cresset::_pack_padded_sequence(input, lengths, batch_first);
  return PackedSequence(std::move(data), std::move(batch_sizes), sorted_indices);
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first, double padding_value, std::optional<int64_t> total_length) {
  const int64_t steps = sequence.batch_sizes().numel();
  CRESSET_CHECK_VALUE(total_length.value_or(steps) >= steps,
                      "pad_packed_sequence: Expected total_length to be at least the length of the longest sequence in input, ", steps, ", got ",
                      total_length.value_or(steps));
  auto [out, lengths] = cresset::_pad_packed_sequence(sequence.data(), sequence.batch_sizes(), batch_first, padding_value, total_length.value_or(steps));
  if (sequence.unsorted_indices().defined()) {
    out = out.index_select(batch_first ? 0 : 1, sequence.unsorted_indices());
    lengths = lengths.index_select(0, sequence.unsorted_indices().cpu());
  }
  return {out, lengths};
}

Tensor pad_sequence(ArrayRef<Tensor> sequences, bool batch_first, double padding_value, const std::string& padding_side) {
  return cresset::pad_sequence(sequences, batch_first, padding_value, padding_side);
}

std::vector<Tensor> unpad_sequence(const Tensor& padded_sequences, const Tensor& lengths, bool batch_first) {
  std::vector<Tensor> rows;
  for (const Tensor& row : padded_sequences.unbind(batch_first ? 0 : 1))
    rows.push_back(row.narrow(0, 0, lengths[static_cast<int64_t>(rows.size())].item<int64_t>()));
  return rows;
}

PackedSequence pack_sequence(ArrayRef<Tensor> sequences, bool enforce_sorted) {
  std::vector<int64_t> lengths;
  for (const Tensor& s : sequences) lengths.push_back(s.size(0));
  return pack_padded_sequence(cresset::pad_sequence(sequences), tensor(lengths), false, enforce_sorted);
}

std::vector<Tensor> unpack_sequence(const PackedSequence& packed_sequences) {
  const auto [padded, lengths] = pad_packed_sequence(packed_sequences, true);
  return unpad_sequence(padded, lengths, true);
}

}  // namespace cresset::nn::utils::rnn

namespace cresset::nn {

namespace {

using utils::rnn::PackedSequence;

Tensor in_order(const Tensor& state, const Tensor& permutation) { return permutation.defined() ? state.index_select(1, permutation) : state; }

Tensor first_state(const detail::RnnShape& s, const PackedSequence& input, const Tensor& given, int64_t size) {
  const std::vector<int64_t> shape = {s.num_layers * s.directions(), input.batch_sizes()[0].item<int64_t>(), size};
  if (!given.defined()) return zeros(shape, input.data().options().requires_grad(false));
  CRESSET_CHECK(given.sizes() == IntArrayRef(shape), "rnn: shape of an initial state, got ", given.sizes(), ", expected ", IntArrayRef(shape));
  return in_order(given, input.sorted_indices());
}

PackedSequence same_steps(const PackedSequence& input, Tensor data) {
  return PackedSequence(std::move(data), input.batch_sizes(), input.sorted_indices(), input.unsorted_indices());
}

using OneState = std::tuple<Tensor, Tensor> (*)(const Tensor&, const Tensor&, const Tensor&, TensorList, bool, int64_t, double, bool, bool);

std::tuple<PackedSequence, Tensor> run_packed(const detail::RnnShape& s, OneState network, const std::vector<Tensor>& weights, const PackedSequence& input,
                                              const Tensor& hx, bool training) {
  auto [out, end] =
      network(input.data(), input.batch_sizes(), first_state(s, input, hx, s.hidden_size), weights, s.bias, s.num_layers, s.dropout, training, s.bidirectional);
  return {same_steps(input, out), in_order(end, input.unsorted_indices())};
}

}  // namespace

std::tuple<PackedSequence, Tensor> RNNImpl::forward_with_packed_input(const PackedSequence& input, Tensor hx) {
  const auto network = shape_.kind == detail::RnnKind::tanh ? static_cast<OneState>(&cresset::rnn_tanh) : static_cast<OneState>(&cresset::rnn_relu);
  return run_packed(shape_, network, all_weights(), input, hx, is_training());
}

std::tuple<PackedSequence, Tensor> GRUImpl::forward_with_packed_input(const PackedSequence& input, Tensor hx) {
  return run_packed(shape_, static_cast<OneState>(&cresset::gru), all_weights(), input, hx, is_training());
}

std::tuple<PackedSequence, std::tuple<Tensor, Tensor>> LSTMImpl::forward_with_packed_input(const PackedSequence& input, HiddenStates hx) {
  const auto& s = shape_;
  const Tensor hidden = first_state(s, input, hx ? std::get<0>(*hx) : Tensor(), s.output_size());
  const Tensor cell = first_state(s, input, hx ? std::get<1>(*hx) : Tensor(), s.hidden_size);
  auto [out, last_hidden, last_cell] =
      cresset::lstm(input.data(), input.batch_sizes(), {hidden, cell}, all_weights(), s.bias, s.num_layers, s.dropout, is_training(), s.bidirectional);
  const Tensor& order = input.unsorted_indices();
  return {same_steps(input, out), {in_order(last_hidden, order), in_order(last_cell, order)}};
}

}  // namespace cresset::nn
