#pragma once
// The table of ops as LibTorch programs use it: handles found by name, calls typed and boxed, listeners.

#include "cresset/dispatch/operator_schema.h"
#include "cresset/dispatch/registration.h"
#include "cresset/dispatch/route.h"

namespace cresset::dispatch {

template <class Fn> class TypedOperatorHandle;

class CRESSET_API OperatorHandle : public OpHandle {
 public:
  using OpHandle::OpHandle;
  explicit OperatorHandle(OpHandle h) : OpHandle(h) {}

  const OperatorSchema& schema() const;
  const OperatorName& operator_name() const;
  bool hasSchema() const { return *entry().schema; }
  // Errors: C++ types other than those of the op's kernels, or that do not fit its schema.
  template <class Fn> TypedOperatorHandle<Fn> typed() const {
    check_types(typeid(Fn), SignatureOf<Fn>::types());
    return TypedOperatorHandle<Fn>(&entry());
  }
  void callBoxed(Stack* stack) const { call_boxed(*stack); }
  void callBoxed(Stack& stack) const { call_boxed(stack); }
  std::vector<Tag> getTags() const;
  bool hasTag(Tag tag) const;
  // The file and line of the definition.
  std::string debug() const;
  std::string dumpState() const { return print_table(entry().name); }
  std::string dumpComputedTable() const { return print_table(entry().name); }
  void checkInvariants() const {}
  bool operator==(const OperatorHandle& o) const { return &entry() == &o.entry(); }
  bool operator!=(const OperatorHandle& o) const { return !(*this == o); }

 private:
  void check_types(const std::type_info& fn, const std::vector<Type>& types) const;
};

namespace detail {

// The key of a call's arguments, and whether one of them takes part in autograd's layer.
struct ArgumentKey : Key {
  bool tracked = false;
  void see(const Tensor& t) {
    if (!t.defined()) return;
    add(t);
    tracked = tracked || !t.is_inference();
  }
  template <class T> void see_any(const T& v) {
    if constexpr (std::is_same_v<T, Tensor>) see(v);
    else if constexpr (std::is_same_v<T, TensorOptions>) add(v);
    else if constexpr (AddsToKey<T>::value) { Stack one; push_value(one, v); for_each_tensor(one[0], [&](const Tensor& t) { see(t); }); }
    else if constexpr (std::is_constructible_v<Value, const T&> && !std::is_arithmetic_v<T>) for_each_tensor(Value(v), [&](const Tensor& t) { see(t); });
  }
};
template <class... T> ArgumentKey key_of_values(const T&... values) {
  ArgumentKey key;
  (key.see_any(values), ...);
  return key;
}

template <class R, class... A>
R run_target(const RoutedTarget& target, const OpEntry& op, A... args) {
  const NoDataScope scope(target.no_data);
  WrittenVersions versions;
  if constexpr ((std::is_same_v<A, Tensor&> || ...))
    if (target.registered) (versions.add(static_cast<A>(args)), ...);
  if (target.typed) return reinterpret_cast<R (*)(A...)>(target.typed)(static_cast<A>(args)...);
  if (const RegisteredKernel* k = target.kernel; k && k->functor && *k->signature == typeid(R(A...)))
    return reinterpret_cast<R (*)(void*, A...)>(k->functor)(k->state.get(), static_cast<A>(args)...);
  return call_boxed_kernel<R, A...>(*target.boxed, op, static_cast<A>(args)...);
}

}  // namespace detail

template <class R, class... A>
class TypedOperatorHandle<R(A...)> : public OperatorHandle {
 public:
  explicit TypedOperatorHandle(const OpEntry* op) : OperatorHandle(op) {}
  R call(A... args) const {
    const detail::ArgumentKey key = detail::key_of_values(args...);
    const LayerState& state = layer_state();
    const Route route{static_cast<uint8_t>((key.layers | state.included) & ~state.excluded), key.backend, passed_of_thread(),
                      key.tracked ? SeesAutograd::yes : SeesAutograd::no};
    return detail::run_target<R, A...>(resolve(this->entry(), &typeid(R(A...)), route), this->entry(), static_cast<A>(args)...);
  }
};

// Undoes a registration when it is destroyed.
class RegistrationHandle {
 public:
  explicit RegistrationHandle(std::function<void()> undo) : undo_(std::move(undo)) {}
  RegistrationHandle(RegistrationHandle&& o) noexcept : undo_(std::exchange(o.undo_, nullptr)) {}
  RegistrationHandle& operator=(RegistrationHandle&& o) noexcept {
    if (undo_) undo_();
    undo_ = std::exchange(o.undo_, nullptr);
    return *this;
  }
  ~RegistrationHandle() {
    if (undo_) undo_();
  }

 private:
  std::function<void()> undo_;
};

struct CRESSET_API OpRegistrationListener {
  virtual ~OpRegistrationListener();
  virtual void onOperatorRegistered(const OperatorHandle& op) = 0;
  virtual void onOperatorDeregistered(const OperatorHandle& op) = 0;
};

class CRESSET_API Dispatcher {
 public:
  static Dispatcher& singleton();
  static Dispatcher& realSingleton() { return singleton(); }

  // Ops with a schema; empty where there is none.
  std::optional<OperatorHandle> findSchema(const OperatorName& name);
  // Also ops that have kernels and no schema yet.
  std::optional<OperatorHandle> findOp(const OperatorName& name);
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload);
  std::vector<OperatorName> getAllOpNames();
  std::vector<OperatorHandle> findDanglingImpls() const;

  template <class R, class... A> R call(const TypedOperatorHandle<R(A...)>& op, A... args) const { return op.call(static_cast<A>(args)...); }
  void callBoxed(const OperatorHandle& op, Stack* stack) const { op.callBoxed(stack); }

  RegistrationHandle registerLibrary(std::string ns, std::string debug);
  RegistrationHandle addRegistrationListener(std::unique_ptr<OpRegistrationListener> listener);
};

// For Autograd keys and fallbacks: the results take part in the graph, and backward raises where it reaches them.
CRESSET_API CppFunction autogradNotImplementedFallback();
// ... and in-place ops and views keep the counts of versions that the layers below autograd keep.
CRESSET_API CppFunction autogradNotImplementedInplaceOrViewFallback();

}  // namespace cresset::dispatch
