#pragma once
// A function as a type, so that a call to it can be inlined: m.impl("f", TORCH_FN(f)).

#include <type_traits>

namespace cresset::dispatch {

template <class Fn, Fn* f> struct CompileTimeFunctionPointer;
template <class R, class... A, R (*f)(A...)> struct CompileTimeFunctionPointer<R(A...), f> {
  using FuncType = R(A...);
  static constexpr FuncType* func_ptr() { return f; }
  R operator()(A... args) const { return (*f)(static_cast<A&&>(args)...); }
};

template <class T> struct is_compile_time_function_pointer : std::false_type {};
template <class Fn, Fn* f> struct is_compile_time_function_pointer<CompileTimeFunctionPointer<Fn, f>> : std::true_type {};

}  // namespace cresset::dispatch
