#include "cresset/transform/autocast.h"

#include <array>
#include <memory>
#include <unordered_map>

#include "cresset/autograd/grad_mode.h"
#include "cresset/dispatch/backend.h"
#include "cresset/kernels/layout/layout.h"
#include "cresset/tensor.h"
#include "cresset/transform/autocast_table.h"

namespace cresset {
namespace amp {

namespace {

using dispatch::BoxedFn;
using dispatch::OpEntry;
using dispatch::Stack;
using dispatch::Value;

constexpr int kNumDevices = static_cast<int>(DeviceType::MaxRegistered) + 1;
constexpr uint8_t kAutocastLayer = layer_bit(Layer::Autocast);

// A cast of a leaf, good for as long as the leaf has not been written to. The leaf is kept, so that its address stays its own.
struct Cast {
  Tensor leaf, result;
  int64_t version;
};
using Casts = std::unordered_map<const TensorImpl*, Cast>;

struct State {
  uint32_t enabled = 0;  // one bit a device
  int nesting = 0;
  bool cache_enabled = true;
  std::array<ScalarType, kNumDevices> dtypes;
  Casts casts;

  State() {
    dtypes.fill(kHalf);
    dtypes[static_cast<size_t>(kCPU)] = kBFloat16;
  }
};

State& state() {
  thread_local const std::unique_ptr<State> own = std::make_unique<State>();
  return *own;
}

bool is_on(const State& s, DeviceType device) { return s.enabled >> static_cast<int>(device) & 1; }

bool casts_float(const Tensor& t, DeviceType device) {
  return t.defined() && t.device().type() == device && is_floating_type(t.scalar_type()) && t.scalar_type() != kDouble;
}

// Casts that a later call may use: made while gradients are recorded if it records them, and no inference tensor outside that mode.
bool serves(const Cast& c, const Tensor& t) {
  return c.version == t._version() && (c.result.requires_grad() || !GradMode::is_enabled()) && (!c.result.is_inference() || InferenceMode::is_enabled());
}

ScalarType widest(ScalarType current, const Tensor& t, DeviceType device, ScalarType lower) {
  if (!casts_float(t, device) || current == kFloat) return current;
  const ScalarType next = t.scalar_type();
  CRESSET_CHECK(next == kFloat || next == lower, "autocast: expected tensors of float32 or of the region's ", lower, ", got one of ", next);
  return next == kFloat ? next : current;
}

// ---- the layer ----------------------------------------------------------------------------------------------------------

void run(const CastRow& row, const OpEntry& op, Stack& stack) {
  const State& s = state();
  const size_t n = op.function_schema().arguments.size(), first = stack.size() - n;
  // The region that applies is that of the arguments' device.
  DeviceType device = kCPU;
  bool found = false, typed = false;
  for (size_t i = first; i < stack.size(); i++) {
    typed = typed || stack[i].is<ScalarType>();
    dispatch::for_each_tensor(stack[i], [&](const Tensor& t) {
      if (!found || (device == kCPU && t.scalar_type() != kDouble)) device = t.device().type();
      found = true;
    });
  }
  const bool applies = found && is_on(s, device) && (!row.applies || row.applies(stack));
  const CastPolicy policy = !applies ? CastPolicy::absent : device == kCPU ? row.cpu : row.other;
  if (policy == CastPolicy::absent) return dispatch::call_boxed_below(Layer::Autocast, op, stack);
  const ExcludeLayers below(kAutocastLayer);
  const ScalarType lower = s.dtypes[static_cast<size_t>(device)];
  ScalarType to = lower;
  switch (policy) {
    case CastPolicy::absent:
    case CastPolicy::none: return dispatch::call_boxed(op, stack);
    case CastPolicy::refuse:
      CRESSET_CHECK(false, op.name, ": cannot be computed safely in mixed precision, since its inputs close to 0 and 1 round to them; ",
                    "leave out the sigmoid before it and call binary_cross_entropy_with_logits (BCEWithLogitsLoss) instead, ",
                    "or call it in float32 inside a region with enabled=False");
      break;
    case CastPolicy::lower: break;
    case CastPolicy::single:
      // A dtype that the caller asks for is what the result has.
      if (typed) return dispatch::call_boxed(op, stack);
      to = kFloat;
      break;
    case CastPolicy::promote:
      for (size_t i = first; i < stack.size(); i++) dispatch::for_each_tensor(stack[i], [&](const Tensor& t) { to = widest(to, t, device, lower); });
      break;
  }
  for (size_t i = first; i < stack.size(); i++) stack[i] = dispatch::map_tensors(stack[i], [&](const Tensor& t) { return cached_cast(to, t, device); });
  dispatch::call_boxed(op, stack);
}

using Rules = std::unordered_map<const OpEntry*, BoxedFn>;

// The operators that there is a policy for on these devices. Never destroyed: a call may be running them.
template <bool on_cpu, bool on_others> const Rules& rules() {
  static const Rules& all = *new Rules([] {
    Rules map;
    for (size_t i = 0; i < kNumCastRows; i++) {
      const CastRow& row = kCastRows[i];
      if ((on_cpu && row.cpu != CastPolicy::absent) || (on_others && row.other != CastPolicy::absent))
        map.emplace(row.op, [&row](const OpEntry& entry, Stack& stack) { run(row, entry, stack); });
    }
    return map;
  }());
  return all;
}

const BoxedFn* rule_of(const OpEntry& op) {
  constexpr uint32_t kOnCpu = 1u << static_cast<int>(kCPU);
  const uint32_t enabled = state().enabled;
  const Rules& all = enabled == kOnCpu ? rules<true, false>() : enabled & kOnCpu || !enabled ? rules<true, true>() : rules<false, true>();
  const auto at = all.find(&op);
  return at == all.end() ? nullptr : &at->second;
}

}  // namespace

bool is_not_circular(const Stack& arguments) { return arguments.back().to_int() != static_cast<int64_t>(kernels::PadMode::circular); }

bool is_autocast_available(DeviceType device) { return device != kMeta; }

bool is_autocast_enabled(DeviceType device) { return is_on(state(), device); }

void set_autocast_enabled(DeviceType device, bool enabled) {
  CRESSET_CHECK(is_autocast_available(device), "set_autocast_enabled: there is no mixed precision for the device ", device_type_name(device));
  static const bool registered = (dispatch::set_layer_rules(Layer::Autocast, rule_of), true);
  (void)registered;
  State& s = state();
  const uint32_t bit = uint32_t{1} << static_cast<int>(device);
  s.enabled = enabled ? s.enabled | bit : s.enabled & ~bit;
  uint8_t& included = layer_state().included;
  included = static_cast<uint8_t>(s.enabled ? included | kAutocastLayer : included & ~kAutocastLayer);
}

ScalarType get_autocast_dtype(DeviceType device) {
  CRESSET_CHECK(is_autocast_available(device), "get_autocast_dtype: there is no mixed precision for the device ", device_type_name(device));
  return state().dtypes[static_cast<size_t>(device)];
}

void set_autocast_dtype(DeviceType device, ScalarType dtype) {
  CRESSET_CHECK(is_autocast_available(device), "set_autocast_dtype: there is no mixed precision for the device ", device_type_name(device));
  state().dtypes[static_cast<size_t>(device)] = dtype;
}

bool is_autocast_cache_enabled() { return state().cache_enabled; }
void set_autocast_cache_enabled(bool enabled) { state().cache_enabled = enabled; }
void clear_cache() {
  // Out of the state first: what is freed may run code that looks at it.
  const Casts gone = std::exchange(state().casts, {});
}
int increment_nesting() { return ++state().nesting; }
int decrement_nesting() { return --state().nesting; }

Tensor cached_cast(ScalarType to, const Tensor& t, DeviceType device) {
  if (!casts_float(t, device) || t.scalar_type() == to) return t;
  State& s = state();
  const bool kept =
      s.cache_enabled && to == s.dtypes[static_cast<size_t>(device)] && t.scalar_type() == kFloat && t.requires_grad() && t.is_leaf() && !t.is_view();
  if (!kept) return t.to(to);
  const auto at = s.casts.find(t.impl());
  if (at != s.casts.end() && at->second.result.scalar_type() == to && serves(at->second, t)) return at->second.result;
  const Tensor result = t.to(to);
  s.casts.insert_or_assign(t.impl(), Cast{t, result, t._version()});
  return result;
}

std::vector<Tensor> cached_cast(ScalarType to, TensorList list, DeviceType device) {
  std::vector<Tensor> out;
  for (const Tensor& t : list) out.push_back(cached_cast(to, t, device));
  return out;
}

std::optional<Tensor> cached_cast(ScalarType to, const std::optional<Tensor>& t, DeviceType device) {
  return t ? std::optional<Tensor>(cached_cast(to, *t, device)) : t;
}

ScalarType prioritize(ScalarType current, const Tensor& t, DeviceType device) {
  return widest(current, t, device, state().dtypes[static_cast<size_t>(device)]);
}

}  // namespace amp

autocast::autocast(DeviceType device, std::optional<ScalarType> dtype, bool enabled, std::optional<bool> cache_enabled)
    : device_(device),
      dtype_before_(amp::get_autocast_dtype(device)),
      enabled_before_(amp::is_autocast_enabled(device)),
      cache_before_(amp::is_autocast_cache_enabled()) {
  const ScalarType to = dtype.value_or(dtype_before_);
  CRESSET_CHECK(!enabled || to == kBFloat16 || to == kHalf, "autocast: expected the dtype bfloat16 or float16, got ", to);
  amp::set_autocast_dtype(device, to);
  amp::set_autocast_enabled(device, enabled);
  amp::set_autocast_cache_enabled(cache_enabled.value_or(cache_before_));
  amp::increment_nesting();
}

autocast::~autocast() {
  if (amp::decrement_nesting() == 0) amp::clear_cache();
  amp::set_autocast_enabled(device_, enabled_before_);
  amp::set_autocast_dtype(device_, dtype_before_);
  amp::set_autocast_cache_enabled(cache_before_);
}

}  // namespace cresset
