#pragma once
// Sequences of different lengths: padded to one length, or packed one time step after the other.

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cresset/nn/layers/rnn.h"

namespace cresset::nn::utils::rnn {

// The permutation that undoes one; undefined for undefined.
CRESSET_API Tensor invert_permutation(const Tensor& permutation);

// The elements of sequences in order of time, longest sequence first, and how many sequences each step has.
class CRESSET_API PackedSequence {
 public:
  // Errors: batch_sizes that are not on the CPU.
  explicit PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices = {}, Tensor unsorted_indices = {});

  const Tensor& data() const { return data_; }
  const Tensor& batch_sizes() const { return batch_sizes_; }
  const Tensor& sorted_indices() const { return sorted_indices_; }
  const Tensor& unsorted_indices() const { return unsorted_indices_; }

  // The same sequences with data of another device or dtype.
  PackedSequence to(TensorOptions options) const;
  PackedSequence cpu() const { return to(TensorOptions(Device(kCPU))); }
  PackedSequence cuda() const { return to(TensorOptions(Device(kCUDA))); }
  // Errors: there is no accelerator to pin memory for.
  PackedSequence pin_memory() const;
  bool is_cuda() const { return data_.is_cuda(); }
  bool is_pinned() const { return false; }

 private:
  Tensor data_, batch_sizes_, sorted_indices_, unsorted_indices_;
};

// Packs (T, B, *), or (B, T, *) with batch_first, of which sequence i has lengths[i] steps.
// Errors: lengths that are not positive, too long, of another number, or not falling while enforce_sorted.
CRESSET_API PackedSequence pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first = false, bool enforce_sorted = true);
// The padded sequences, in their first order, and their lengths. Errors: too small a total_length.
CRESSET_API std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first = false, double padding_value = 0.0,
                                                           std::optional<int64_t> total_length = std::nullopt);
// Tensors (L, *) of different lengths as one (T, B, *), or (B, T, *) with batch_first.
CRESSET_API Tensor pad_sequence(ArrayRef<Tensor> sequences, bool batch_first = false, double padding_value = 0.0, const std::string& padding_side = "right");
// The tensors that pad_sequence joined.
CRESSET_API std::vector<Tensor> unpad_sequence(const Tensor& padded_sequences, const Tensor& lengths, bool batch_first = false);
CRESSET_API PackedSequence pack_sequence(ArrayRef<Tensor> sequences, bool enforce_sorted = true);
// The tensors that pack_sequence joined.
CRESSET_API std::vector<Tensor> unpack_sequence(const PackedSequence& packed_sequences);

}  // namespace cresset::nn::utils::rnn
