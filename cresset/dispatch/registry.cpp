#include "cresset/dispatch/registry.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "cresset/core/uninitialized.h"
#include "cresset/dispatch/table.h"

namespace cresset::dispatch {

namespace {

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<DynamicOp>> ops;
  std::vector<std::unique_ptr<DynamicOp>> retired;  // a call may still be running them
  std::vector<const OpTable*> tables;                // of libraries beside this one
  std::vector<std::unique_ptr<const Kernel>> kernels;
  std::vector<std::unique_ptr<const BoxedFn>> fallbacks;
  std::vector<std::string> backends{"CPU", "Meta", "SparseCPU", "SparseCsrCPU"};
  std::atomic<const BoxedFn*> backend_fallbacks[kMaxBackends] = {};
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
  return OpHandle(at == r.ops.end() ? nullptr : at->second.get());
}

OpHandle find_op(std::string_view name) {
  if (const OpHandle op = find_op_or_null(name)) return op;
  std::string near;
  const std::string_view stem = without_builtin_namespace(name).substr(0, without_builtin_namespace(name).find('.'));
  for (const OpEntry* op : all_ops())
    if (std::string_view(op->name).substr(0, stem.size()) == stem && near.size() < 200) near += near.empty() ? op->name : std::string(", ") + op->name;
  CRESSET_CHECK(false, "find_op: there is no operator \"", std::string(name), "\"", near.empty() ? "" : "; there are: ", near);
  __builtin_unreachable();
}

std::vector<const OpEntry*> all_ops() {
  std::vector<const OpEntry*> list(kBuiltinOps, kBuiltinOps + kNumBuiltinOps), dynamic;
  Registry& r = registry();
  std::shared_lock lock(r.mutex);
  for (const OpTable* table : r.tables) list.insert(list.end(), table->ops, table->ops + table->count);
  for (const auto& [name, op] : r.ops) dynamic.push_back(op.get());
  std::sort(dynamic.begin(), dynamic.end(), [](const OpEntry* a, const OpEntry* b) { return std::strcmp(a->name, b->name) < 0; });
  list.insert(list.end(), dynamic.begin(), dynamic.end());
  return list;
}

void add_ops(const OpTable& table) {
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  if (std::find(r.tables.begin(), r.tables.end(), &table) == r.tables.end()) r.tables.push_back(&table);
}

const OpEntry* add_dynamic_op(const FunctionSchema& schema, const std::string& text, const std::string& defined_at) {
  const std::string name = schema.full_name();
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  CRESSET_CHECK(!find_builtin(name), "library: the operator \"", name, "\" is built in and cannot be defined again at ", defined_at);
  auto& place = r.ops[name];
  CRESSET_CHECK(!place, "library: the operator \"", name, "\" is defined twice, at ", extension_of(*place).defined_at, " and at ", defined_at);
  place = std::make_unique<DynamicOp>(name, text);
  extension_of(*place).defined_at = defined_at;
  return place.get();
}

void remove_dynamic_op(const OpEntry* op) {
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  const auto at = r.ops.find(op->name);
  if (at == r.ops.end()) return;
  r.retired.push_back(std::move(at->second));
  r.ops.erase(at);
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
  CRESSET_CHECK(r.backends.size() < kUninitializedBackend, "register_backend: no number is left for \"", name, "\"");
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
  return backend < r.backends.size() ? r.backends[backend] : "none";
}

int find_layer(std::string_view name) {
  for (int l = 0; l < kNumLayers; l++)
    if (same_name(kLayerNames[l], name)) return l;
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

// An empty function clears the place; what was there stays alive for calls that are running it.
void set_fallback(std::atomic<const BoxedFn*>& place, BoxedFn fallback, const char* name) {
  if (!fallback) return place.store(nullptr, std::memory_order_release);
  const BoxedFn* expected = nullptr;
  auto fresh = std::make_unique<const BoxedFn>(std::move(fallback));
  CRESSET_CHECK(place.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel), "library: a fallback for ", name, " is already set");
  std::unique_lock lock(registry().mutex);
  registry().fallbacks.push_back(std::move(fresh));
}

}  // namespace

void keep_for_good(std::unique_ptr<const Kernel> kernel) {
  std::unique_lock lock(registry().mutex);
  registry().kernels.push_back(std::move(kernel));
}

void set_backend_fallback(uint8_t backend, BoxedFn fallback) {
  set_fallback(registry().backend_fallbacks[backend], std::move(fallback), backend_name(backend).c_str());
}
void set_layer_rules(Layer layer, LayerRules rules) { registry().layer_rules[static_cast<int>(layer)].store(rules, std::memory_order_release); }
void set_layer_fallback(Layer layer, BoxedFn fallback) {
  set_fallback(registry().layer_fallbacks[static_cast<int>(layer)], std::move(fallback), layer_name(layer));
}

}  // namespace cresset::dispatch
