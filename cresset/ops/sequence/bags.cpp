// Embeddings by bags: sums, means and maxima of rows of a table, and limits of the norms of its rows.

#include <limits>

#include "cresset/core/batched.h"
#include "cresset/core/layers.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/operands.h"

namespace cresset::ops {

namespace {

// Bags by rows of the table; a bag may name a row twice.
Tensor bag_matrix(const Tensor& values, const Tensor& ends, const Tensor& index, int64_t rows) {
  return cresset::_sparse_csr_tensor_unsafe(ends, index, values, {ends.numel() - 1, rows}, TensorOptions(values.scalar_type()));
}

// Whether the sums may be the product of a sparse matrix with the table.
bool multiplies(const Tensor& weight, const Tensor& indices, const Tensor& starts, const std::optional<Tensor>& values) {
  if (given(values) && values->scalar_type() != weight.scalar_type()) return false;
  for (const Tensor* t : {&weight, &indices, &starts, given(values) ? &*values : &weight})
    if (t->lacks_data() || as_batched(*t)) return false;
  return weight.is_floating_point() && !(starts.diff() < 0).any().item<bool>();
}

struct NotRecorded {
  NotRecorded() { layer_state().set_grad_mode(false); }
  ~NotRecorded() { layer_state().set_grad_mode(before); }
  const bool before = layer_state().grad_mode;
};

}  // namespace

namespace cpu {

Tensor _bag_sums(const Tensor& weight, const Tensor& values, const Tensor& ends, const Tensor& index) {
  return bag_matrix(values, ends, index, weight.size(0)).mm(weight);
}

}  // namespace cpu

namespace composite {

Tensor _bag_sums_backward(const Tensor& grad, const Tensor& values, const Tensor& ends, const Tensor& index, int64_t rows) {
  if (!layer_state().grad_mode && !as_batched(grad)) return bag_matrix(values, ends, index, rows).t().mm(grad);
  // A gradient that may be differentiated again keeps to dense rows.
  const Tensor each = grad.index_select(0, cresset::repeat_interleave(ends.diff())) * values.unsqueeze(1);
  return cresset::embedding_dense_backward(each, index, rows, -1, false);
}

Tensor& embedding_renorm_(Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  if (self.lacks_data() || indices.lacks_data()) return self;
  const NotRecorded none;
  const Tensor weight = self.detach(), flat = indices.reshape(-1).to(kLong);  // a tangent stays what it is
  const Tensor mark = flat.new_zeros({weight.size(0)}, TensorOptions(kBool)).index_fill(0, flat, true);
  auto shortened = [&](const Tensor& rows, const Tensor& norms) { return rows * (max_norm / (norms + 1e-7)); };
  auto norms_of = [&](const Tensor& rows) { return cresset::linalg_vector_norm(rows, norm_type, IntArrayRef(1), true); };
  if (as_batched(weight) || as_batched(flat)) {
    const Tensor norms = norms_of(weight);
    weight.copy_(cresset::where(mark.unsqueeze(1).logical_and(norms > max_norm), shortened(weight, norms), weight));
    return self;
  }
  const Tensor used = mark.nonzero().squeeze(1), rows = weight.index_select(0, used), norms = norms_of(rows);
  weight.index_copy_(0, used, cresset::where(norms > max_norm, shortened(rows, norms), rows));
  return self;
}

// Modes: 0 sum, 1 mean, 2 max.
std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale_grad_by_freq,
                                                         int64_t mode, bool sparse, const std::optional<Tensor>& per_sample_weights, bool include_last_offset,
                                                         std::optional<int64_t> padding_idx) {
  if (weight.is_meta() && !(indices.is_meta() && offsets.is_meta()))
    return composite::embedding_bag(weight, indices.to(kMeta), offsets.to(kMeta), scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
                                    padding_idx);
  CRESSET_CHECK(weight.dim() == 2 && indices.dim() == 1 && offsets.dim() == 1, "embedding_bag: expected a matrix, indices and offsets in one dimension, got ",
                weight.sizes(), ", ", indices.sizes(), " and ", offsets.sizes());
  CRESSET_CHECK(is_integral_type(indices.scalar_type(), false) && is_integral_type(offsets.scalar_type(), false),
                "embedding_bag: expected indices and offsets of dtype int64 or int32, got ", indices.scalar_type(), " and ", offsets.scalar_type());
  CRESSET_CHECK(mode >= 0 && mode <= 2, "embedding_bag: mode is 0 sum, 1 mean or 2 max, got ", mode);
  CRESSET_CHECK(!given(per_sample_weights) || per_sample_weights->scalar_type() == weight.scalar_type(), "embedding_bag: expected per_sample_weights of dtype ",
                weight.scalar_type(), " as the table, got ", given(per_sample_weights) ? per_sample_weights->scalar_type() : weight.scalar_type());
  CRESSET_CHECK(!given(per_sample_weights) || (mode == 0 && per_sample_weights->sizes() == indices.sizes()),
                "embedding_bag: per_sample_weights go with mode sum and have the shape of the indices");
  const int64_t count = indices.numel(), rows_of_weight = weight.size(0);
  Tensor starts = offsets.to(kLong);
  if (starts.numel() > 0 && !starts.lacks_data()) {
    const int64_t first = starts.select(0, 0).item<int64_t>(), last = starts.select(0, -1).item<int64_t>();
    CRESSET_CHECK(first == 0, "embedding_bag: offsets[0] has to be 0, got ", first);
    CRESSET_CHECK(last <= count, "embedding_bag: offsets[-1] ", last, " is past the ", count, " numbers of the input");
  }
  CRESSET_CHECK(!include_last_offset || starts.numel() > 0, "embedding_bag: include_last_offset needs at least one offset");
  if (include_last_offset) starts = starts.slice(0, 0, -1);
  const int64_t bags = starts.numel();
  const TensorOptions integers = TensorOptions(kLong).device(weight.device());
  const Tensor none = cresset::zeros({bags}, integers);
  if (count == 0 || bags == 0) {
    Tensor used = weight.narrow(0, 0, 0).sum();
    if (given(per_sample_weights)) used = used + per_sample_weights->narrow(0, 0, 0).sum();
    return {weight.new_zeros({bags, weight.size(1)}) + used, cresset::empty({0}, integers), none, none.clone()};
  }
  if (const Tensor& every = physical(indices); !every.lacks_data()) {
    const int64_t least = every.min().item<int64_t>(), most = every.max().item<int64_t>();
    CRESSET_CHECK(least >= 0 && most < rows_of_weight, "embedding_bag: index ", least < 0 ? least : most, " is out of range for a table of ", rows_of_weight,
                  " rows");
  }
  const bool pads = padding_idx && *padding_idx >= 0;
  Tensor keep;
  if (pads) keep = indices != *padding_idx;
  if (mode != 2 && !sparse && !scale_grad_by_freq && multiplies(weight, indices, starts, per_sample_weights)) {
    Tensor index = indices.to(kLong), ends = cresset::cat({starts, cresset::full({1}, count, integers)});
    Tensor values = given(per_sample_weights) ? *per_sample_weights : cresset::ones({count}, TensorOptions(weight.scalar_type()).device(weight.device()));
    if (pads) {
      const Tensor kept = keep.nonzero().squeeze(1);
      index = index.index_select(0, kept);
      values = values.index_select(0, kept);
      ends = cresset::cat({cresset::zeros({1}, integers), keep.cumsum(0)}).index_select(0, ends);
    }
    const Tensor sums = cresset::_bag_sums(weight, values, ends, index);
    if (mode == 0) return {sums, cresset::empty({0}, integers), none, none.clone()};
    const Tensor lengths = ends.diff();
    return {sums / lengths.clamp_min(1).unsqueeze(1).to(sums.scalar_type()), cresset::repeat_interleave(lengths), lengths, lengths.clone()};
  }
  const Tensor bag = cresset::zeros({count + 1}, integers).index_add(0, starts, cresset::ones({bags}, integers)).cumsum(0).narrow(0, 0, count) - 1;
  Tensor rows = cresset::embedding(weight, indices, pads ? *padding_idx : -1, scale_grad_by_freq, sparse);
  const Tensor lengths = none.index_add(0, bag, pads ? keep.to(kLong) : cresset::ones({count}, integers));
  if (mode == 2) {
    constexpr double kLeast = -std::numeric_limits<double>::infinity();
    const Tensor place = cresset::arange(count, integers) - starts.index_select(0, bag);
    const int64_t longest = place.lacks_data() ? count : place.max().item<int64_t>() + 1;
    if (pads) rows = cresset::where(keep.unsqueeze(1), rows, cresset::full({}, kLeast, TensorOptions(rows.scalar_type()).device(rows.device())));
    const Tensor table = rows.new_full({bags, longest, rows.size(1)}, kLeast);
    const auto [best, where_best] = cresset::index_put(table, {bag, place}, rows).max(1);
    const Tensor nothing = best == kLeast, at = (starts.unsqueeze(1) + where_best).clamp_max(count - 1);
    return {best.masked_fill(nothing, 0), bag, lengths, cresset::take(indices.to(kLong), at).masked_fill(nothing, 0)};
  }
  if (given(per_sample_weights)) rows = rows * per_sample_weights->unsqueeze(1);
  if (pads) rows = rows * keep.to(rows.scalar_type()).unsqueeze(1);
  const Tensor sums = rows.new_zeros({bags, rows.size(1)}).index_add(0, bag, rows);
  if (mode == 0) return {sums, bag, none, none.clone()};
  return {sums / lengths.clamp_min(1).unsqueeze(1).to(sums.scalar_type()), bag, lengths, lengths.clone()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale_grad_by_freq,
                                                         int64_t mode, bool sparse, const std::optional<Tensor>& per_sample_weights, bool include_last_offset) {
  return composite::embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, std::nullopt);
}

}  // namespace composite

}  // namespace cresset::ops
