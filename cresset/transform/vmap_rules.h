#pragma once
// Inside the room: the rules that the columns `batch` and `draw` of the rows name, by file.

#include "cresset/transform/vmap_layer.h"

namespace cresset::func {

// Generated, sorted by name; pointwise rows have run_pointwise unless they say otherwise.
extern const BatchRow kBatchRows[];
extern const size_t kNumBatchRows;

// How a random operator draws. sized: the batch goes before the sizes asked for. element: one call for each element. batched: one call
// on the whole batch of arguments. in_place: the same, written. mask: like batched, and with the same numbers for all it is drawn for
// one element. dropout: the same, with the values beside the mask. composite: by its body, but one call for each element where nothing
// is batched.
enum class Draw : uint8_t { sized, element, batched, in_place, mask, dropout, composite, rows };
struct DrawRow {
  const OpEntry* op;
  Draw draw;
};
extern const DrawRow kDrawRows[];
extern const size_t kNumDrawRows;

namespace rules {

using func::run_by_element;
// All tensors broadcast against each other.
void run_pointwise(BatchCall& c);
// An error: the result's shape depends on data.
void depends_on_data(BatchCall& c);

// vmap_views.cpp
void same_dims(BatchCall& c);
template <size_t At, size_t And = 0> void view_at(BatchCall& c);
void view(BatchCall& c);
void view_dtype(BatchCall& c);
void as_strided(BatchCall& c);
void permute(BatchCall& c);
void transpose(BatchCall& c);
void t(BatchCall& c);
void squeeze(BatchCall& c);
void squeeze_at(BatchCall& c);
void unsqueeze(BatchCall& c);
void expand(BatchCall& c);
void unfold(BatchCall& c);

// vmap_reduce.cpp
template <size_t At, bool EmptyIsAll = true> void dims_at(BatchCall& c);
template <size_t At, size_t Tensors = 1> void dim_at(BatchCall& c);
void argmax(BatchCall& c);
void prod(BatchCall& c);
void largest(BatchCall& c);
void smallest(BatchCall& c);
void batch_first(BatchCall& c);
void roll(BatchCall& c);
void triangle(BatchCall& c);
void repeat(BatchCall& c);

// vmap_matmul.cpp
void mm(BatchCall& c);
void bmm(BatchCall& c);
void mv(BatchCall& c);
void dot(BatchCall& c);
template <Tensor (*Product)(const Tensor&, const Tensor&)> void add_product(BatchCall& c);
void leading(BatchCall& c);
void leading_all(BatchCall& c);

// vmap_nn.cpp
template <size_t Tensors, int64_t Spatial> void fold_examples(BatchCall& c);
template <size_t Tensors, size_t List> void fold_by_list(BatchCall& c);
template <size_t Tensors, size_t Number> void fold_by_number(BatchCall& c);
void pad(BatchCall& c);
void convolution(BatchCall& c);
void convolution_grad_input(BatchCall& c);
void convolution_grad_weight(BatchCall& c);
void layer_norm(BatchCall& c);
void group_norm(BatchCall& c);
void batch_norm(BatchCall& c);
void class_loss(BatchCall& c);

// vmap_memory.cpp
void copy_in_place(BatchCall& c);
void fill_in_place(BatchCall& c);
void change_values(BatchCall& c);
void like(BatchCall& c);
void new_of_size(BatchCall& c);
void new_strided(BatchCall& c);
void resize(BatchCall& c);

// vmap_index.cpp
void cat(BatchCall& c);
void along_dim(BatchCall& c);
void index_select(BatchCall& c);
void index_change(BatchCall& c);
void take(BatchCall& c);
void index(BatchCall& c);
void index_put(BatchCall& c);
void index_put_in_place(BatchCall& c);
void searchsorted(BatchCall& c);
void embedding(BatchCall& c);

}  // namespace rules

}  // namespace cresset::func
