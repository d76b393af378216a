#pragma once
// vmap: a function of single examples, applied to a whole batch at once. docs/records/0006-vmap.md.

#include <optional>

#include "cresset/core/batched.h"
#include "cresset/transform/func.h"

namespace cresset {
namespace func {

// The behaviour of random operators inside of the function: refuse, draw numbers for each element, or the same numbers for all.
enum class Randomness : uint8_t { Error, Different, Same };

struct VmapOptions {
  // For each argument the dimension of the batch, nullopt where it is the same for all; empty: 0 for all.
  std::vector<std::optional<int64_t>> in_dims;
  // For each result where the batch goes, nullopt for one that does not depend on it; one entry is for all results; empty: 0.
  std::vector<std::optional<int64_t>> out_dims;
  Randomness randomness = Randomness::Error;
  // At most so many elements at once; 0: all.
  int64_t chunk_size = 0;
};

// The function that maps `f` over the batch. Errors, when it is called: no batched argument, batches of different sizes, dimensions
// out of range, a result that is batched although its out_dim is nullopt; what `f` does with one element that needs its value.
CRESSET_API Function vmap(Function f, VmapOptions options = {});

// A batch that operators on this thread know of from now until the scope ends: what vmap is made of.
class CRESSET_API VmapLevel {
 public:
  VmapLevel(int64_t batch_size, Randomness randomness);
  ~VmapLevel();
  VmapLevel(const VmapLevel&) = delete;
  VmapLevel& operator=(const VmapLevel&) = delete;

  uint64_t number() const { return number_; }
  int64_t batch_size() const { return batch_size_; }
  Randomness randomness() const { return randomness_; }
  // The level around this one on this thread, or null.
  const VmapLevel* outer() const { return outer_; }
  // `t` as one element of the batch along `dim`. Errors: a dimension out of range, another size.
  Tensor wrap(const Tensor& t, int64_t dim) const;
  // The batch along `dim`, repeated for a tensor that does not depend on the element.
  Tensor unwrap(const Tensor& t, int64_t dim) const;

 private:
  uint64_t number_;
  int64_t batch_size_;
  Randomness randomness_;
  const VmapLevel* outer_;
};
// The innermost level on this thread, or null.
CRESSET_API const VmapLevel* current_vmap();
// Makes another level of this thread the innermost one, or none; returns which one it was.
CRESSET_API const VmapLevel* set_current_vmap(const VmapLevel* level);
// `t` repeated for each level of this thread at which it is not batched: so that a derivative by it is that of one element.
CRESSET_API Tensor batched_at_all_levels(const Tensor& t);

// The tensor under an element of a batch: the whole batch below all levels, or below one. For looking at only.
inline Tensor debug_unwrap(const Tensor& t, bool recurse = true) {
  const BatchedImpl* element = as_batched(t);
  return !element ? t : recurse ? physical(t) : element->value();
}

}  // namespace func
}  // namespace cresset
