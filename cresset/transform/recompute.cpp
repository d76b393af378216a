#include "cresset/transform/recompute.h"

#include <atomic>

#include "cresset/autograd/anomaly_mode.h"
#include "cresset/autograd/grad_mode.h"
#include "cresset/base/warning.h"
#include "cresset/core/batched.h"
#include "cresset/core/functional.h"
#include "cresset/core/random/generator_scope.h"
#include "cresset/tensor.h"
#include "cresset/transform/autocast.h"
#include "cresset/transform/recorder.h"

namespace cresset::utils {

using autograd::PackedTensor;
using autograd::variable_list;

struct GraphExecGroup::State {
  std::mutex mutex;
  std::map<const CheckpointRecorder*, CheckpointRecorder::Values> recomputed;
};

namespace {

// -1: left to the options.
std::atomic<int> early_stop_override{-1}, debug_override{-1};
std::atomic<GraphExecGroup*> current_group{nullptr};

std::optional<bool> replace(std::atomic<int>& place, std::optional<bool> value) {
  const int before = place.exchange(value ? *value : -1);
  return before < 0 ? std::nullopt : std::optional<bool>(before != 0);
}
bool overridden(const std::atomic<int>& place, bool option) { return place < 0 ? option : place != 0; }

std::string described(const autograd::InputMetadata& m) { return str("shape ", m.sizes(), ", ", m.dtype(), ", ", m.device().str()); }

// Gives the inputs again, and notices those that were changed in place since.
std::function<variable_list()> kept(const variable_list& inputs) {
  auto saved = std::make_shared<std::vector<autograd::SavedVariable>>();
  auto elements = std::make_shared<variable_list>(inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    // An element of a batch and a wrapper of functionalize have no versions of their own.
    const bool wraps = as_batched(inputs[i]) || as_functional(inputs[i]);
    if (wraps) (*elements)[i] = inputs[i];
    saved->emplace_back(wraps ? Tensor() : inputs[i], false);
  }
  return [saved, elements] {
    variable_list found = *elements;
    for (size_t i = 0; i < found.size(); i++)
      if (!found[i].defined()) found[i] = (*saved)[i].unpack();
    return found;
  };
}

std::shared_ptr<void> begun(const CheckpointContext& context) { return context ? context() : nullptr; }

}  // namespace

PackedTensor CheckpointRecorder::pack(const Tensor& t) {
  saved_.emplace_back(t);
  if (debug) stacks_.push_back(autograd::AnomalyMode::current_stack());
  return std::make_shared<size_t>(saved_.size() - 1);
}

Tensor CheckpointRecorder::unpack(const PackedTensor& packed) {
  const size_t number = *static_cast<const size_t*>(packed.get());
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (GraphExecGroup* group = current_group) {  // what is computed stays until the group ends
    const std::lock_guard<std::mutex> group_lock(group->state_->mutex);
    const auto [at, is_first] = group->state_->recomputed.try_emplace(this);
    if (is_first) {
      recompute();
      at->second.swap(values_);
    }
    return at->second.at(number);
  }
  if (!values_.count(number)) recompute();
  return values_.extract(number).mapped();
}

void CheckpointRecorder::keep(const Tensor& t) {
  if (early_stop && again_.size() == saved_.size()) throw Done();
  values_[again_.size()] = t.detach();
  again_.emplace_back(t);
  if (debug) stacks_again_.push_back(autograd::AnomalyMode::current_stack());
  if (early_stop && again_.size() == saved_.size()) throw Done();
}

void CheckpointRecorder::recompute() {
  values_.clear();
  again_.clear();
  stacks_again_.clear();
  {
    const AutoGradMode with_grad(true);
    const autocast region(kCPU, dtype, in_autocast);
    std::optional<DefaultGeneratorScope> generator;
    if (random) generator.emplace(random->clone());
    const std::shared_ptr<void> scope = begun(context);
    const autograd::SavedTensorsHooksGuard hooks(
        [this](const Tensor& t) -> PackedTensor {
          keep(t);
          return std::make_shared<Tensor>(t);
        },
        [](const PackedTensor& packed) { return *static_cast<const Tensor*>(packed.get()); });
    try {
      call();
    } catch (const Done&) {}
  }
  compare();
}

void CheckpointRecorder::compare() const {
  std::string problem;
  // A backward pass within the function comes before the forward pass has saved all.
  const bool is_more_to_come = !complete && again_.size() > saved_.size();
  if (again_.size() != saved_.size() && !is_more_to_come) {
    problem = str("the recomputation saved another number of tensors than the forward pass.\nSaved by the forward pass: ", saved_.size(),
                  "\nSaved by the recomputation: ", again_.size());
  } else if (check) {
    for (size_t i = 0; i < saved_.size(); i++) {
      const auto &before = saved_[i], &now = again_[i];
      if (before.sizes() != now.sizes() || before.dtype() != now.dtype() || before.device() != now.device())
        problem += str("\ntensor at position ", i, ":\nsaved metadata: ", described(before), "\nrecomputed metadata: ", described(now));
    }
    if (!problem.empty()) problem = "these tensors are recomputed with another shape, dtype or device than they had in the forward pass:" + problem;
  }
  if (problem.empty()) return;
  for (size_t i = 0; i < std::min(stacks_.size(), stacks_again_.size()); i++)
    problem += str("\n\nTensor ", i, " was saved in the forward pass at\n", stacks_[i], "and in the recomputation at\n", stacks_again_[i]);
  throw CheckpointError("checkpoint: " + problem);
}

std::pair<CheckpointContext, CheckpointContext> noop_context_fn() { return {}; }

variable_list checkpoint(std::function<variable_list(const variable_list&)> function, const variable_list& inputs, const CheckpointOptions& options) {
  const bool plain = !options.context_fn && !options.debug;
  CRESSET_CHECK_VALUE(!options.use_reentrant || plain, "checkpoint: context_fn and debug are only supported without use_reentrant");
  CRESSET_CHECK_VALUE(options.determinism_check == "default" || options.determinism_check == "none",
                      "checkpoint: determinism_check should be \"default\" or \"none\", got \"", options.determinism_check, "\"");
  if (options.use_reentrant) {
    check_backward_validity(inputs);
    return checkpoint(std::move(function), inputs, options.preserve_rng_state);
  }
  const auto [forward, again] = options.context_fn ? options.context_fn() : noop_context_fn();
  if (!GradMode::is_enabled()) {
    const std::shared_ptr<void> scope = begun(forward);
    return function(inputs);
  }
  const auto recorder = std::make_shared<CheckpointRecorder>();
  recorder->call = [function, arguments = kept(inputs)] { function(arguments()); };
  recorder->context = again;
  if (options.preserve_rng_state) recorder->random = copy_of_default_generator();
  recorder->in_autocast = amp::is_autocast_enabled(kCPU);
  recorder->dtype = amp::get_autocast_dtype(kCPU);
  recorder->check = options.determinism_check == "default";
  recorder->early_stop = overridden(early_stop_override, options.early_stop);
  recorder->debug = overridden(debug_override, options.debug);
  const autograd::SavedTensorsHooksGuard hooks([recorder](const Tensor& t) { return recorder->pack(t); },
                                               [recorder](const PackedTensor& packed) { return recorder->unpack(packed); });
  const std::shared_ptr<void> scope = begun(forward);
  variable_list outputs = function(inputs);
  recorder->complete = true;
  return outputs;
}

Tensor checkpoint(std::function<Tensor(const Tensor&)> function, const Tensor& input, const CheckpointOptions& options) {
  return checkpoint([f = std::move(function)](const variable_list& list) { return variable_list{f(list[0])}; }, variable_list{input}, options)[0];
}

Tensor checkpoint_sequential(const std::vector<std::function<Tensor(const Tensor&)>>& functions, size_t segments, Tensor input,
                             const CheckpointOptions& options) {
  return in_segments(functions, segments, std::move(input), [&](auto part, const Tensor& x) { return checkpoint(std::move(part), x, options); });
}

set_checkpoint_early_stop::set_checkpoint_early_stop(bool enable) : before_(replace(early_stop_override, enable)) {}
set_checkpoint_early_stop::~set_checkpoint_early_stop() { replace(early_stop_override, before_); }
set_checkpoint_debug_enabled::set_checkpoint_debug_enabled(std::optional<bool> enabled) : before_(replace(debug_override, enabled)) {}
set_checkpoint_debug_enabled::~set_checkpoint_debug_enabled() { replace(debug_override, before_); }

GraphExecGroup::GraphExecGroup() : state_(std::make_unique<State>()) {
  GraphExecGroup* none = nullptr;
  CRESSET_CHECK(current_group.compare_exchange_strong(none, this), "GraphExecGroup: a group is open already, they do not nest");
}
GraphExecGroup::~GraphExecGroup() { current_group = nullptr; }

variable_list detach_variable(const variable_list& inputs) {
  variable_list detached;
  for (const Tensor& t : inputs) detached.push_back(t.defined() ? t.detach().set_requires_grad(t.requires_grad()) : t);
  return detached;
}

void check_backward_validity(const variable_list& inputs) {
  for (const Tensor& t : inputs)
    if (t.defined() && t.requires_grad()) return;
  warn("checkpoint: no input requires grad, so gradients will be None");
}

namespace {
struct DeviceName {
  std::mutex mutex;
  std::string name = "cpu";
};
DeviceName& default_device() {
  static auto* const device = new DeviceName;
  return *device;
}
}  // namespace
void DefaultDeviceType::set_device_type(std::string device) {
  const std::lock_guard<std::mutex> lock(default_device().mutex);
  default_device().name = std::move(device);
}
std::string DefaultDeviceType::get_device_type() {
  const std::lock_guard<std::mutex> lock(default_device().mutex);
  return default_device().name;
}

std::pair<std::vector<Device>, std::vector<Tensor>> get_device_states(const variable_list& tensors) {
  for (const Tensor& t : tensors)
    CRESSET_CHECK_NOT_IMPLEMENTED(!t.defined() || t.is_cpu() || t.is_meta(), "get_device_states: ", t.device().str(), " has no generator");
  return {};
}
void set_device_states(const std::vector<Device>& devices, const std::vector<Tensor>& states) {
  CRESSET_CHECK_VALUE(devices.size() == states.size(), "set_device_states: ", devices.size(), " devices and ", states.size(), " states");
  for (const Device& d : devices) {
    CRESSET_CHECK(!d.is_cpu(), "set_device_states: the CPU has one state, that of default_generator()");
    CRESSET_CHECK_NOT_IMPLEMENTED(false, "set_device_states: ", d.str(), " has no generator");
  }
}

}  // namespace cresset::utils
