#pragma once
// The table of ops as LibTorch programs use it: handles, calls typed and boxed, redispatch, kernels as objects, registrations as handles.

#include <algorithm>

#include "cresset/core/dispatch_key_set.h"
#include "cresset/dispatch/function_pointer.h"
#include "cresset/dispatch/operator_schema.h"
#include "cresset/dispatch/registration.h"
#include "cresset/dispatch/route.h"

namespace cresset::dispatch {

// The keys that a route stands for, and the route below others: `arguments` is the key of the call's tensors.
CRESSET_API DispatchKeySet keys_of(const Route& route);
CRESSET_API Route route_of(DispatchKeySet keys, const Key& arguments);

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
  void redispatchBoxed(DispatchKeySet keys, Stack* stack) const;

  bool hasKernelForDispatchKey(DispatchKey key) const;
  bool hasKernelForAnyDispatchKey(DispatchKeySet keys) const;
  bool isKernelFallthroughKernel(DispatchKey key) const;
  bool hasComputedKernelForDispatchKey(DispatchKey key) const;
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
    else if constexpr (AddsToKey<T>::value) {
      Stack one;
      push_value(one, v);
      for_each_tensor(one[0], [&](const Tensor& t) { see(t); });
    } else if constexpr (std::is_constructible_v<Value, const T&> && !std::is_arithmetic_v<T>) for_each_tensor(Value(v), [&](const Tensor& t) { see(t); });
  }
};
template <class... T> ArgumentKey key_of_values(const T&... values) {
  ArgumentKey key;
  (key.see_any(values), ...);
  return key;
}

template <class R, class... A> R run_target(const RoutedTarget& target, const OpEntry& op, A... args) {
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

template <class R, class... A> class TypedOperatorHandle<R(A...)> : public OperatorHandle {
 public:
  explicit TypedOperatorHandle(const OpEntry* op) : OperatorHandle(op) {}
  R call(A... args) const {
    const detail::ArgumentKey key = detail::key_of_values(args...);
    const LayerState& state = layer_state();
    const Route route{static_cast<uint8_t>((key.layers | state.included) & ~state.excluded), key.backend, passed_of_thread(),
                      key.tracked ? SeesAutograd::yes : SeesAutograd::no};
    return detail::run_target<R, A...>(resolve(this->entry(), &typeid(R(A...)), route), this->entry(), static_cast<A>(args)...);
  }
  // Goes to the topmost kernel among the keys, whatever the arguments ask for.
  R redispatch(DispatchKeySet keys, A... args) const {
    const Route route = route_of(keys, detail::key_of_values(args...));
    return detail::run_target<R, A...>(resolve(this->entry(), &typeid(R(A...)), route), this->entry(), static_cast<A>(args)...);
  }
  R callWithDispatchKey(DispatchKey key, A... args) const { return redispatch(DispatchKeySet(key), static_cast<A>(args)...); }
};

// The base of kernels that are objects with operator().
struct CRESSET_API OperatorKernel {
  virtual ~OperatorKernel();
};

// A kernel on its own.
class CRESSET_API KernelFunction {
 public:
  KernelFunction() = default;
  explicit KernelFunction(CppFunction f) : function_(std::move(f)) {}

  template <auto* F> static KernelFunction makeFromBoxedFunction() { return KernelFunction(CppFunction::makeFromBoxedFunction<F>()); }
  template <class F> static KernelFunction makeFromBoxedFunctor(std::unique_ptr<F> f) {
    return KernelFunction(CppFunction::makeFromBoxedFunctor(std::move(f)));
  }
  template <bool = false, class F = void> static KernelFunction makeFromUnboxedFunctor(std::unique_ptr<OperatorKernel> f) {
    return of(detail::make_kernel(shared<F>(std::move(f))), detail::signature_of<F>());
  }
  template <class F> static KernelFunction makeFromUnboxedOnlyFunctor(std::unique_ptr<OperatorKernel> f) {
    return of(detail::make_unboxed_kernel(shared<F>(std::move(f))), {});
  }
  template <class F> static KernelFunction makeFromUnboxedFunction(F* f) { return KernelFunction(CppFunction(f)); }
  template <class F> static std::enable_if_t<is_compile_time_function_pointer<F>::value, KernelFunction> makeFromUnboxedFunction(F) {
    return makeFromUnboxedFunction(F::func_ptr());
  }
  template <class F> static std::enable_if_t<is_compile_time_function_pointer<F>::value, KernelFunction> makeFromUnboxedOnlyFunction(F) {
    return makeFromUnboxedOnlyFunction(F::func_ptr());
  }
  template <class F> static KernelFunction makeFromUnboxedOnlyFunction(F* f) { return KernelFunction(CppFunction::makeUnboxedOnly(f)); }
  template <class F> static KernelFunction makeFromUnboxedRuntimeFunction(F* f) { return KernelFunction(CppFunction(f)); }
  template <class F> static KernelFunction makeFromUnboxedOnlyRuntimeFunction(F* f) { return KernelFunction(CppFunction::makeUnboxedOnly(f)); }
  template <class F> static KernelFunction makeFromUnboxedLambda(F&& f) { return KernelFunction(CppFunction(std::forward<F>(f))); }
  static KernelFunction makeFallthrough() { return KernelFunction(CppFunction::makeFallthrough()); }

  bool isValid() const { return function_.has_value(); }
  bool isValidUnboxed() const { return function_ && function_->kernel.signature; }
  bool isFallthrough() const { return function_ && function_->kernel.fallthrough; }
  // Errors: there is no kernel; one that is called with C++ types alone.
  void callBoxed(const OperatorHandle& op, Stack* stack) const { valid().boxed(op.entry(), *stack); }
  void callBoxed(const OperatorHandle& op, DispatchKeySet, Stack* stack) const { callBoxed(op, stack); }
  template <class R, class... A> R call(const OperatorHandle& op, DispatchKeySet, A... args) const {
    const RegisteredKernel& k = valid();
    const bool typed = k.typed && *k.signature == typeid(R(A...));
    return detail::run_target<R, A...>({{typed ? k.typed : nullptr, &k.boxed}, &k}, op.entry(), static_cast<A>(args)...);
  }
  const CppFunction& function() const { return *function_; }

 private:
  template <class F> static std::shared_ptr<F> shared(std::unique_ptr<OperatorKernel> f) { return std::shared_ptr<F>(static_cast<F*>(f.release())); }
  static KernelFunction of(RegisteredKernel kernel, detail::Signature signature) {
    KernelFunction made(CppFunction::makeFallthrough());
    made.function_->kernel = std::move(kernel);
    made.function_->signature = std::move(signature);
    return made;
  }
  const RegisteredKernel& valid() const {
    CRESSET_CHECK(function_, "KernelFunction: it holds no kernel (Tried to call KernelFunction::call() on an uninitialized KernelFunction.)");
    return function_->kernel;
  }
  std::optional<CppFunction> function_;
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
  // Those with a kernel for the key; all, also ones that registered nothing yet, without a key.
  std::vector<OperatorName> getRegistrationsForDispatchKey(std::optional<DispatchKey> key) {
    std::vector<OperatorName> names = getAllOpNames();
    const auto has_none = [&](const OperatorName& name) { return key && !findOp(name)->hasKernelForDispatchKey(*key); };
    names.erase(std::remove_if(names.begin(), names.end(), has_none), names.end());
    return names;
  }
  std::vector<OperatorHandle> findDanglingImpls() const;

  template <class R, class... A> R call(const TypedOperatorHandle<R(A...)>& op, A... args) const { return op.call(static_cast<A>(args)...); }
  template <class R, class... A> R redispatch(const TypedOperatorHandle<R(A...)>& op, DispatchKeySet keys, A... args) const {
    return op.redispatch(keys, static_cast<A>(args)...);
  }
  void callBoxed(const OperatorHandle& op, Stack* stack) const { op.callBoxed(stack); }
  void redispatchBoxed(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) const { op.redispatchBoxed(keys, stack); }

  RegistrationHandle registerDef(OperatorSchema schema, std::string debug, std::vector<Tag> tags = {});
  RegistrationHandle registerImpl(OperatorName name, std::optional<DispatchKey> key, KernelFunction kernel, std::string debug);
  RegistrationHandle registerFallback(DispatchKey key, KernelFunction kernel, std::string debug);
  RegistrationHandle registerLibrary(std::string ns, std::string debug);
  RegistrationHandle addRegistrationListener(std::unique_ptr<OpRegistrationListener> listener);
  bool hasBackendFallbackForDispatchKey(DispatchKey key);
};

// A tensor of one element that asks for keys without having anything of what they stand for: for tests of dispatch.
CRESSET_API Tensor tensor_with_keys(DispatchKeySet keys, ScalarType dtype = ScalarType::Float);

// For Autograd keys and fallbacks: the results take part in the graph, and backward raises where it reaches them.
CRESSET_API CppFunction autogradNotImplementedFallback();
// ... and in-place ops and views keep the counts of versions that the layers below autograd keep.
CRESSET_API CppFunction autogradNotImplementedInplaceOrViewFallback();

}  // namespace cresset::dispatch
