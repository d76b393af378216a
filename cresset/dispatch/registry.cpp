#include "cresset/dispatch/registry.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "cresset/base/warning.h"
#include "cresset/core/uninitialized.h"
#include "cresset/dispatch/generators.h"
#include "cresset/dispatch/schema_text.h"
#include "cresset/dispatch/table.h"

namespace cresset::dispatch {

namespace {

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<DynamicOp>> ops;
  std::vector<std::unique_ptr<DynamicOp>> retired;               // a call may still be running them
  std::vector<const OpTable*> tables;                            // of libraries beside this one
  std::vector<std::unique_ptr<const RegisteredKernel>> kernels;  // all that ever were
  std::vector<std::unique_ptr<const BoxedFn>> fallbacks;
  std::vector<std::shared_ptr<RegistrationListener>> listeners;
  std::vector<std::string> errors;
  std::vector<std::string> backends{"CPU", "Meta", "SparseCPU", "SparseCsrCPU"};
  std::atomic<const BoxedFn*> backend_fallbacks[kMaxBackends] = {}, autograd_fallbacks[kMaxBackends] = {};
  std::atomic<const BoxedFn*> layer_fallbacks[kNumLayers] = {};
  std::atomic<LayerRules> layer_rules[kNumLayers] = {};
};

// Never destroyed: libraries that unload at exit still unregister.
Registry& registry() {
  static Registry& r = *new Registry;
  return r;
}

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return std::tolower(x) == std::tolower(y); });
}

constexpr const char* kLayerNames[kNumLayers] = {"LazyMath", "Autograd", "Autocast", "Functionalize", "Vmap", "Capture", "PythonModes", "Profiler"};

std::string_view without_builtin_namespace(std::string_view name) {
  for (std::string_view prefix : {"aten::", "cresset::"})
    if (name.substr(0, prefix.size()) == prefix) return name.substr(prefix.size());
  return name;
}

const OpEntry* find_sorted(const OpEntry* const* ops, size_t count, std::string_view name) {
  const auto* end = ops + count;
  const auto* at = std::lower_bound(ops, end, name, [](const OpEntry* op, std::string_view n) { return op->name < n; });
  return at != end && (*at)->name == name ? *at : nullptr;
}
const OpEntry* find_builtin(std::string_view name) { return find_sorted(kBuiltinOps, kNumBuiltinOps, name); }

}  // namespace

Extension& extension_of(const OpEntry& op) {
  Extension* e = op.extension.load(std::memory_order_acquire);
  if (e) return *e;
  auto fresh = std::make_unique<Extension>();
  if (op.extension.compare_exchange_strong(e, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *e;
}

const FunctionSchema& OpEntry::function_schema() const {
  if (const FunctionSchema* s = parsed.load(std::memory_order_acquire)) return *s;
  CRESSET_CHECK(*schema, name, ": kernels are registered for it, but it has no schema: the library that defines it is not loaded");
  auto fresh = std::make_unique<const FunctionSchema>(parse_schema(schema));
  const FunctionSchema* expected = nullptr;
  if (parsed.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *expected;
}

OpHandle find_op_or_null(std::string_view name) {
  name = without_builtin_namespace(name);
  if (const OpEntry* op = find_builtin(name)) return OpHandle(op);
  Registry& r = registry();
  std::shared_lock lock(r.mutex);
  for (const OpTable* table : r.tables)
    if (const OpEntry* op = find_sorted(table->ops, table->count, name)) return OpHandle(op);
  const auto at = r.ops.find(std::string(name));
  return OpHandle(at == r.ops.end() || !extension_of(*at->second).definitions ? nullptr : at->second.get());
}

OpHandle find_declared_op(std::string_view name) {
  if (const OpHandle op = find_op_or_null(name)) return op;
  name = without_builtin_namespace(name);
  Registry& r = registry();
  std::shared_lock lock(r.mutex);
  const auto at = r.ops.find(std::string(name));
  return OpHandle(at == r.ops.end() ? nullptr : at->second.get());
}

std::vector<const OpEntry*> undefined_ops() {
  std::vector<const OpEntry*> list;
  Registry& r = registry();
  std::shared_lock lock(r.mutex);
  for (const auto& [name, op] : r.ops)
    if (!extension_of(*op).definitions) list.push_back(op.get());
  return list;
}

OpHandle find_op(std::string_view name) {
  if (const OpHandle op = find_op_or_null(name)) return op;
  std::string near;
  const std::string_view stem = without_builtin_namespace(name).substr(0, without_builtin_namespace(name).find('.'));
  for (const OpEntry* op : all_ops())
    if (std::string_view(op->name).substr(0, stem.size()) == stem && near.size() < 200) near += near.empty() ? op->name : std::string(", ") + op->name;
  std::string failed;
  {
    std::shared_lock lock(registry().mutex);
    for (const std::string& error : registry().errors) failed += "\n  a library failed to register: " + error;
  }
  CRESSET_CHECK(false, "find_op: there is no operator \"", std::string(name), "\"", near.empty() ? "" : "; there are: ", near, failed);
  __builtin_unreachable();
}

std::vector<const OpEntry*> all_ops() {
  std::vector<const OpEntry*> list(kBuiltinOps, kBuiltinOps + kNumBuiltinOps), dynamic;
  Registry& r = registry();
  std::shared_lock lock(r.mutex);
  for (const OpTable* table : r.tables) list.insert(list.end(), table->ops, table->ops + table->count);
  for (const auto& [name, op] : r.ops)
    if (extension_of(*op).definitions) dynamic.push_back(op.get());
  std::sort(dynamic.begin(), dynamic.end(), [](const OpEntry* a, const OpEntry* b) { return std::strcmp(a->name, b->name) < 0; });
  list.insert(list.end(), dynamic.begin(), dynamic.end());
  return list;
}

void add_ops(const OpTable& table) {
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  if (std::find(r.tables.begin(), r.tables.end(), &table) == r.tables.end()) r.tables.push_back(&table);
}

namespace {

// Not under the lock: listeners look things up.
void tell_listeners(const OpEntry& op, bool defined) {
  std::vector<std::shared_ptr<RegistrationListener>> listeners;
  {
    std::shared_lock lock(registry().mutex);
    listeners = registry().listeners;
  }
  for (const auto& l : listeners) defined ? l->on_defined(op) : l->on_removed(op);
}

DynamicOp& dynamic_op(Registry& r, const std::string& name) {
  auto& place = r.ops[name];
  if (!place) place = std::make_unique<DynamicOp>(name);
  extension_of(*place);
  return *place;
}

void retire_if_empty(Registry& r, const OpEntry& op) {
  const Extension& e = extension_of(op);
  if (e.definitions) return;
  for (const auto& [place, kernels] : e.stacks)
    if (!kernels.empty()) return;
  const auto at = r.ops.find(op.name);
  if (at == r.ops.end() || at->second.get() != &op) return;
  r.retired.push_back(std::move(at->second));
  r.ops.erase(at);
}

}  // namespace

const OpEntry& declared_op(const std::string& name) {
  if (const OpHandle op = find_declared_op(name)) return op.entry();
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  return dynamic_op(r, std::string(without_builtin_namespace(name)));
}

// "default" is the name of the overload without one, and names of this form are Python's attributes.
static void check_overload_name(const FunctionSchema& schema, const std::string& where) {
  const std::string& name = schema.overload;
  const bool of_python = name.size() > 3 && name.compare(0, 2, "__") == 0 && name.compare(name.size() - 2, 2, "__") == 0;
  CRESSET_CHECK(name != "default" && !of_python, "library: ", name,
                " is not a legal overload name for aten operators, nor for those of programs: ", schema.full_name(), " at ", where);
}

const OpEntry* define_op(const FunctionSchema& schema, const std::string& text, const std::string& where, bool again) {
  const std::string name = schema.full_name();
  check_overload_name(schema, where);
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  CRESSET_CHECK(!find_builtin(name), "library: the operator \"", name, "\" is built in and cannot be defined again at ", where);
  DynamicOp& op = dynamic_op(r, name);
  Extension& e = extension_of(op);
  if (e.definitions) {
    const std::string difference = again ? schema_difference(op.function_schema(), schema) : "";
    CRESSET_CHECK(again, "library: the operator \"", name, "\" is defined twice, at ", e.defined_at, " and at ", where,
                  " (Tried to register an operator with the same name and the same overload name multiple times)");
    CRESSET_CHECK(difference.empty(),
                  "library: Tried to register multiple operators with the same name and the same overload name but different schemas: ", op.schema, " at ",
                  e.defined_at, " and ", text, " at ", where, ". ", difference);
    e.definitions++;
    return &op;
  }
  op.set_schema(text);
  e.definitions = 1;
  e.defined_at = where;
  lock.unlock();
  tell_listeners(op, true);
  return &op;
}

void undefine_op(const OpEntry* op) {
  Registry& r = registry();
  Extension& e = extension_of(*op);
  {
    std::unique_lock lock(r.mutex);
    if (!e.definitions || --e.definitions) return;
    e.aliases = AliasAnalysis::FromSchema;
    e.aliases_given = false;
    e.tags.clear();
    e.python_module.clear();
  }
  tell_listeners(*op, false);
  std::unique_lock lock(r.mutex);
  retire_if_empty(r, *op);
}

std::function<void()> add_registration_listener(std::unique_ptr<RegistrationListener> listener) {
  const std::shared_ptr<RegistrationListener> shared = std::move(listener);
  for (const OpEntry* op : all_ops()) shared->on_defined(*op);
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  r.listeners.push_back(shared);
  return [shared] {
    std::unique_lock inner(registry().mutex);
    auto& all = registry().listeners;
    all.erase(std::remove(all.begin(), all.end(), shared), all.end());
  };
}

void keep_registration_error(const std::string& text) {
  std::fprintf(stderr, "error: %s\n", text.c_str());
  std::unique_lock lock(registry().mutex);
  if (registry().errors.size() < 8) registry().errors.push_back(text);
}

// ---- kernels ----

namespace {

bool holds_kernel(const Place& place) {
  const RegisteredKernel* k = place.load(std::memory_order_acquire);
  return k && !k->fallthrough;
}

// The slot that calls on the CPU look into first: a registered kernel of the op's own C++ types is put there. For others, and for other bodies of composites,
// it is empty, so that the call looks for its kernel.
void fill_cpu_slot(const OpEntry& op, Extension& e) {
  const AnyFn built_in = builtin_of(op, OpEntry::cpu_slot);
  if (!built_in) return;
  const RegisteredKernel* k = holds_kernel(e.backends[kCpuBackend]) ? e.backends[kCpuBackend].load(std::memory_order_acquire) : nullptr;
  const bool replaced = k || ((op.flags & kCompositeOp) && holds_kernel(e.composite));
  const bool fits = k && k->typed && k->signature && *k->signature == *op.signature;
  if (replaced) e.replaced.store(built_in, std::memory_order_release);
  __atomic_store_n(op.slots() + OpEntry::cpu_slot, !replaced ? built_in : fits ? k->typed : nullptr, __ATOMIC_RELEASE);
  if (!replaced) e.replaced.store(nullptr, std::memory_order_release);
}

// After a change of the stacks.
void refresh(const OpEntry& op, Extension& e) {
  bool autograd = holds_kernel(e.layers[static_cast<int>(Layer::Autograd)]) || e.inplace_or_view.load(std::memory_order_acquire);
  if (const BackendPlaces* places = e.autograd.load(std::memory_order_acquire))
    for (const Place& p : places->at) autograd = autograd || holds_kernel(p);
  e.autograd_always.store(autograd && !op.signature, std::memory_order_release);
  if (op.signature) fill_cpu_slot(op, e);
}

std::string key_text(const std::string& key) { return is_composite_key(key) ? key + " (catch all)" : key; }

void check_signature(const OpEntry& op, Extension& e, const std::string& key, const RegisteredKernel& kernel) {
  if (op.signature || !kernel.signature) return;
  CRESSET_CHECK(!e.signature || *e.signature == *kernel.signature, "library: Mismatch in kernel C++ signatures of \"", op.name,
                "\": the types of the kernel for ", key, " at ", kernel.where, " differ from those of the kernel at ", e.first_kernel_at);
  if (e.signature) return;
  e.signature = kernel.signature;
  e.first_kernel_at = kernel.where;
}

// A boxed function of a program may leave anything on the stack: it is looked at before others read it.
BoxedFn with_checked_results(BoxedFn f, const std::string& where) {
  return [f = std::move(f), where](const OpEntry& op, Stack& stack) {
    const size_t before = stack.size();
    f(op, stack);
    if (!*op.schema) return;
    const FunctionSchema& schema = op.function_schema();
    if (schema.returns.empty()) return;  // what it left is not read
    const size_t below = before - std::min(before, schema.arguments.size()), results = stack.size() - std::min(stack.size(), below);
    CRESSET_CHECK(results == schema.returns.size(), op.name, ": the kernel at ", where, " left ", results, " results on the stack, expected ",
                  schema.returns.size(), " in place of the ", schema.arguments.size(), " arguments");
    for (size_t i = 0; i < results; i++) {
      const Value& v = stack[below + i];
      const Type& type = schema.returns[i].type;
      CRESSET_CHECK_TYPE(type.kind != TypeKind::Tensor || type.list || v.is_tensor() || v.is_none(), op.name, ": result ", i, " of the kernel at ", where,
                         " is no tensor, expected ", op.schema);
    }
  };
}

}  // namespace

Registration add_kernel(const OpEntry& op, const std::string& key, RegisteredKernel kernel) {
  if (!kernel.signature && !kernel.fallthrough && kernel.boxed) kernel.boxed = with_checked_results(std::move(kernel.boxed), kernel.where);
  Place* place = place_for(op, key);
  CRESSET_CHECK(place, "library: \"", key, "\" at ", kernel.where, " is neither a layer nor a registered backend");
  Extension& e = extension_of(op);
  Registry& r = registry();
  const bool built_in =
      op.signature &&
      ((place == &e.backends[kCpuBackend] && builtin_of(op, OpEntry::cpu_slot)) || (place == &e.backends[kMetaBackend] && op.slot(OpEntry::meta_slot)) ||
       (place == &e.layers[static_cast<int>(Layer::Autograd)] && op.slot(OpEntry::autograd_slot)) || (place == &e.composite && (op.flags & kCompositeOp)));
  std::string before = built_in ? "its own code" : "";
  {
    std::unique_lock lock(r.mutex);
    check_signature(op, e, key, kernel);
    if (const auto at = e.stacks.find(place); at != e.stacks.end() && !at->second.empty()) before = at->second.back()->where;
  }
  if (!before.empty() && !kernel.replaces)
    warn(str("library: the kernel of ", op.name, " for ", key_text(key), " at ", kernel.where,
             " overwrote a previously registered kernel with the same dispatch key "
             "for the same operator, from ",
             before, "; it comes back when this one is taken away"));
  std::unique_lock lock(r.mutex);
  auto& stack = e.stacks[place];
  r.kernels.push_back(std::make_unique<const RegisteredKernel>(std::move(kernel)));
  stack.push_back(r.kernels.back().get());
  place->store(stack.back(), std::memory_order_release);
  refresh(op, e);
  return {&op, key, stack.back()};
}

void remove_kernel(const Registration& registration) {
  Registry& r = registry();
  Place* place = place_for(*registration.op, registration.key);
  Extension& e = extension_of(*registration.op);
  std::unique_lock lock(r.mutex);
  auto& stack = e.stacks[place];
  stack.erase(std::remove(stack.begin(), stack.end(), registration.kernel), stack.end());
  place->store(stack.empty() ? nullptr : stack.back(), std::memory_order_release);
  refresh(*registration.op, e);
  bool typed = false;
  for (const auto& [p, kernels] : e.stacks)
    for (const RegisteredKernel* k : kernels) typed = typed || k->signature;
  if (!typed) e.signature = nullptr;
  retire_if_empty(r, *registration.op);
}

AnyFn builtin_of(const OpEntry& op, OpEntry::Slot slot) {
  // Before `replaced`, which is filled before the slot is emptied, and emptied after the slot is filled.
  const AnyFn first = __atomic_load_n(op.slots() + slot, __ATOMIC_ACQUIRE);
  const Extension* e = op.extension.load(std::memory_order_acquire);
  const AnyFn replaced = e && slot == OpEntry::cpu_slot ? e->replaced.load(std::memory_order_acquire) : nullptr;
  return replaced ? replaced : first ? first : op.slot(slot);
}

uint8_t register_backend(const std::string& name, const std::string& device, Layout layout) {
  const DeviceType type = register_device_type(device);
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  const uint8_t taken = backend_of(type, layout);
  if (taken != kNoBackend) {
    CRESSET_CHECK(same_name(r.backends[taken], name), "register_backend: (", device, ", ", layout_name(layout), ") belongs to \"", r.backends[taken],
                  "\", it cannot also be \"", name, "\"");
    return taken;
  }
  for (size_t b = 0; b < r.backends.size(); b++)
    CRESSET_CHECK(!same_name(r.backends[b], name), "register_backend: the name \"", name, "\" is already that of another device or layout");
  CRESSET_CHECK(r.backends.size() < kGeneratorBackend, "register_backend: no number is left for \"", name, "\"");
  r.backends.push_back(name);
  const uint8_t number = static_cast<uint8_t>(r.backends.size() - 1);
  set_backend_of(type, layout, number);
  return number;
}

int find_backend(std::string_view name) {
  Registry& r = registry();
  std::shared_lock lock(r.mutex);
  for (size_t b = 0; b < r.backends.size(); b++)
    if (same_name(r.backends[b], name)) return static_cast<int>(b);
  return -1;
}

std::string backend_name(uint8_t backend) {
  Registry& r = registry();
  std::shared_lock lock(r.mutex);
  return backend == kGeneratorBackend ? kGeneratorBackendName : backend < r.backends.size() ? r.backends[backend] : "none";
}

namespace {

// The layers by LibTorch's names for what they do.
struct OtherName {
  std::string_view name;
  Layer layer;
};
constexpr OtherName kOtherNames[] = {{"FuncTorchBatched", Layer::Vmap},
                                     {"Batched", Layer::Vmap},
                                     {"Conjugate", Layer::LazyMath},
                                     {"Negative", Layer::LazyMath},
                                     {"Python", Layer::PythonModes},
                                     {"TESTING_ONLY_GenericWrapper", Layer::PythonModes},
                                     {"TESTING_ONLY_GenericMode", Layer::PythonModes},
                                     {"AutogradFunctionality", Layer::Autograd}};

}  // namespace

int find_layer(std::string_view name) {
  for (int l = 0; l < kNumLayers; l++)
    if (same_name(kLayerNames[l], name)) return l;
  for (const OtherName& o : kOtherNames)
    if (o.name == name) return static_cast<int>(o.layer);
  return -1;
}
const char* layer_name(Layer layer) { return kLayerNames[static_cast<int>(layer)]; }

const BoxedFn* layer_function(int layer, const OpEntry& op) {
  const Registry& r = registry();
  if (const LayerRules rules = r.layer_rules[layer].load(std::memory_order_acquire))
    if (const BoxedFn* rule = rules(op)) return rule;
  return r.layer_fallbacks[layer].load(std::memory_order_acquire);
}
const BoxedFn* backend_fallback(uint8_t backend) { return registry().backend_fallbacks[backend].load(std::memory_order_acquire); }

bool can_run(uint8_t backend, const OpEntry& op) {
  const Extension* e = op.extension.load(std::memory_order_acquire);
  if (is_sparse_backend(backend) && ((op.flags & kAnyLayoutOp) || sparse_kernel(op, backend))) return true;
  return (e && e->backends[backend].load(std::memory_order_acquire)) || backend_fallback(backend);
}

namespace {

// An empty function clears the place. The former function stays alive for calls that are running it.
void set_place(std::atomic<const BoxedFn*>& place, BoxedFn fallback, const std::string& name) {
  if (!fallback) return place.store(nullptr, std::memory_order_release);
  const BoxedFn* expected = nullptr;
  auto fresh = std::make_unique<const BoxedFn>(std::move(fallback));
  CRESSET_CHECK(place.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel), "library: a fallback for ", name,
                " is already set, expected one at most");
  std::unique_lock lock(registry().mutex);
  registry().fallbacks.push_back(std::move(fresh));
}

// Keys that nothing asks have fallbacks that nothing calls.
std::atomic<const BoxedFn*>* fallback_place(const std::string& key) {
  Registry& r = registry();
  if (const int l = find_layer(key); l >= 0) return &r.layer_fallbacks[l];
  if (key.rfind("Autograd", 0) == 0) {
    const int b = backend_of_key(key.substr(8));
    return b >= 0 ? &r.autograd_fallbacks[b] : nullptr;
  }
  const int b = backend_of_key(key);
  return b >= 0 ? &r.backend_fallbacks[b] : nullptr;
}

}  // namespace

void set_fallback(const std::string& key, BoxedFn fallback) {
  if (auto* place = fallback_place(key)) set_place(*place, std::move(fallback), key);
}
void clear_fallback(const std::string& key) {
  if (auto* place = fallback_place(key)) place->store(nullptr, std::memory_order_release);
}
void set_backend_fallback(uint8_t backend, BoxedFn fallback) { set_place(registry().backend_fallbacks[backend], std::move(fallback), backend_name(backend)); }
void set_layer_rules(Layer layer, LayerRules rules) { registry().layer_rules[static_cast<int>(layer)].store(rules, std::memory_order_release); }
void set_layer_fallback(Layer layer, BoxedFn fallback) {
  set_place(registry().layer_fallbacks[static_cast<int>(layer)], std::move(fallback), layer_name(layer));
}
const BoxedFn* autograd_fallback(uint8_t backend) {
  const Registry& r = registry();
  const BoxedFn* own = r.autograd_fallbacks[backend].load(std::memory_order_acquire);
  return own ? own : r.layer_fallbacks[static_cast<int>(Layer::Autograd)].load(std::memory_order_acquire);
}

}  // namespace cresset::dispatch
