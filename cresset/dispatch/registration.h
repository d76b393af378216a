#pragma once
// Registering ops and kernels from C++ outside the tree:
//
//   CRESSET_LIBRARY(myops, m) { m.def("foo(Tensor x, float a=1.0) -> Tensor", &foo); }
//   CRESSET_LIBRARY_IMPL(myops, Autograd, m) { m.impl("foo", &foo_autograd); }
//
// Functions may take arguments by value or const reference, std::vector for lists and std::string for text.

#include "cresset/dispatch/backend.h"

namespace cresset::dispatch {

namespace detail {

template <class T> struct FunctionTraits : FunctionTraits<decltype(&T::operator())> {};
template <class R, class... A> struct FunctionTraits<R(A...)> {
  using Fn = R(A...);
  template <class F> static void call(F& f, Stack& stack) { call_with_values<R, A...>(f, stack, std::index_sequence_for<A...>{}); }
};
template <class R, class... A> struct FunctionTraits<R (*)(A...)> : FunctionTraits<R(A...)> {};
template <class C, class R, class... A> struct FunctionTraits<R (C::*)(A...) const> : FunctionTraits<R(A...)> {};
template <class C, class R, class... A> struct FunctionTraits<R (C::*)(A...)> : FunctionTraits<R(A...)> {};

template <class F>
Kernel make_kernel(F f) {
  using Traits = FunctionTraits<F>;
  Kernel k;
  if constexpr (std::is_pointer_v<F>) {
    k.typed = reinterpret_cast<AnyFn>(f);
    k.signature = &typeid(typename Traits::Fn);
  }
  k.boxed = [f](const OpEntry&, Stack& stack) mutable { Traits::call(f, stack); };
  return k;
}
inline Kernel make_kernel(BoxedFn f) {
  Kernel k;
  k.boxed = std::move(f);
  return k;
}
inline Kernel make_kernel(void (*f)(const OpEntry&, Stack&)) { return make_kernel(BoxedFn(f)); }

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
template <class Fn> struct ResultOf;
template <class R, class... A> struct ResultOf<R(A...)> { using type = R; };

template <class F> Signature signature_of() {
  if constexpr (std::is_same_v<F, BoxedFn> || std::is_same_v<F, void (*)(const OpEntry&, Stack&)>) {
    return {};
  } else {
    using Fn = typename FunctionTraits<F>::Fn;
    return {true, SignatureOf<Fn>::types(), ResultTypes<typename ResultOf<Fn>::type>::types()};
  }
}

}  // namespace detail

// A set of registrations; undone when it is destroyed (when its shared library closes).
class CRESSET_API Library {
 public:
  enum Kind { definitions, fragment, implementations };
  // key: "CPU", "Meta", a registered backend, a layer ("Autograd"), or "Composite".
  // Errors: a second `definitions` block for one namespace; an unknown key.
  Library(Kind kind, std::string ns, std::string key, const char* file, int line);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Declares an op. Errors: a malformed schema, another namespace, an op of the same name, a function that does not fit the schema.
  Library& def(const std::string& schema) { define(schema, nullptr, {}); return *this; }
  // ... whose body is made of other ops, or runs on any backend.
  template <class F> Library& def(const std::string& schema, F f) {
    Kernel kernel = detail::make_kernel(f);
    define(schema, &kernel, detail::signature_of<F>());
    return *this;
  }
  // The kernel for this block's key. Errors: unknown op, a second kernel for one key, a function that does not fit the schema.
  template <class F> Library& impl(const std::string& name, F f) {
    implement(name, detail::make_kernel(f), detail::signature_of<F>());
    return *this;
  }
  // The kernel of every op without one for this block's key; only in CRESSET_LIBRARY_IMPL(_, Key, m).
  void fallback(BoxedFn f);

 private:
  struct Undo { const OpEntry* op; std::string key; };
  void define(const std::string& schema, const Kernel* kernel, const detail::Signature& signature);
  void implement(const std::string& name, Kernel kernel, const detail::Signature& signature);
  void put(const OpEntry& op, const std::string& key, Kernel kernel);
  std::string where() const;

  Kind kind_;
  std::string ns_, key_;
  const char* file_;
  int line_;
  std::vector<Undo> kernels_;
  std::vector<const OpEntry*> ops_;
  bool has_fallback_ = false;
};

// What the macros below make. An error in the block undoes it and reaches the caller of load_library (cresset/dispatch/backend.h).
class CRESSET_API LibraryBlock {
 public:
  using Init = void (*)(Library&);
  LibraryBlock(Library::Kind kind, const char* ns, const char* key, const char* file, int line, Init init);

 private:
  std::unique_ptr<Library> library_;
};

}  // namespace cresset::dispatch

#define CRESSET_LIBRARY_BLOCK(kind, ns, key, m, id)                                                                      \
  static void CRESSET_CONCAT(cresset_library_init_, id)(::cresset::dispatch::Library&);                                  \
  static const ::cresset::dispatch::LibraryBlock CRESSET_CONCAT(cresset_library_, id)(                                   \
      ::cresset::dispatch::Library::kind, #ns, key, __FILE__, __LINE__, &CRESSET_CONCAT(cresset_library_init_, id));     \
  static void CRESSET_CONCAT(cresset_library_init_, id)([[maybe_unused]] ::cresset::dispatch::Library& m)
#define CRESSET_LIBRARY(ns, m) CRESSET_LIBRARY_BLOCK(definitions, ns, "", m, __COUNTER__)
#define CRESSET_LIBRARY_FRAGMENT(ns, m) CRESSET_LIBRARY_BLOCK(fragment, ns, "", m, __COUNTER__)
#define CRESSET_LIBRARY_IMPL(ns, key, m) CRESSET_LIBRARY_BLOCK(implementations, ns, #key, m, __COUNTER__)
