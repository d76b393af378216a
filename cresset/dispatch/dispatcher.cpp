#include "cresset/dispatch/dispatcher.h"

#include <map>
#include <mutex>

#include "cresset/dispatch/registry.h"

namespace cresset::dispatch {

OperatorKernel::~OperatorKernel() = default;
OpRegistrationListener::~OpRegistrationListener() = default;

// ---- handles ----

namespace {

// One object for each schema that an op had, kept for good: handles give references to it.
struct Schemas {
  std::mutex mutex;
  std::map<std::tuple<const void*, AliasAnalysis, bool>, std::unique_ptr<const OperatorSchema>> all;
  std::map<const OpEntry*, std::unique_ptr<const OperatorName>> names;
};
Schemas& schemas() {
  static Schemas& s = *new Schemas;
  return s;
}

AliasAnalysis aliases_of(const OpEntry& op, bool* given) {
  const Extension* e = op.extension.load(std::memory_order_acquire);
  *given = !e || e->aliases_given || op.signature;
  return e ? e->aliases : AliasAnalysis::FromSchema;
}

const RegisteredKernel* registered_kernel(const OpEntry& op, const std::string& key) {
  const Place* place = place_for(op, key);
  return place ? place->load(std::memory_order_acquire) : nullptr;
}

bool has_builtin(const OpEntry& op, const std::string& key) {
  if (!op.signature) return false;
  if (key == "CPU") return builtin_of(op, OpEntry::cpu_slot) && !(op.flags & kCompositeOp);
  if (key == "Meta") return op.slot(OpEntry::meta_slot) && !(op.flags & kCompositeOp);
  if (key == "CompositeImplicitAutograd") return op.flags & kCompositeOp;
  return key.rfind("Autograd", 0) == 0 && op.slot(OpEntry::autograd_slot);
}

}  // namespace

const OperatorSchema& OperatorHandle::schema() const {
  bool given;
  const AliasAnalysis kind = aliases_of(entry(), &given);
  const FunctionSchema& parts = entry().function_schema();  // the text says more
  Schemas& s = schemas();
  std::lock_guard lock(s.mutex);
  auto& place = s.all[{&parts, kind, given}];
  if (!place) place = std::make_unique<const OperatorSchema>(parse_detailed(entry().schema), kind, given);
  return *place;
}

const OperatorName& OperatorHandle::operator_name() const {
  Schemas& s = schemas();
  std::lock_guard lock(s.mutex);
  auto& place = s.names[&entry()];
  if (!place) {
    const std::string full = entry().name, plain = full.substr(0, full.find('.'));
    place = std::make_unique<const OperatorName>(plain.find("::") == std::string::npos ? "aten::" + plain : plain,
                                                 plain.size() == full.size() ? "" : full.substr(plain.size() + 1));
  }
  return *place;
}

void OperatorHandle::check_types(const std::type_info& fn, const std::vector<Type>& types) const {
  const Extension* e = entry().extension.load(std::memory_order_acquire);
  const std::type_info* known = entry().signature ? nullptr : e ? e->signature : nullptr;
  CRESSET_CHECK(!known || *known == fn, entry().name, ": Tried to access operator ", entry().name,
                " with a wrong signature: the C++ types are those of the kernel at ", e->first_kernel_at, ", ", entry().schema);
  const std::vector<Argument>& declared = entry().function_schema().arguments;
  bool fits = types.size() == declared.size();
  for (size_t i = 0; fits && i < types.size(); i++) {
    const Type& t = declared[i].type;
    fits = types[i] == t || (t.kind == TypeKind::Tensor && t.optional && types[i] == Type{});
  }
  CRESSET_CHECK_TYPE(fits, entry().name, ": typed with C++ types that do not fit its schema ", entry().schema);
}

void OperatorHandle::redispatchBoxed(DispatchKeySet keys, Stack* stack) const {
  Key arguments;
  const size_t n = entry().function_schema().arguments.size();
  for (size_t i = stack->size() - std::min(n, stack->size()); i < stack->size(); i++) for_each_tensor((*stack)[i], [&](const Tensor& t) { arguments.add(t); });
  const RoutedTarget target = resolve(entry(), nullptr, route_of(keys, arguments));
  const NoDataScope scope(target.no_data);
  if (target.typed) entry().call_typed(target.typed, *stack);
  else (*target.boxed)(entry(), *stack);
}

bool OperatorHandle::hasKernelForDispatchKey(DispatchKey key) const { return registered_kernel(entry(), key_name(key)) || has_builtin(entry(), key_name(key)); }
bool OperatorHandle::hasKernelForAnyDispatchKey(DispatchKeySet keys) const {
  for (const DispatchKey key : keys)
    if (hasKernelForDispatchKey(key)) return true;
  return false;
}
bool OperatorHandle::isKernelFallthroughKernel(DispatchKey key) const {
  const RegisteredKernel* k = registered_kernel(entry(), key_name(key));
  return k && k->fallthrough;
}
bool OperatorHandle::hasComputedKernelForDispatchKey(DispatchKey key) const {
  if (hasKernelForDispatchKey(key)) return true;
  for (const char* composite : {"CompositeImplicitAutograd", "CompositeExplicitAutograd"})
    if (registered_kernel(entry(), composite) || has_builtin(entry(), composite)) return true;
  const int b = backend_of_key(key_name(key));
  return b >= 0 && can_run(static_cast<uint8_t>(b), entry());
}

std::vector<Tag> OperatorHandle::getTags() const {
  const Extension* e = entry().extension.load(std::memory_order_acquire);
  return e ? e->tags : std::vector<Tag>();
}
bool OperatorHandle::hasTag(Tag tag) const {
  for (const Tag t : getTags())
    if (t == tag) return true;
  return false;
}
std::string OperatorHandle::debug() const {
  const Extension* e = entry().extension.load(std::memory_order_acquire);
  return entry().signature || !e ? "built in" : "registered at " + e->defined_at;
}

namespace detail {

const DispatchKeySet& keys_of_call() {
  thread_local DispatchKeySet keys;
  return keys = keys_of(route_of_kernel());
}

RegisteredKernel make_kernel(void (*f)(const OperatorHandle&, Stack*)) {
  return make_kernel(BoxedFn([f](const OpEntry& op, Stack& stack) { f(OperatorHandle(&op), &stack); }));
}
RegisteredKernel make_kernel(void (*f)(const OperatorHandle&, DispatchKeySet, Stack*)) {
  return make_kernel(BoxedFn([f](const OpEntry& op, Stack& stack) { f(OperatorHandle(&op), keys_of_call(), &stack); }));
}

}  // namespace detail

CppFunction CppFunction::from_boxed(std::function<void(const OperatorHandle&, Stack*)> f) {
  CppFunction made;
  made.kernel.boxed = [f = std::move(f)](const OpEntry& op, Stack& stack) { f(OperatorHandle(&op), &stack); };
  return made;
}

CppFunction::CppFunction(KernelFunction f) : CppFunction(f.function()) {}

// ---- the table ----

Dispatcher& Dispatcher::singleton() {
  static Dispatcher dispatcher;
  return dispatcher;
}

std::optional<OperatorHandle> Dispatcher::findSchema(const OperatorName& name) {
  const OpHandle op = find_op_or_null(toString(name));
  return op ? std::optional<OperatorHandle>(op) : std::nullopt;
}
std::optional<OperatorHandle> Dispatcher::findOp(const OperatorName& name) {
  const OpHandle op = find_declared_op(toString(name));
  return op ? std::optional<OperatorHandle>(op) : std::nullopt;
}
OperatorHandle Dispatcher::findSchemaOrThrow(const char* name, const char* overload) {
  const OperatorName full(name, overload);
  const std::optional<OperatorHandle> declared = findOp(full);
  CRESSET_CHECK(!declared || declared->hasSchema(), "Could not find schema for ", toString(full), ": kernels are registered for it, but no library defines it");
  return OperatorHandle(find_op(toString(full)));
}
std::vector<OperatorName> Dispatcher::getAllOpNames() {
  std::vector<OperatorName> names;
  for (const OpEntry* op : all_ops()) names.push_back(OperatorHandle(op).operator_name());
  return names;
}
std::vector<OperatorHandle> Dispatcher::findDanglingImpls() const {
  std::vector<OperatorHandle> list;
  for (const OpEntry* op : undefined_ops()) list.emplace_back(op);
  return list;
}

RegistrationHandle Dispatcher::registerDef(OperatorSchema schema, std::string debug, std::vector<Tag> tags) {
  const OpEntry* op = define_op(schema.parts(), toString(schema), debug);
  Extension& e = extension_of(*op);
  e.tags = std::move(tags);
  e.aliases = schema.aliasAnalysis();
  e.aliases_given = !schema.isDefaultAliasAnalysisKind();
  return RegistrationHandle([op] { undefine_op(op); });
}
RegistrationHandle Dispatcher::registerImpl(OperatorName name, std::optional<DispatchKey> key, KernelFunction kernel, std::string debug) {
  RegisteredKernel k = kernel.function().kernel;
  k.where = std::move(debug);
  const Registration r = add_kernel(declared_op(toString(name)), key ? key_name(*key) : "CompositeImplicitAutograd", std::move(k));
  return RegistrationHandle([r] { remove_kernel(r); });
}
RegistrationHandle Dispatcher::registerFallback(DispatchKey key, KernelFunction kernel, std::string) {
  if (kernel.isFallthrough()) return RegistrationHandle(nullptr);
  const std::string name = key_name(key);
  set_fallback(name, kernel.function().kernel.boxed);
  return RegistrationHandle([name] { clear_fallback(name); });
}
RegistrationHandle Dispatcher::registerLibrary(std::string ns, std::string debug) {
  const auto library = std::make_shared<Library>(Library::definitions, std::move(ns), std::string(), debug.c_str(), 0);
  return RegistrationHandle([library] { library->reset(); });
}

namespace {

struct ForwardingListener final : RegistrationListener {
  explicit ForwardingListener(std::unique_ptr<OpRegistrationListener> l) : listener(std::move(l)) {}
  void on_defined(const OpEntry& op) override { listener->onOperatorRegistered(OperatorHandle(&op)); }
  void on_removed(const OpEntry& op) override { listener->onOperatorDeregistered(OperatorHandle(&op)); }
  const std::unique_ptr<OpRegistrationListener> listener;
};

}  // namespace

RegistrationHandle Dispatcher::addRegistrationListener(std::unique_ptr<OpRegistrationListener> listener) {
  return RegistrationHandle(add_registration_listener(std::make_unique<ForwardingListener>(std::move(listener))));
}
bool Dispatcher::hasBackendFallbackForDispatchKey(DispatchKey key) {
  const int b = backend_of_key(key_name(key));
  return b >= 0 && backend_fallback(static_cast<uint8_t>(b));
}

Tensor tensor_with_keys(DispatchKeySet keys, ScalarType dtype) {
  const bool sparse = keys.has(DispatchKey::Sparse), csr = keys.has(DispatchKey::SparseCsr), mkldnn = keys.has(DispatchKey::MkldnnCPU);
  const Layout layout = mkldnn ? Layout::Mkldnn : sparse ? Layout::Sparse : csr ? Layout::SparseCsr : Layout::Strided;
  Device device(kCPU);
  for (int t = 0; t < static_cast<int>(DeviceType::COMPILE_TIME_MAX_DEVICE_TYPES); t++)
    if (keys.highestBackendKey() != BackendComponent::InvalidBit && toBackendComponent(static_cast<DeviceType>(t)) == keys.highestBackendKey())
      device = Device(static_cast<DeviceType>(t));
  // Where the device is not there the memory is the CPU's, which no kernel of its own will see.
  auto impl =
      make_intrusive<TensorImpl>(device.is_meta() ? intrusive_ptr<StorageImpl>() : make_dense(IntArrayRef(1), dtype, kCPU)->storage(), dtype, device, layout);
  impl->set_geometry(IntArrayRef(1), IntArrayRef(1), 0);
  const std::string name =
      key_name(keys.highestBackendKey() == BackendComponent::InvalidBit ? DispatchKey::CPU
                                                                        : toRuntimePerBackendFunctionalityKey(sparse ? DispatchKey::Sparse
                                                                                                              : csr  ? DispatchKey::SparseCsr
                                                                                                                     : DispatchKey::Dense,
                                                                                                              keys.highestBackendKey()));
  if (const int b = mkldnn ? -1 : backend_of_key(name); b >= 0) impl->set_backend(static_cast<uint8_t>(b));
  for (const Layer l : {Layer::PythonModes, Layer::Functionalize, Layer::Vmap})
    if (layers_of(keys) & layer_bit(l)) impl->set_layer(l, true);
  return Tensor(std::move(impl));
}

CppFunction autogradNotImplementedFallback() { return CppFunction(&autograd_without_formula); }
CppFunction autogradNotImplementedInplaceOrViewFallback() { return CppFunction::makeFallthrough(); }

}  // namespace cresset::dispatch
