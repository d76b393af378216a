#pragma once
// Inside the room: how operators run on batches; docs/records/0006-vmap.md.

#include "cresset/core/batched.h"
#include "cresset/dispatch/op.h"
#include "cresset/transform/vmap.h"

namespace cresset::func {

using dispatch::OpEntry;
using dispatch::Stack;
using dispatch::Value;

// True if it has run the call: an argument is batched, or the operator is random inside of a vmap.
bool batching_layer(const OpEntry& op, Stack& stack);

// A view of a batched tensor that was kept beyond its vmap: a RuntimeError.
[[noreturn]] CRESSET_API void refuse_escaped(const char* op);

// In its scope, another level is the innermost one of this thread.
class WithinVmap {
 public:
  explicit WithinVmap(const VmapLevel* level);
  ~WithinVmap();
  WithinVmap(const WithinVmap&) = delete;
  WithinVmap& operator=(const WithinVmap&) = delete;

 private:
  const VmapLevel* saved_;
};

// A call with arguments batched at `level`, the innermost among them. Rules take wrappers apart, run operators on the values, and
// give results with their batch dimension.
class BatchCall {
 public:
  BatchCall(const OpEntry& op, Stack arguments, uint64_t level);

  const OpEntry& op;
  const dispatch::FunctionSchema& schema;
  Stack arguments;
  const uint64_t level;
  int64_t size = 0;
  Stack results;

  const Tensor& tensor(size_t i) const { return arguments[i].to_tensor(); }
  bool batched(const Tensor& t) const {
    const BatchedImpl* b = as_batched(t);
    return b && b->level() == level;
  }
  bool batched(size_t i) const { return batched(tensor(i)); }
  // Any of the tensors from argument `first` on.
  bool any_batched(size_t first = 0) const;
  // The value, or the tensor itself if it is not batched.
  const Tensor& value(const Tensor& t) const { return batched(t) ? as_batched(t)->value() : t; }
  int64_t batch_dim(const Tensor& t) const { return as_batched(t)->batch_dim(); }
  // The value with the batch as first dimension; as it is if not batched.
  Tensor front(const Tensor& t) const;
  // The same, repeated if not batched.
  Tensor spread(const Tensor& t) const;
  // front or spread with dimensions of size 1 after the batch, so that there are `rank` more.
  Tensor padded(const Tensor& t, int64_t rank) const;
  Tensor padded_spread(const Tensor& t, int64_t rank) const;
  Tensor wrap(const Tensor& value, int64_t dim = 0) const { return make_batched(value, dim, level); }

  // Dimension `d` of a tensor of `rank` dimensions, counted with the batch first. Errors: out of range.
  static int64_t shifted(int64_t d, int64_t rank);

  // The operator on other arguments, below this level.
  Stack run(Stack values) const {
    dispatch::call_boxed(op, values);
    return values;
  }
  // Results whose batch is along `dim`; what is no tensor is given as it is.
  void give(const Stack& values, int64_t dim = 0);
  void give(const Tensor& value, int64_t dim = 0) { results.emplace_back(wrap(value, dim)); }
  // A result as it is.
  void give_plain(Value v) { results.push_back(std::move(v)); }
};

using BatchRule = void (*)(BatchCall& call);

// Errors: the first argument, which is written, is not batched while another one is.
void check_self_batched(const BatchCall& call);
// Always right: the operator on one element after another.
void run_by_element(BatchCall& call);

struct BatchRow {
  const OpEntry* op;
  BatchRule rule;
};
// The rule of an operator, or null.
BatchRule find_batch_rule(const OpEntry& op);
// Whether the operator's row is one of single elements, which broadcast.
CRESSET_API bool is_pointwise(const OpEntry& op);
// Runs a random operator by the mode of the innermost vmap, if there is one.
bool run_random(const OpEntry& op, Stack& stack);

}  // namespace cresset::func
