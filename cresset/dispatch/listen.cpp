#include "cresset/dispatch/listen.h"

#include "cresset/dispatch/parts.h"

#include <set>
#include <utility>

#include "cresset/dispatch/backend.h"
#include "cresset/dispatch/registry.h"

namespace cresset::dispatch {

namespace {

thread_local Listener* t_listeners[2] = {};
std::atomic<Listener*> g_subclass_listener{nullptr};
thread_local bool t_subclasses_heard = true, t_wants_parts = false;
thread_local std::pair<const OpEntry*, const OpEntry*> t_heard_as{};

Listener*& at(ListenPlace place) { return t_listeners[static_cast<int>(place)]; }

// The layer whose bit makes calls come by: the innermost one below autograd, which fake tensors use too.
void include(ListenPlace place, bool on) {
  LayerState& state = layer_state();
  const uint8_t bit = place == ListenPlace::above_layers ? layer_bit(Layer::Capture) : kLazyMathLayer;
  const bool wanted = on || (place == ListenPlace::below_autograd && state.fake_mode);
  state.included = static_cast<uint8_t>(wanted ? state.included | bit : state.included & ~bit);
}

// Layers that a call below autograd has behind it.
constexpr uint8_t kPassed = kAutogradLayer | layer_bit(Layer::Autocast);

// Values below on the stack are the caller's.
template <class F> void with_own_stack(const OpEntry& op, Stack& stack, F&& run) {
  const size_t n = op.function_schema().arguments.size();
  if (stack.size() == n) return run(stack);
  const auto first = stack.end() - static_cast<std::ptrdiff_t>(n);
  Stack own(std::make_move_iterator(first), std::make_move_iterator(stack.end()));
  stack.resize(stack.size() - n);
  run(own);
  for (Value& v : own) stack.push_back(std::move(v));
}

}  // namespace

PartsScope::PartsScope(bool on) : saved_(std::exchange(t_wants_parts, on)) {}
PartsScope::~PartsScope() { t_wants_parts = saved_; }
bool wants_parts() { return t_wants_parts; }

Listener::~Listener() = default;
bool Listener::opens(const OpEntry&, bool) { return false; }
void Listener::open(const OpEntry& op, Stack&, bool) { CRESSET_CHECK(false, op.name, ": the listener has no body for it"); }

namespace {

// Where calls with tensors of subclasses are not taken over: they run on the memory of these. Wrappers have none, but shape, dtype and device, of which views
// and tensors like them are made; a view of no memory has none either, and stays what cannot be read.
class Unheard final : public Listener {
 public:
  bool hears(const OpEntry& op, bool) override { return !(op.flags & kCompositeOp) || is_like(op); }
  void call(const OpEntry& op, Stack& stack) override {
    std::vector<std::pair<Tensor, Tensor>> plain;  // the tensor, and one of no class over the same memory
    for (Value& v : stack) v = map_tensors(v, [&](const Tensor& t) { return is_subclass(t) ? plain_of(op, t, plain) : t; });
    call_boxed(op, stack);
    for (const auto& [own, other] : plain) follow(*own.impl(), *other.impl());
    for (Value& v : stack)
      v = map_tensors(v, [&](const Tensor& t) {
        for (const auto& [own, other] : plain)
          if (t.is_same(other)) return own;
        if (!has_memory(t)) mark(*t.impl());
        return t;
      });
  }

 private:
  static bool is_like(const OpEntry& op) {
    const std::string_view name = op.function_schema().name;
    return name.rfind("new_", 0) == 0 || (name.size() > 5 && name.substr(name.size() - 5) == "_like");
  }
  static bool has_memory(const Tensor& t) {
    const TensorImpl& impl = *t.impl();
    return !impl.has_storage() || impl.storage()->data() || !impl.storage()->nbytes() || !t.is_cpu();
  }
  static void mark(TensorImpl& t) {
    t.set_backend(kSubclassBackend);
    t.set_layer(Layer::LazyMath, true);
  }
  static Tensor plain_of(const OpEntry& op, const Tensor& t, std::vector<std::pair<Tensor, Tensor>>& plain) {
    for (const auto& [own, other] : plain)
      if (own.is_same(t)) return other;
    CRESSET_CHECK((op.flags & kViewOp) || is_like(op) || has_memory(t), op.name,
                  ": a wrapper tensor, whose class is not asked here, has no memory; compute on the tensors within it");
    auto other = t.impl()->alias(true);
    other->set_backend(backend_of(t.device().type(), t.layout()));
    other->set_layer(Layer::LazyMath, t.is_conj() || t.is_neg());
    plain.emplace_back(t, Tensor(intrusive_ptr<TensorImpl>(std::move(other))));
    return plain.back().second;
  }
  // Geometry and memory that the operator has changed are the tensor's too.
  static void follow(TensorImpl& own, const TensorImpl& other) {
    const bool same = own.sizes() == other.sizes() && own.strides() == other.strides() && own.storage_offset() == other.storage_offset();
    if (same && (!own.has_storage() || own.storage().get() == other.storage().get())) return;
    own.shallow_copy_from(other);
    mark(own);
  }
};

Listener& unheard() {
  static auto* listener = new Unheard;
  return *listener;
}

}  // namespace

void set_subclass_listener(Listener* listener) { g_subclass_listener = listener; }
bool set_subclasses_heard(bool on) { return std::exchange(t_subclasses_heard, on); }
bool subclasses_heard() { return t_subclasses_heard && g_subclass_listener.load(std::memory_order_acquire); }
Listener* listener_of_call(uint8_t awake, uint8_t backend) {
  if (CRESSET_LIKELY(!(awake & kLazyMathLayer))) return nullptr;
  if (Listener* listener = at(ListenPlace::below_autograd)) return listener;
  if (backend != kSubclassBackend) return nullptr;
  return t_subclasses_heard ? g_subclass_listener.load(std::memory_order_acquire) : &unheard();
}
// The one that the dispatcher has found for the call under way.
static Listener& chosen() {
  Listener* const own = at(ListenPlace::below_autograd);
  if (own) return *own;
  return t_subclasses_heard ? *g_subclass_listener.load(std::memory_order_acquire) : unheard();
}

Listener* listener_at(ListenPlace place) { return at(place); }

Listener* set_listener(ListenPlace place, Listener* listener) {
  static const bool registered = (set_layer_fallback(Layer::Capture, heard_above), true);
  (void)registered;
  Listener* const before = std::exchange(at(place), listener);
  include(place, listener != nullptr);
  return before;
}

ListenScope::ListenScope(ListenPlace place, Listener* listener) : place_(place), saved_(set_listener(place, listener)) {}
ListenScope::~ListenScope() { set_listener(place_, saved_); }

HeardAs::HeardAs(const OpEntry& op, const OpEntry& as) : saved_(std::exchange(t_heard_as, {&op, &as})) {}
HeardAs::~HeardAs() { t_heard_as = saved_; }

void heard_above(const OpEntry& op, Stack& stack) {
  Listener* const listener = at(ListenPlace::above_layers);
  if (!listener || !listener->hears(op, false)) return call_boxed_below(Layer::Capture, op, stack);
  const ListenScope quiet(ListenPlace::above_layers, nullptr);
  with_own_stack(op, stack, [&](Stack& own) { listener->call(op, own); });
}

namespace {

// Counts versions of written arguments, and notes that a result is a view, as kernels do.
void call_of_subclass(Listener& listener, const OpEntry& op, Stack& stack) {
  const FunctionSchema& schema = op.function_schema();
  WrittenVersions versions;
  for (size_t i = 0; i < schema.arguments.size(); i++)
    if (schema.arguments[i].writes && stack[i].is_tensor()) versions.add(stack[i].to_tensor_ref());
  const Tensor viewed = op.flags & kViewOp && !stack.empty() && stack[0].is_tensor() ? stack[0].to_tensor() : Tensor();
  listener.call(op, stack);
  if (!viewed.defined()) return;
  const bool several = stack.size() == 1 && !stack[0].is_tensor();
  for (const Value& v : stack)
    for_each_tensor(v, [&](const Tensor& t) {
      if (is_subclass(t) && t.impl() != viewed.impl() && !t.impl()->is_view()) {
        t.impl()->share_version_of(*viewed.impl());
        if (std::string_view(op.name) != "detach") t.impl()->set_view_of(*viewed.impl(), several);  // a detached tensor has no part in its base's history
      }
    });
}

}  // namespace

namespace {

// Operators that read lazy conjugates as they are in PyTorch: of the others a listener hears the copy first that computes the values.
bool reads_lazy_values(const OpEntry& op) {
  static const auto& names = *new std::set<std::string_view>{"clone", "copy_", "conj_physical", "mm", "bmm", "addmm", "baddbmm", "dot", "vdot"};
  return !needs_computed_values(op) || names.count(op.name);
}
void compute_conjugates(const OpEntry& op, Stack& stack) {
  const size_t first = stack.size() - op.function_schema().arguments.size();
  for (size_t i = first; i < stack.size(); i++)
    if (stack[i].is_tensor() && !op.function_schema().arguments[i - first].writes)
      if (const Tensor t = stack[i].to_tensor(); t.defined() && t.is_conj() && !t.lacks_data() && !reads_lazy_values(op)) {
        static const OpHandle copy = find_op("clone");
        Stack given{t, Value()};
        copy.call_boxed(given);
        stack[i] = std::move(given.back());
      }
}

}  // namespace

void heard_below(const OpEntry& op, Stack& stack) {
  Listener& listener = chosen();
  const bool of_subclass = &listener == g_subclass_listener.load(std::memory_order_relaxed);
  if (!of_subclass) {
    const ExcludeLayers passed(kPassed);
    compute_conjugates(op, stack);
  }
  const ListenScope quiet(ListenPlace::below_autograd, nullptr);
  const ExcludeLayers passed(kPassed);
  const OpEntry& heard = CRESSET_UNLIKELY(t_heard_as.first == &op) ? *t_heard_as.second : op;
  with_own_stack(op, stack, [&](Stack& own) { of_subclass ? call_of_subclass(listener, heard, own) : listener.call(heard, own); });
}

// Views wake the autograd layer too, whether or not they require a gradient.
void heard_unless_recorded(const OpEntry& op, Stack& stack) {
  bool recorded = false;
  const size_t n = op.function_schema().arguments.size();
  for (size_t i = stack.size() - n; i < stack.size(); i++)
    for_each_tensor(stack[i], [&](const Tensor& t) { recorded = recorded || (t.defined() && t.requires_grad()); });
  if (recorded) return call_boxed_below(Layer::LazyMath, op, stack);
  heard_below(op, stack);
}

// The operators that the body calls are heard like any others.
void opened_at_autograd(const OpEntry& op, Stack& stack) {
  Listener& listener = chosen();
  with_own_stack(op, stack, [&](Stack& own) { listener.open(op, own, true); });
}
void opened_below(const OpEntry& op, Stack& stack) {
  Listener& listener = chosen();
  const ExcludeLayers passed(kPassed);
  with_own_stack(op, stack, [&](Stack& own) { listener.open(op, own, false); });
}

}  // namespace cresset::dispatch
