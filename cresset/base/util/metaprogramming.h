#pragma once
// Types of functions, arguments chosen by their type, and other compile-time help.

#include <string>

#include "cresset/base/util/type_list.h"

namespace cresset::guts {

template <class F> struct function_traits { static_assert(!std::is_same<F, F>::value, "function_traits: expected a plain function type, such as int(float)"); };
template <class R, class... A> struct function_traits<R(A...)> {
  using func_type = R(A...);
  using return_type = R;
  using parameter_types = typelist::typelist<A...>;
  static constexpr auto number_of_parameters = sizeof...(A);
};
// Of functors, functions and pointers to them.
template <class F> struct infer_function_traits { using type = function_traits<typename detail::StripClass<decltype(&F::operator())>::type>; };
template <class R, class... A> struct infer_function_traits<R (*)(A...)> { using type = function_traits<R(A...)>; };
template <class R, class... A> struct infer_function_traits<R(A...)> { using type = function_traits<R(A...)>; };
template <class F> using infer_function_traits_t = typename infer_function_traits<F>::type;
template <class R, class L> struct make_function_traits;
template <class R, class... A> struct make_function_traits<R, typelist::typelist<A...>> { using type = function_traits<R(A...)>; };
template <class R, class L> using make_function_traits_t = typename make_function_traits<R, L>::type;

template <size_t Start, class S> struct make_offset_index_sequence_impl;
template <size_t Start, size_t... I> struct make_offset_index_sequence_impl<Start, std::index_sequence<I...>> {
  using type = std::index_sequence<(Start + I)...>;
};
template <size_t Start, size_t N> using make_offset_index_sequence = typename make_offset_index_sequence_impl<Start, std::make_index_sequence<N>>::type;

// Some elements of a tuple, in the order of the indices.
template <class Tuple, size_t... I> constexpr auto tuple_elements(Tuple t, std::index_sequence<I...>) {
  return std::tuple<std::tuple_element_t<I, Tuple>...>(std::get<I>(t)...);
}
template <class Tuple, size_t N> constexpr auto tuple_take_front(Tuple t) { return tuple_elements(t, std::make_index_sequence<N>()); }
// The first N elements, or the last -N.
template <class Tuple, int N> constexpr auto tuple_take(Tuple t) {
  constexpr size_t size = std::tuple_size<Tuple>::value;
  if constexpr (N >= 0) {
    static_assert(static_cast<size_t>(N) <= size, "tuple_take: more than the tuple has");
    return tuple_elements(t, std::make_index_sequence<static_cast<size_t>(N)>());
  } else {
    static_assert(static_cast<size_t>(-N) <= size, "tuple_take: more than the tuple has");
    return tuple_elements(t, make_offset_index_sequence<size - static_cast<size_t>(-N), static_cast<size_t>(-N)>());
  }
}
template <class Tuple, size_t Start, size_t N> constexpr auto tuple_slice(Tuple t) { return tuple_elements(t, make_offset_index_sequence<Start, N>()); }
template <class F, class... A> auto tuple_map(std::tuple<A...>&& t, const F& f) {
  return std::apply([&](A&&... a) { return std::tuple<decltype(f(std::forward<A>(a)))...>(f(std::forward<A>(a))...); }, std::move(t));
}

namespace detail {
template <size_t Skip, template <class> class C, class Head, class... Tail> decltype(auto) nth_that_fits(Head&& head, Tail&&... tail) {
  if constexpr (!C<Head>::value) return nth_that_fits<Skip, C, Tail...>(std::forward<Tail>(tail)...);
  else if constexpr (Skip > 0) return nth_that_fits<Skip - 1, C, Tail...>(std::forward<Tail>(tail)...);
  else return std::forward<Head>(head);
}
template <class Result, template <class> class C, class F, size_t... I, class... A>
std::array<Result, sizeof...(I)> mapped(const F& f, std::index_sequence<I...>, A&&... args);
}  // namespace detail

// Argument number `index` of those whose type fits the condition, as it was passed.
template <template <class> class C, size_t index, class... A> decltype(auto) extract_arg_by_filtered_index(A&&... args) {
  return detail::nth_that_fits<index, C, A...>(std::forward<A>(args)...);
}

namespace detail {
template <class Result, template <class> class C, class F, size_t... I, class... A>
std::array<Result, sizeof...(I)> mapped(const F& f, std::index_sequence<I...>, A&&... args) {
  return {{f(extract_arg_by_filtered_index<C, I>(std::forward<A>(args)...))...}};
}
}  // namespace detail

// The results of `f` on the arguments whose types fit.
template <class Result, template <class> class C, class F, class... A> decltype(auto) filter_map(const F& f, A&&... args) {
  constexpr size_t n = typelist::count_if<C, typelist::typelist<A...>>::value;
  return detail::mapped<Result, C>(f, std::make_index_sequence<n>(), std::forward<A>(args)...);
}

template <class T> std::string to_string(T value) { return std::to_string(value); }
template <class F, class Tuple> constexpr decltype(auto) apply(F&& f, Tuple&& t) { return std::apply(std::forward<F>(f), std::forward<Tuple>(t)); }
template <class F, class... A> constexpr decltype(auto) invoke(F&& f, A&&... args) { return std::invoke(std::forward<F>(f), std::forward<A>(args)...); }
template <class... T> using conjunction = std::conjunction<T...>;
template <class... T> using disjunction = std::disjunction<T...>;
template <class T> using negation = std::negation<T>;
template <bool B> using bool_constant = std::bool_constant<B>;
template <class... T> using void_t = std::void_t<T...>;

}  // namespace cresset::guts
