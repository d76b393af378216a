#pragma once
// Loops over the operands of a TensorIterator made of a function of elements: cpu_kernel(iter, [](float a, float b) { return a + b;
// }).

#include <tuple>
#include <type_traits>
#include <utility>

#include "cresset/ops/tensor_iterator.h"

namespace cresset {

namespace detail {

template <class F> struct ElementFunction : ElementFunction<decltype(&std::decay_t<F>::operator())> {};
template <class C, class R, class... A> struct ElementFunction<R (C::*)(A...) const> {
  using Result = R;
  using Arguments = std::tuple<std::decay_t<A>...>;
};
template <class C, class R, class... A> struct ElementFunction<R (C::*)(A...)> {
  using Result = R;
  using Arguments = std::tuple<std::decay_t<A>...>;
};
template <class R, class... A> struct ElementFunction<R (*)(A...)> {
  using Result = R;
  using Arguments = std::tuple<std::decay_t<A>...>;
};

template <class R> struct ResultCount { static constexpr int value = 1; };
template <> struct ResultCount<void> { static constexpr int value = 0; };
template <class... T> struct ResultCount<std::tuple<T...>> { static constexpr int value = sizeof...(T); };

template <class R, class F, class... A, size_t... I, size_t... O>
void run_elements(char** data, const int64_t* strides, int64_t n, F& f, std::tuple<A...>*, std::index_sequence<I...>, std::index_sequence<O...>) {
  constexpr int outputs = ResultCount<R>::value;
  for (int64_t i = 0; i < n; i++) {
    if constexpr (outputs == 0) {
      f(*reinterpret_cast<A*>(data[I] + i * strides[I])...);
    } else if constexpr (outputs == 1 && sizeof...(O) == 1) {
      *reinterpret_cast<R*>(data[0] + i * strides[0]) = f(*reinterpret_cast<A*>(data[1 + I] + i * strides[1 + I])...);
    } else {
      const R results = f(*reinterpret_cast<A*>(data[outputs + I] + i * strides[outputs + I])...);
      ((*reinterpret_cast<std::tuple_element_t<O, R>*>(data[O] + i * strides[O]) = std::get<O>(results)), ...);
    }
  }
}

// Errors: another number of operands, or dtypes that are not the function's.
template <class T> void check_operand(const TensorIterator& iter, int i) {
  CRESSET_CHECK(iter.dtype(i) == dtype_of<T>, "cpu_kernel: the function takes ", dtype_of<T>, " as operand ", i, ", got ", iter.dtype(i));
}
template <class R> struct CheckResults {
  static void of(const TensorIterator& iter) { check_operand<R>(iter, 0); }
};
template <> struct CheckResults<void> {
  static void of(const TensorIterator&) {}
};
template <class... T> struct CheckResults<std::tuple<T...>> {
  static void of(const TensorIterator& iter) {
    int i = 0;
    (check_operand<T>(iter, i++), ...);
  }
};
template <class... A> void check_arguments(const TensorIterator& iter, std::tuple<A...>*) {
  int i = iter.noutputs();
  (check_operand<A>(iter, i++), ...);
}

template <class F> void run_kernel(TensorIterator& iter, F&& f, bool serial, int64_t grain) {
  using Function = ElementFunction<std::decay_t<F>>;
  using R = typename Function::Result;
  using A = typename Function::Arguments;
  CRESSET_CHECK(iter.noutputs() == ResultCount<R>::value && iter.ninputs() == static_cast<int>(std::tuple_size<A>::value), "cpu_kernel: got a function of ",
                std::tuple_size<A>::value, " arguments and ", ResultCount<R>::value, " results for ", iter.ninputs(), " inputs and ", iter.noutputs(),
                " outputs");
  CheckResults<R>::of(iter);
  check_arguments(iter, static_cast<A*>(nullptr));
  const auto loop = [&f](char** data, const int64_t* strides, int64_t n) {
    run_elements<R>(data, strides, n, f, static_cast<A*>(nullptr), std::make_index_sequence<std::tuple_size<A>::value>(),
                    std::make_index_sequence<static_cast<size_t>(ResultCount<R>::value)>());
  };
  if (serial) iter.serial_for_each(loop);
  else iter.for_each(loop, grain);
  iter.cast_outputs();
}

}  // namespace detail

// Calls `f` for each element, on several threads. Its parameters and result are the operands' dtypes, exactly; a tuple gives
// several outputs.
template <class F> void cpu_kernel(TensorIterator& iter, F&& f, int64_t grain = 32768) { detail::run_kernel(iter, f, false, grain); }
template <class F> void cpu_kernel_multiple_outputs(TensorIterator& iter, F&& f, int64_t grain = 32768) { detail::run_kernel(iter, f, false, grain); }
// The same on the calling thread.
template <class F> void cpu_serial_kernel(TensorIterator& iter, F&& f) { detail::run_kernel(iter, f, true, 0); }
// `vectorised` does the same to several elements at once and is not used: the loops over `f` are vectorised by the compiler.
template <class F, class V> void cpu_kernel_vec(TensorIterator& iter, F&& f, V&&, int64_t grain = 32768) { detail::run_kernel(iter, f, false, grain); }

}  // namespace cresset
