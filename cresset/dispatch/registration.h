#pragma once
// Registering ops and kernels from C++ outside the tree:
//
//   CRESSET_LIBRARY(myops, m) { m.def("foo(Tensor x, float a=1.0) -> Tensor", &foo); }
//   CRESSET_LIBRARY_IMPL(myops, Autograd, m) { m.impl("foo", &foo_autograd); }
//
// Functions may take arguments by value or const reference, std::vector for lists and std::string for text.

#include "cresset/dispatch/backend.h"
#include "cresset/dispatch/route.h"
#include "cresset/dispatch/schema_text.h"
#include "cresset/dispatch/tags.h"

namespace cresset {
enum class DispatchKey : uint16_t;
class DispatchKeySet;
template <class T> class class_;
}  // namespace cresset

namespace cresset::dispatch {

class OperatorHandle;
class OperatorSchema;
class KernelFunction;

namespace detail {

template <class T> struct FunctionTraits : FunctionTraits<decltype(&T::operator())> {};
template <class R, class... A> struct FunctionTraits<R(A...)> {
  using Fn = R(A...);
  using Result = R;
  static constexpr bool takes_keys = false;
  template <class F> static void call(F& f, Stack& stack) { call_with_values<R, A...>(f, stack, std::index_sequence_for<A...>{}); }
  template <class F> static R with_state(void* f, A... args) { return (*static_cast<F*>(f))(std::forward<A>(args)...); }
  template <class F> static AnyFn plain(const std::shared_ptr<F>& f) {
    static const std::shared_ptr<F> object = f;
    return reinterpret_cast<AnyFn>(+[](A... args) -> R { return (*object)(std::forward<A>(args)...); });
  }
};
// A kernel may take the keys of the call first, which are no argument of the op.
CRESSET_API const DispatchKeySet& keys_of_call();
template <class R, class... A> struct FunctionTraits<R(DispatchKeySet, A...)> {
  using Fn = R(A...);
  using Result = R;
  static constexpr bool takes_keys = true;
  template <class F> static void call(F& f, Stack& stack) {
    auto bound = [&](A... args) -> R { return f(keys_of_call(), std::forward<A>(args)...); };
    call_with_values<R, A...>(bound, stack, std::index_sequence_for<A...>{});
  }
  template <class F> static R with_state(void* f, A... args) { return (*static_cast<F*>(f))(keys_of_call(), std::forward<A>(args)...); }
};
template <class R, class... A> struct FunctionTraits<R (*)(A...)> : FunctionTraits<R(A...)> {};
template <class C, class R, class... A> struct FunctionTraits<R (C::*)(A...) const> : FunctionTraits<R(A...)> {};
template <class C, class R, class... A> struct FunctionTraits<R (C::*)(A...)> : FunctionTraits<R(A...)> {};

template <class F> void set_typed(RegisteredKernel& k, const std::shared_ptr<F>& f) {
  using Traits = FunctionTraits<F>;
  k.signature = &typeid(typename Traits::Fn);
  if constexpr (std::is_pointer_v<F> && !Traits::takes_keys) {
    k.typed = reinterpret_cast<AnyFn>(*f);
  } else {
    k.functor = reinterpret_cast<AnyFn>(&Traits::template with_state<F>);
    k.state = f;
    // Without state any object of the type will do, so that a plain function can stand for it.
    if constexpr (std::is_empty_v<F> && !Traits::takes_keys) k.typed = Traits::template plain<F>(f);
  }
}

template <class F> RegisteredKernel make_kernel(std::shared_ptr<F> f) {
  RegisteredKernel k;
  set_typed(k, f);
  k.boxed = [f](const OpEntry&, Stack& stack) { FunctionTraits<F>::call(*f, stack); };
  return k;
}
// Callable with C++ types alone, which may be such that no value holds them.
[[noreturn]] CRESSET_API void refuse_boxed(const OpEntry& op, Stack& stack);
template <class F> RegisteredKernel make_unboxed_kernel(std::shared_ptr<F> f) {
  RegisteredKernel k;
  set_typed(k, f);
  k.boxed = &refuse_boxed;
  return k;
}
template <class F> RegisteredKernel make_kernel(F f) { return make_kernel(std::make_shared<F>(std::move(f))); }
inline RegisteredKernel make_kernel(BoxedFn f) {
  RegisteredKernel k;
  k.boxed = std::move(f);
  return k;
}
inline RegisteredKernel make_kernel(void (*f)(const OpEntry&, Stack&)) { return make_kernel(BoxedFn(f)); }
// Boxed functions as LibTorch has them.
CRESSET_API RegisteredKernel make_kernel(void (*f)(const OperatorHandle&, Stack*));
CRESSET_API RegisteredKernel make_kernel(void (*f)(const OperatorHandle&, DispatchKeySet, Stack*));

template <class F> struct IsBoxed : std::false_type {};
template <> struct IsBoxed<BoxedFn> : std::true_type {};
template <> struct IsBoxed<void (*)(const OpEntry&, Stack&)> : std::true_type {};
template <> struct IsBoxed<void (*)(const OperatorHandle&, Stack*)> : std::true_type {};
template <> struct IsBoxed<void (*)(const OperatorHandle&, DispatchKeySet, Stack*)> : std::true_type {};

// The schema types of a function; `typed` is false for a boxed one, which fits any schema.
struct Signature {
  bool typed = false;
  std::vector<Type> arguments, results;
};

template <class R> struct ResultTypes {
  static std::vector<Type> types() { return {Unbox<std::decay_t<R>>::type()}; }
};
template <> struct ResultTypes<void> {
  static std::vector<Type> types() { return {}; }
};
template <class... T> struct ResultTypes<std::tuple<T...>> {
  static std::vector<Type> types() { return {Unbox<std::decay_t<T>>::type()...}; }
};

template <class F> Signature signature_of() {
  if constexpr (IsBoxed<F>::value) {
    return {};
  } else {
    using Traits = FunctionTraits<F>;
    return {true, SignatureOf<typename Traits::Fn>::types(), ResultTypes<typename Traits::Result>::types()};
  }
}

CRESSET_API DetailedSchema inferred_schema(const std::string& name, const Signature& f, const std::string& where);
// Errors: the function does not fit the schema.
CRESSET_API void check_fits(const FunctionSchema& schema, const std::string& text, const Signature& f, const std::string& where);

}  // namespace detail

// A kernel as Library::def and impl take it: a function, a lambda, an object with operator(), or one of the kinds made here.
class CRESSET_API CppFunction {
 public:
  template <class F, class D = std::decay_t<F>, class = std::enable_if_t<!std::is_same_v<D, CppFunction> && !std::is_same_v<D, KernelFunction>>>
  CppFunction(F&& f) : kernel(detail::make_kernel(D(std::forward<F>(f)))), signature(detail::signature_of<D>()) {}

  // Stands for no kernel: the call goes on to the next layer.
  static CppFunction makeFallthrough();
  template <auto* F> static CppFunction makeFromBoxedFunction() { return CppFunction(F); }
  template <class F> static CppFunction makeFromBoxedKernel(F f) { return CppFunction(std::move(f)); }
  // An object with operator()(const OperatorHandle&, DispatchKeySet, Stack*).
  template <class F> static CppFunction makeFromBoxedFunctor(std::unique_ptr<F> functor) {
    const std::shared_ptr<F> shared = std::move(functor);
    return from_boxed([shared](const OperatorHandle& op, Stack* stack) { (*shared)(op, detail::keys_of_call(), stack); });
  }
  template <class F> static CppFunction makeFromUnboxedFunction(F* f) { return CppFunction(f); }
  template <class F> static CppFunction makeUnboxedOnly(F* f) {
    CppFunction made;
    made.kernel = detail::make_unboxed_kernel(std::make_shared<F*>(f));
    return made;
  }
  CppFunction(KernelFunction f);
  CppFunction&& debug(std::string) && { return std::move(*this); }

  RegisteredKernel kernel;
  detail::Signature signature;
  std::string key;  // from `dispatch`; empty: that of the block

 private:
  CppFunction() = default;
  static CppFunction from_boxed(std::function<void(const OperatorHandle&, Stack*)> f);
};

// The name that registration knows a key or the kernels of a device by.
CRESSET_API std::string key_name(DispatchKey key);
CRESSET_API std::string key_name(DeviceType device);

// The same kernel for a key of its own: m.def("f", dispatch(DispatchKey::CPU, &f)).
template <class Key, class F> CppFunction dispatch(Key key, F&& f) {
  CppFunction made(std::forward<F>(f));
  made.key = key_name(key);
  return made;
}

// A set of registrations; undone when it is destroyed (when its shared library closes).
class CRESSET_API Library {
 public:
  enum Kind { definitions, fragment, implementations, DEF = definitions, FRAGMENT = fragment, IMPL = implementations };
  // key: "CPU", "Meta", a registered backend, a layer ("Autograd"), "Composite", or a dispatch key of LibTorch's.
  // Errors: a second `definitions` block for one namespace; an unknown key.
  Library(Kind kind, std::string ns, std::string key, const char* file, int line);
  Library(Kind kind, std::string ns, std::optional<DispatchKey> key, const char* file, uint32_t line)
      : Library(kind, std::move(ns), key ? key_name(*key) : std::string(), file, static_cast<int>(line)) {}
  ~Library();
  Library(Library&& o) noexcept;
  Library& operator=(Library&& o) noexcept;
  // Undoes the registrations made so far.
  void reset();

  // Declares an op. Errors: a malformed schema, another namespace, an op of the same name.
  Library& def(const std::string& schema, const std::vector<Tag>& tags = {}) {
    define(schema, nullptr, tags);
    return *this;
  }
  Library& def(const char* schema, const std::vector<Tag>& tags = {}) { return def(std::string(schema), tags); }
  Library& def(const OperatorSchema& schema, const std::vector<Tag>& tags = {});
  // ... whose body is made of other ops, or runs on any backend. A name alone gets its schema from the function's types.
  // Errors: also a function that does not fit the schema.
  template <class F> Library& def(const std::string& schema, F&& f, const std::vector<Tag>& tags = {}) {
    CppFunction function(std::forward<F>(f));
    define(schema, &function, tags);
    return *this;
  }
  // The kernel for this block's key, or the function's own. Errors: a function that does not fit the schema. A later kernel goes before
  // an earlier one, with a warning. An op may be defined after its kernels.
  template <class F> Library& impl(const std::string& name, F&& f) {
    implement(name, CppFunction(std::forward<F>(f)));
    return *this;
  }
  template <class Key, class F> Library& impl(const std::string& name, Key key, F&& f) { return impl(name, dispatch(key, std::forward<F>(f))); }
  template <class F> Library& impl_UNBOXED(const std::string& name, F* f) { return impl(name, CppFunction::makeUnboxedOnly(f)); }
  // The kernel of every op without one for this block's key; only in CRESSET_LIBRARY_IMPL(_, Key, m).
  template <class F> Library& fallback(F&& f) {
    if constexpr (std::is_constructible_v<BoxedFn, F>) set_fallback(BoxedFn(std::forward<F>(f)));
    else set_fallback(CppFunction(std::forward<F>(f)));
    return *this;
  }

  // A class of C++ objects, torch.classes.ns.Name in Python (cresset/dispatch/custom_class.h).
  template <class T>::cresset::class_<T> class_(const std::string& name, const std::string& doc = "");

  // The Python module that completes the ops defined from here on: what an op that lacks a part names in its error.
  Library& set_python_module(const char* module, const char* context = "");
  Library& impl_abstract_pystub(const char* module, const char* context = "") { return set_python_module(module, context); }

 private:
  void define(const std::string& text, CppFunction* function, const std::vector<Tag>& tags);
  void define(DetailedSchema schema, CppFunction* function, const std::vector<Tag>& tags);
  void implement(const std::string& name, CppFunction function);
  void set_fallback(BoxedFn f);
  void set_fallback(CppFunction f);
  CRESSET_LOCAL void put(const OpEntry& op, const std::string& key, CppFunction function);
  std::string where() const;
  // Errors: the block is not one of definitions.
  const std::string& namespace_for_classes() const;
  void keep_class(const std::type_info& type);

  struct Made;
  Kind kind_;
  std::string ns_, key_;
  const char* file_;
  int line_;
  std::string python_module_;
  std::unique_ptr<Made> made_;
};

// The object behind the macros below. An error in the block undoes it and reaches the caller of load_library (cresset/dispatch/backend.h);
// in a program's own blocks it is kept, and reaches whoever next looks for an op or calls one of the block's.
class CRESSET_API LibraryBlock {
 public:
  using Init = void (*)(Library&);
  LibraryBlock(Library::Kind kind, const char* ns, const char* key, const char* file, int line, Init init);

 private:
  std::unique_ptr<Library> library_;
};

}  // namespace cresset::dispatch

#define CRESSET_LIBRARY_BLOCK(kind, ns, key, m, id)                                                                                                     \
  static void CRESSET_CONCAT(cresset_library_init_, id)(::cresset::dispatch::Library&);                                                                 \
  static const ::cresset::dispatch::LibraryBlock CRESSET_CONCAT(cresset_library_, id)(::cresset::dispatch::Library::kind, #ns, key, __FILE__, __LINE__, \
                                                                                      &CRESSET_CONCAT(cresset_library_init_, id));                      \
  static void CRESSET_CONCAT(cresset_library_init_, id)([[maybe_unused]] ::cresset::dispatch::Library & m)
#define CRESSET_LIBRARY(ns, m) CRESSET_LIBRARY_BLOCK(definitions, ns, "", m, __COUNTER__)
#define CRESSET_LIBRARY_FRAGMENT(ns, m) CRESSET_LIBRARY_BLOCK(fragment, ns, "", m, __COUNTER__)
#define CRESSET_LIBRARY_IMPL(ns, key, m) CRESSET_LIBRARY_BLOCK(implementations, ns, #key, m, __COUNTER__)
