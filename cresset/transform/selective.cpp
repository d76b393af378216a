// Checkpoints that keep the results of some operators: a listener below autograd hears every operator of the call, with a kernel of its own.

#include <algorithm>
#include <unordered_map>

#include "cresset/dispatch/backend.h"
#include "cresset/dispatch/listen.h"
#include "cresset/tensor.h"
#include "cresset/transform/recompute.h"

namespace cresset::utils {

namespace {

using dispatch::ListenPlace;
using dispatch::OpEntry;
using dispatch::Stack;
using dispatch::Value;

// The results of one call, and the versions of the tensors among them; none where they are computed again.
struct KeptResults {
  Stack values;
  std::vector<uint32_t> versions;
  bool is_kept = false;
};

struct Selection {
  CheckpointPolicyFn policy;
  bool allow_mutation = false;
  std::unordered_map<const OpEntry*, std::vector<KeptResults>> calls;
};

// Whether a copy of the results can stand for a call: it writes nothing, and gives no view.
bool is_keepable(const OpEntry& op) {
  const auto& arguments = op.function_schema().arguments;
  return !(op.flags & dispatch::kViewOp) && std::none_of(arguments.begin(), arguments.end(), [](const auto& a) { return a.writes; });
}

// A context: what this thread does with each operator.
class SelectionListener final : public dispatch::Listener {
 public:
  SelectionListener(std::shared_ptr<Selection> selection, bool again) : selection_(std::move(selection)), is_again_(again) {}

  bool hears(const OpEntry& op, bool) override {
    return !(op.flags & dispatch::kCompositeOp) && std::find(SAC_IGNORED_OPS.begin(), SAC_IGNORED_OPS.end(), op.name) == SAC_IGNORED_OPS.end();
  }
  void call(const OpEntry& op, Stack& stack) override {
    const dispatch::ListenScope outer(ListenPlace::below_autograd, outer_);
    is_again_ ? take(op, stack) : compute(op, stack);
  }

 private:
  void compute(const OpEntry& op, Stack& stack) {
    const Stack arguments = stack;
    call_boxed(op, stack);
    const CheckpointPolicy wanted = selection_->policy({false, &stack}, op, arguments);
    KeptResults results;
    results.is_kept = wanted != CheckpointPolicy::MUST_RECOMPUTE && wanted != CheckpointPolicy::PREFER_RECOMPUTE && is_keepable(op);
    if (results.is_kept)
      for (const Value& v : stack) {
        results.values.push_back(map_tensors(v, [](const Tensor& t) { return t.detach(); }));
        for_each_tensor(v, [&](const Tensor& t) { results.versions.push_back(t._version()); });
      }
    selection_->calls[&op].push_back(std::move(results));
  }

  void take(const OpEntry& op, Stack& stack) {
    const auto& calls = selection_->calls[&op];
    const size_t turn = turns_[&op]++;
    const bool is_known = turn < calls.size();
    CRESSET_CHECK(is_known || std::none_of(calls.begin(), calls.end(), [](const KeptResults& r) { return r.is_kept; }), "checkpoint: backward runs ", op.name,
                  " ", turn + 1, " times, the first run ", calls.size(), " times: its results are kept for those only");
    if (!is_known || !calls[turn].is_kept) return call_boxed(op, stack);
    const KeptResults& results = calls[turn];
    stack.clear();
    size_t i = 0;
    for (const Value& v : results.values)
      stack.push_back(map_tensors(v, [&](const Tensor& t) {
        CRESSET_CHECK(t._version() == results.versions[i++] || selection_->allow_mutation,
                      "checkpoint: a result that was kept has been written since; allow_cache_entry_mutation accepts its new value");
        return t.clone();  // which what comes after may change in place
      }));
  }

  const std::shared_ptr<Selection> selection_;
  const bool is_again_;
  std::unordered_map<const OpEntry*, size_t> turns_;
  // Set last, so that calls come by when all else is there, and taken away first.
  Listener* const outer_ = dispatch::listener_at(ListenPlace::below_autograd);
  const dispatch::ListenScope scope_{ListenPlace::below_autograd, this};
};

}  // namespace

std::pair<CheckpointContext, CheckpointContext> create_selective_checkpoint_contexts(CheckpointPolicyFn policy, bool allow_cache_entry_mutation) {
  const auto selection = std::make_shared<Selection>();
  selection->policy = std::move(policy);
  selection->allow_mutation = allow_cache_entry_mutation;
  return {[selection] { return std::make_shared<SelectionListener>(selection, false); },
          [selection] { return std::make_shared<SelectionListener>(selection, true); }};
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
