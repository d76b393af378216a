// Checkpoints that keep the results of some operators: a layer above autograd sees every operator of the call.

#include <unordered_map>

#include "cresset/dispatch/backend.h"
#include "cresset/tensor.h"
#include "cresset/transform/recorder.h"

namespace cresset::utils {

namespace {

using autograd::PackedTensor;
using dispatch::OpEntry;
using dispatch::Stack;
using dispatch::Value;

constexpr Layer kModes = Layer::PythonModes;

std::vector<Tensor> tensors_of(const Stack& stack) {
  std::vector<Tensor> found;
  for (const Value& v : stack) for_each_tensor(v, [&](const Tensor& t) { found.push_back(t); });
  return found;
}

bool same_place(const Tensor& a, const Tensor& b) {
  return a.data_ptr() == b.data_ptr() && a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

// Kinds of values that an operator saved: one of its results, one of its arguments, or something that only the computation gives.
struct Role {
  enum { result, argument, inner } kind;
  size_t number;
};
Role role_of(const Tensor& saved, const std::vector<Tensor>& results, const std::vector<Tensor>& arguments) {
  for (size_t i = 0; i < results.size(); i++)
    if (same_place(saved, results[i])) return {Role::result, i};
  for (size_t i = 0; i < arguments.size(); i++)
    if (same_place(saved, arguments[i])) return {Role::argument, i};
  return {Role::inner, 0};
}

// The results of one call.
struct Kept {
  Stack values;
  std::vector<std::pair<uint32_t, bool>> facts;  // of each tensor: its version, whether it required a gradient
  std::vector<Role> roles;
};

struct Selection {
  CheckpointPolicyFn policy;
  bool allow_mutation = false;
  std::unordered_map<const OpEntry*, std::vector<Kept>> storage;

  bool keeps(const OpEntry& op, const Stack& arguments, const SelectiveCheckpointContext& context) const {
    const CheckpointPolicy p = policy(context, op, arguments);
    return p != CheckpointPolicy::MUST_RECOMPUTE && p != CheckpointPolicy::PREFER_RECOMPUTE;
  }
};

// A context: what this thread does with each operator.
struct Mode {
  Mode(std::shared_ptr<Selection> s, bool again) : selection(std::move(s)), is_again(again), recorder(current_recorder()) {
    layer_state().included = static_cast<uint8_t>(included | layer_bit(kModes));
  }
  ~Mode() {
    current() = outer;
    layer_state().included = included;
  }
  static Mode*& current() {
    static thread_local Mode* mode = nullptr;
    return mode;
  }

  void run(const OpEntry& op, Stack& stack) { is_again ? take(op, stack) : compute(op, stack); }

  const std::shared_ptr<Selection> selection;
  const bool is_again;
  CheckpointRecorder* const recorder;
  Mode* const outer = std::exchange(current(), this);
  const uint8_t included = layer_state().included;
  std::unordered_map<const OpEntry*, size_t> turns;

 private:
  void compute(const OpEntry& op, Stack& stack) {
    const Stack arguments = stack;
    std::vector<Tensor> saved;
    if (recorder) {
      const autograd::SavedTensorsHooksGuard hooks(
          [&, r = recorder->shared_from_this()](const Tensor& t) {
            saved.push_back(t);
            return r->pack(t);
          },
          [r = recorder->shared_from_this()](const PackedTensor& packed) { return r->unpack(packed); });
      call_boxed(op, stack);
    } else {
      call_boxed(op, stack);
    }
    const std::vector<Tensor> results = tensors_of(stack), given = tensors_of(arguments);
    if (results.empty() || !selection->keeps(op, arguments, {false, &stack})) return;
    Kept kept;
    for (const Value& v : stack) kept.values.push_back(map_tensors(v, [](const Tensor& t) { return t.detach(); }));
    for (const Tensor& t : results) kept.facts.emplace_back(t._version(), t.requires_grad());
    for (const Tensor& t : saved) kept.roles.push_back(role_of(t, results, given));
    selection->storage[&op].push_back(std::move(kept));
  }

  void take(const OpEntry& op, Stack& stack) {
    if (!selection->keeps(op, stack, {true, nullptr})) return call_boxed(op, stack);
    const auto& calls = selection->storage[&op];
    const size_t turn = turns[&op]++;
    CRESSET_CHECK(turn < calls.size(), "checkpoint: a result of ", op.name, " is to be kept in backward, of which the first run kept ", calls.size(),
                  ": the policy decided otherwise then");
    const Kept& kept = calls[turn];
    const std::vector<Tensor> values = tensors_of(kept.values), given = tensors_of(stack);
    for (size_t i = 0; i < values.size(); i++)
      CRESSET_CHECK(selection->allow_mutation || values[i]._version() == kept.facts[i].first,
                    "checkpoint: a result that was kept has been written since; allow_cache_entry_mutation accepts its new value");
    for (const Role& role : kept.roles)
      if (role.kind == Role::inner) return call_boxed(op, stack);
    for (const Role& role : kept.roles) recorder->keep(role.kind == Role::result ? values[role.number] : given[role.number]);
    stack.clear();
    size_t i = 0;
    for (const Value& v : kept.values)
      stack.push_back(map_tensors(v, [&](const Tensor& t) {
        // A copy, which what comes after may change in place; with a history, so that operators save what they need of it.
        return kept.facts[i++].second ? t.detach().set_requires_grad(true).clone() : t.clone();
      }));
  }
};

void see_operator(const OpEntry& op, Stack& stack) {
  Mode* const mode = Mode::current();
  bool is_asked = mode && !(op.flags & dispatch::kCompositeOp);
  for (const std::string_view ignored : SAC_IGNORED_OPS) is_asked = is_asked && op.name != ignored;
  const size_t n = op.function_schema().arguments.size();
  if (!is_asked) return call_boxed_below(kModes, op, stack);
  // Values below on the stack are the caller's.
  Stack own(std::make_move_iterator(stack.end() - static_cast<std::ptrdiff_t>(n)), std::make_move_iterator(stack.end()));
  stack.resize(stack.size() - n);
  {
    const ExcludeLayers unseen(layer_bit(kModes));
    if (tensors_of(own).empty()) call_boxed(op, own);
    else mode->run(op, own);
  }
  for (Value& v : own) stack.push_back(std::move(v));
}

}  // namespace

std::pair<CheckpointContext, CheckpointContext> create_selective_checkpoint_contexts(CheckpointPolicyFn policy, bool allow_cache_entry_mutation) {
  static const bool registered = (dispatch::set_layer_fallback(kModes, see_operator), true);
  (void)registered;
  const auto selection = std::make_shared<Selection>();
  selection->policy = std::move(policy);
  selection->allow_mutation = allow_cache_entry_mutation;
  return {[selection] { return std::make_shared<Mode>(selection, false); }, [selection] { return std::make_shared<Mode>(selection, true); }};
}

std::pair<CheckpointContext, CheckpointContext> create_selective_checkpoint_contexts(const std::vector<std::string>& ops, bool allow_cache_entry_mutation) {
  std::vector<const OpEntry*> chosen;
  for (const std::string& name : ops) chosen.push_back(&dispatch::find_op(name).entry());
  return create_selective_checkpoint_contexts(
      [chosen](const SelectiveCheckpointContext&, const OpEntry& op, const Stack&) {
        const bool is_chosen = std::find(chosen.begin(), chosen.end(), &op) != chosen.end();
        return is_chosen ? CheckpointPolicy::MUST_SAVE : CheckpointPolicy::PREFER_RECOMPUTE;
      },
      allow_cache_entry_mutation);
}

}  // namespace cresset::utils
