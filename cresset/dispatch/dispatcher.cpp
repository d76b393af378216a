#include "cresset/dispatch/dispatcher.h"

#include <map>
#include <mutex>

#include "cresset/dispatch/registry.h"

namespace cresset::dispatch {

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
    place = std::make_unique<const OperatorName>(plain.find("::") == std::string::npos ? "aten::" + plain : plain, plain.size() == full.size() ? "" : full.substr(plain.size() + 1));
  }
  return *place;
}

void OperatorHandle::check_types(const std::type_info& fn, const std::vector<Type>& types) const {
  const Extension* e = entry().extension.load(std::memory_order_acquire);
  const std::type_info* known = entry().signature ? nullptr : e ? e->signature : nullptr;
  CRESSET_CHECK(!known || *known == fn, entry().name, ": Tried to access operator ", entry().name, " with a wrong signature: the C++ types are those of the kernel at ",
                e->first_kernel_at, ", ", entry().schema);
  const std::vector<Argument>& declared = entry().function_schema().arguments;
  bool fits = types.size() == declared.size();
  for (size_t i = 0; fits && i < types.size(); i++) {
    const Type& t = declared[i].type;
    fits = types[i] == t || (t.kind == TypeKind::Tensor && t.optional && types[i] == Type{});
  }
  CRESSET_CHECK_TYPE(fits, entry().name, ": typed with C++ types that do not fit its schema ", entry().schema);
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

RegisteredKernel make_kernel(void (*f)(const OperatorHandle&, Stack*)) {
  return make_kernel(BoxedFn([f](const OpEntry& op, Stack& stack) { f(OperatorHandle(&op), &stack); }));
}
}  // namespace detail

CppFunction CppFunction::from_boxed(std::function<void(const OperatorHandle&, Stack*)> f) {
  CppFunction made;
  made.kernel.boxed = [f = std::move(f)](const OpEntry& op, Stack& stack) { f(OperatorHandle(&op), &stack); };
  return made;
}

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
CppFunction autogradNotImplementedFallback() { return CppFunction(&autograd_without_formula); }
CppFunction autogradNotImplementedInplaceOrViewFallback() { return CppFunction::makeFallthrough(); }

}  // namespace cresset::dispatch
