#include "cresset/graph/script/fork.h"

#include "cresset/base/util/interop.h"
#include "cresset/core/layers.h"
#include "cresset/graph/runtime/limits.h"

namespace cresset::graph::script {

namespace {

// Layers whose state is the thread's own, so that calls cannot go elsewhere.
constexpr uint8_t kOfThread = static_cast<uint8_t>(~(layer_bit(Layer::Profiler) | kAutogradLayer));

bool stays_in_thread() {
  const LayerState& state = layer_state();
  return budget_of_thread() || LimitScope::current().are_counted() || (state.included & kOfThread) || state.no_data != NoData::None || state.fake_mode;
}

// The thread's layers, as the one who forked has them.
class LayersOf {
 public:
  explicit LayersOf(const LayerState& state) : own_(layer_state()) { layer_state() = state; }
  ~LayersOf() { layer_state() = own_; }
  LayersOf(const LayersOf&) = delete;
  LayersOf& operator=(const LayersOf&) = delete;

 private:
  LayerState own_;
};

std::function<Datum()> work_of(Function& function, std::vector<Datum> arguments) {
  // The unit may lose its last owner before the call ends.
  auto unit = function.unit ? function.unit->weak_from_this().lock() : nullptr;
  return [&function, unit = std::move(unit), state = layer_state(), arguments = std::move(arguments)]() mutable {
    const LayersOf layers(state);
    return function.run_apart(std::move(arguments));
  };
}

}  // namespace

intrusive_ptr<FutureObject> fork_call(Function& function, std::vector<Datum> arguments) {
  auto future = make_intrusive<FutureObject>(work_of(function, std::move(arguments)));
  if (stays_in_thread()) future->work();
  else launch([future] { future->work(); });
  return future;
}
intrusive_ptr<FutureObject> delay_call(Function& function, std::vector<Datum> arguments) {
  return make_intrusive<FutureObject>(work_of(function, std::move(arguments)), true);
}

}  // namespace cresset::graph::script
