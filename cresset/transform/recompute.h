#pragma once
// The settings of checkpointing that Python's torch.utils.checkpoint has: recomputation without a backward pass of its own, contexts,
// checks, early stop, and operators whose results are kept. Include it by name: <cresset/transform/recompute.h>.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cresset/dispatch/op.h"
#include "cresset/transform/checkpoint.h"

namespace cresset {
namespace utils {

// The recomputation did not save what the forward pass saved.
class CRESSET_API CheckpointError : public Error {
 public:
  using Error::Error;
};

// Begins a context; it ends when the last copy of the result does.
using CheckpointContext = std::function<std::shared_ptr<void>()>;
// Makes the contexts of a call: that of the forward pass and that of the recomputation.
using CheckpointContextFn = std::function<std::pair<CheckpointContext, CheckpointContext>()>;
// Contexts that do nothing.
CRESSET_API std::pair<CheckpointContext, CheckpointContext> noop_context_fn();

struct CheckpointOptions {
  // true: a backward pass within the backward pass. false: stand-ins for what is saved, which works with everything of autograd.
  bool use_reentrant = false;
  bool preserve_rng_state = true;
  // Not with use_reentrant.
  CheckpointContextFn context_fn = nullptr;
  // "default": shape, dtype and device of what is recomputed must be those of the forward pass. "none": they need not.
  std::string determinism_check = "default";
  // Keeps the stacks at which tensors were saved, for errors to show. Not with use_reentrant.
  bool debug = false;
  // Ends the recomputation when all that is needed is there.
  bool early_stop = true;
};

// The function's results, without keeping what it saves for backward. Errors: ValueError for options that do not go together; in backward
// CheckpointError, where the function saved something else the second time.
CRESSET_API autograd::variable_list checkpoint(std::function<autograd::variable_list(const autograd::variable_list&)> function,
                                               const autograd::variable_list& inputs, const CheckpointOptions& options);
CRESSET_API Tensor checkpoint(std::function<Tensor(const Tensor&)> function, const Tensor& input, const CheckpointOptions& options);
CRESSET_API Tensor checkpoint_sequential(const std::vector<std::function<Tensor(const Tensor&)>>& functions, size_t segments, Tensor input,
                                         const CheckpointOptions& options);

// The reentrant form.
struct CheckpointFunction {
  static autograd::variable_list apply(std::function<autograd::variable_list(const autograd::variable_list&)> function, bool preserve_rng_state,
                                       const autograd::variable_list& inputs) {
    return checkpoint(std::move(function), inputs, preserve_rng_state);
  }
};

// In its scope, checkpoints of all threads stop recomputing once all that is needed is there, or do not, whatever their options say.
class CRESSET_API set_checkpoint_early_stop {
 public:
  explicit set_checkpoint_early_stop(bool enable);
  ~set_checkpoint_early_stop();
  set_checkpoint_early_stop(const set_checkpoint_early_stop&) = delete;
  set_checkpoint_early_stop& operator=(const set_checkpoint_early_stop&) = delete;

 private:
  const std::optional<bool> before_;
};
// The same for the stacks that errors show; nothing leaves it to the options.
class CRESSET_API set_checkpoint_debug_enabled {
 public:
  explicit set_checkpoint_debug_enabled(std::optional<bool> enabled);
  ~set_checkpoint_debug_enabled();
  set_checkpoint_debug_enabled(const set_checkpoint_debug_enabled&) = delete;
  set_checkpoint_debug_enabled& operator=(const set_checkpoint_debug_enabled&) = delete;

 private:
  const std::optional<bool> before_;
};

// Backward passes in its scope belong together: checkpoints recompute once for all of them. Errors: a group within a group.
class CRESSET_API GraphExecGroup {
 public:
  GraphExecGroup();
  ~GraphExecGroup();
  GraphExecGroup(const GraphExecGroup&) = delete;
  GraphExecGroup& operator=(const GraphExecGroup&) = delete;

 private:
  friend struct CheckpointRecorder;
  struct State;
  std::unique_ptr<State> state_;
};

// Inputs cut off from their history, with their requires_grad.
CRESSET_API autograd::variable_list detach_variable(const autograd::variable_list& inputs);
// Warns on the error stream where no tensor requires a gradient.
CRESSET_API void check_backward_validity(const autograd::variable_list& inputs);

// The kind of device whose random state is kept where arguments tell none.
class CRESSET_API DefaultDeviceType {
 public:
  static void set_device_type(std::string device = "cuda");
  static std::string get_device_type();
};
// The accelerators that the tensors lie on, and the random state of each: empty where all are on the CPU.
// Errors: an accelerator, since none has a generator here.
CRESSET_API std::pair<std::vector<Device>, std::vector<Tensor>> get_device_states(const autograd::variable_list& tensors);
// Errors: as above.
CRESSET_API void set_device_states(const std::vector<Device>& devices, const std::vector<Tensor>& states);

// ---- operators whose results are kept --------------------------------------------------------------------------------------

// Results of an operator are kept (SAVE), kept on the CPU, or computed again; MUST forbids a compiler to decide otherwise.
enum class CheckpointPolicy : uint8_t { MUST_SAVE, PREFER_SAVE, MUST_RECOMPUTE, PREFER_RECOMPUTE, MUST_CPU_OFFLOAD, PREFER_CPU_OFFLOAD };

// The facts that a policy is told, once for each operator, in the first run: that it is no recomputation, and the results.
struct SelectiveCheckpointContext {
  bool is_recompute;
  const dispatch::Stack* op_output;
};
using CheckpointPolicyFn =
    std::function<CheckpointPolicy(const SelectiveCheckpointContext& context, const dispatch::OpEntry& op, const dispatch::Stack& arguments)>;

// Operators that policies are not asked about.
inline constexpr std::array<std::string_view, 2> SAC_IGNORED_OPS = {"detach", "detach_"};

// The contexts of a checkpoint that keeps the results of some operators. The policy sees operators with a kernel of their own ("mm"), not
// those that are made of others ("linear"). Of operators that write, or give views, nothing is kept. allow_cache_entry_mutation: what was kept may be changed in place before it is used.
CRESSET_API std::pair<CheckpointContext, CheckpointContext> create_selective_checkpoint_contexts(CheckpointPolicyFn policy,
                                                                                                 bool allow_cache_entry_mutation = false);
// Keeps the results of these operators, "mm" or "add.Tensor". Errors: no such operator.
CRESSET_API std::pair<CheckpointContext, CheckpointContext> create_selective_checkpoint_contexts(const std::vector<std::string>& ops,
                                                                                                 bool allow_cache_entry_mutation = false);

}  // namespace utils
}  // namespace cresset
