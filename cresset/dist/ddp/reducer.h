#pragma once
// Averages the gradients of a model over the ranks of a group while backward runs.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cresset/dist/group/process_group.h"

namespace cresset::distributed {

constexpr int64_t kDefaultFirstBucketBytes = int64_t{1} << 20, kDefaultBucketBytes = int64_t{25} << 20;

// Gradients that are averaged together, as a communication hook gets them.
struct CRESSET_API GradBucket {
  size_t index = 0;
  Tensor buffer;      // all gradients in one row
  Tensors gradients;  // its parts in the shapes of the parameters
  Tensors parameters;
  bool is_last = false;
};

// Begins the averaging of a bucket; the function that it returns waits and gives the new row. The hook divides, where it wants to.
using CommHook = std::function<std::function<Tensor()>(GradBucket&)>;
// The averages in half precision, or as they are.
enum class BuiltinCommHookType { AllReduce, Fp16Compress };

// The dtypes in which a model computes while its parameters stay what they are.
struct MixedPrecision {
  std::optional<ScalarType> param_dtype;   // of parameters in forward and backward, and of inputs
  std::optional<ScalarType> reduce_dtype;  // of gradients under way; that of the parameters where it is not set
  std::optional<ScalarType> buffer_dtype;
};
// Floating-point tensors take on the dtype in place; others, and all where there is none, stay.
CRESSET_API void cast_in_place(const Tensors& tensors, const std::optional<ScalarType>& dtype);
// A floating-point tensor in the dtype, differentiably; any other as it is.
CRESSET_API Tensor in_dtype(const Tensor& tensor, const std::optional<ScalarType>& dtype);

struct ReducerOptions {
  std::vector<int64_t> bucket_bytes = {kDefaultFirstBucketBytes, kDefaultBucketBytes};  // of the first, and of the others
  bool find_unused_parameters = false;
  bool static_graph = false;
  bool gradient_as_bucket_view = false;
  MixedPrecision mixed_precision;
  Tensors frozen;  // parameters without gradients, which take on `param_dtype` too
  // Runs a function that waits for other ranks; a front end lets go of its locks meanwhile.
  std::function<void(const std::function<void()>&)> while_waiting;
};

// The parameters are those that need gradients, the same on every rank and in the same order. Their hooks hold the reducer's state alone, so that
// it may go before they do. First all gradients of a dtype are one bucket; after the first backward they are divided in the order in which they came.
class CRESSET_API Reducer {
 public:
  Reducer(Tensors parameters, std::vector<std::string> names, intrusive_ptr<ProcessGroup> group, ReducerOptions options = {});
  ~Reducer();
  Reducer(const Reducer&) = delete;

  // Before a forward: where precision is mixed, parameters have their low precision from here to the end of the backward, when they and their
  // gradients get their own back. A graph that is kept serves no second backward then.
  void prepare_for_forward();
  // Gives them back at once, for a forward that failed.
  void restore_parameters();
  // At the end of a forward whose backward averages. Where unused parameters are looked for, those that no output leads to count as done.
  // Errors: parameters got no gradient in the last backward; they are named.
  void prepare_for_backward(const Tensors& outputs);
  // In place of it, where the backward adds up in each rank alone, or there is none (without grad mode).
  void skip_next_backward();
  // Errors: there is one already.
  void register_comm_hook(CommHook hook);
  void register_builtin_comm_hook(BuiltinCommHookType type);
  // Sums are divided by it: the number of ranks at first.
  void set_divisor(int64_t ranks);
  // The calls that the other ranks make in a backward, for a rank that has no data: it adds zeros.
  void shadow_backward();
  // Whether the last backward has divided the buckets anew, for all ranks alike.
  bool rebuild_buckets();
  // Checks that all ranks have the same number of parameters with the same shapes, and gives all the values of rank 0.
  static void verify_parameters(ProcessGroup& group, const Tensors& parameters);
  // Indices of the parameters of each bucket.
  std::vector<std::vector<size_t>> bucket_indices() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

// Gives all ranks the tensors of the root, those of one dtype together. Errors: those of the group.
CRESSET_API void broadcast_coalesced(ProcessGroup& group, const Tensors& tensors, int64_t root = 0, int64_t bytes = int64_t{250} << 20);

}  // namespace cresset::distributed
