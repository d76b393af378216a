#pragma once
// Lists of types and what can be computed of them at compile time.

#include <array>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cresset::guts {

template <class T> struct false_t : std::false_type {};
template <template <class> class T> struct false_higher_t : std::false_type {};

// ---- traits

template <class T, class = void> struct is_equality_comparable : std::false_type {};
template <class T> struct is_equality_comparable<T, std::void_t<decltype(std::declval<T&>() == std::declval<T&>())>> : std::true_type {};
template <class T> using is_equality_comparable_t = typename is_equality_comparable<T>::type;

template <class T, class = void> struct is_hashable : std::false_type {};
template <class T> struct is_hashable<T, std::void_t<decltype(std::hash<T>()(std::declval<T&>()))>> : std::true_type {};
template <class T> using is_hashable_t = typename is_hashable<T>::type;

template <class T> struct is_function_type : std::is_function<T> {};
template <class T> using is_function_type_t = typename is_function_type<T>::type;

template <template <class...> class Template, class T> struct is_instantiation_of : std::false_type {};
template <template <class...> class Template, class... Args> struct is_instantiation_of<Template, Template<Args...>> : std::true_type {};
template <template <class...> class Template, class T> using is_instantiation_of_t = typename is_instantiation_of<Template, T>::type;

// A template of one type that has a boolean `value`.
template <template <class> class C, class = void> struct is_type_condition : std::false_type {};
template <template <class> class C> struct is_type_condition<C, std::enable_if_t<std::is_same<bool, std::remove_cv_t<decltype(C<int>::value)>>::value>>
    : std::true_type {};

template <class T> struct is_fundamental : std::is_fundamental<T> {};

namespace detail {
template <class T> struct StripClass {};
template <class C, class R, class... A> struct StripClass<R (C::*)(A...)> { using type = R(A...); };
template <class C, class R, class... A> struct StripClass<R (C::*)(A...) const> { using type = R(A...); };
template <class T, class = void> struct IsStatelessLambda : std::false_type {};
template <class T> struct IsStatelessLambda<T, std::enable_if_t<std::is_convertible<T, typename StripClass<decltype(&T::operator())>::type*>::value>>
    : std::true_type {};
}  // namespace detail
// A functor that is convertible to a function pointer: only a lambda without captures is.
template <class T> using is_stateless_lambda = detail::IsStatelessLambda<std::decay_t<T>>;

namespace typelist {

template <class... T> struct typelist final { typelist() = delete; };

template <class L> struct size;
template <class... T> struct size<typelist<T...>> { static constexpr size_t value = sizeof...(T); };

template <class Tuple> struct from_tuple;
template <class... T> struct from_tuple<std::tuple<T...>> { using type = typelist<T...>; };
template <class Tuple> using from_tuple_t = typename from_tuple<Tuple>::type;
template <class L> struct to_tuple;
template <class... T> struct to_tuple<typelist<T...>> { using type = std::tuple<T...>; };
template <class L> using to_tuple_t = typename to_tuple<L>::type;

template <class... L> struct concat { using type = typelist<>; };
template <class... A> struct concat<typelist<A...>> { using type = typelist<A...>; };
template <class... A, class... B, class... L> struct concat<typelist<A...>, typelist<B...>, L...> : concat<typelist<A..., B...>, L...> {};
template <class... L> using concat_t = typename concat<L...>::type;

template <template <class> class C, class L> struct filter;
template <template <class> class C, class... T> struct filter<C, typelist<T...>> {
  using type = concat_t<std::conditional_t<C<T>::value, typelist<T>, typelist<>>...>;
};
template <template <class> class C, class L> using filter_t = typename filter<C, L>::type;

template <template <class> class C, class L> struct count_if;
template <template <class> class C, class... T> struct count_if<C, typelist<T...>> {
  static constexpr size_t value = (size_t{0} + ... + (C<T>::value ? 1 : 0));
};

template <class L, class T> struct contains : std::false_type {};
template <class... E, class T> struct contains<typelist<E...>, T> : std::bool_constant<(std::is_same<E, T>::value || ...)> {};

template <template <class> class C, class L> struct all;
template <template <class> class C, class... T> struct all<C, typelist<T...>> : std::bool_constant<(C<T>::value && ...)> {};
template <template <class> class C, class L> struct true_for_any_type;
template <template <class> class C, class... T> struct true_for_any_type<C, typelist<T...>> : std::bool_constant<(C<T>::value || ...)> {};

template <template <class> class M, class L> struct map;
template <template <class> class M, class... T> struct map<M, typelist<T...>> { using type = typelist<M<T>...>; };
template <template <class> class M, class L> using map_t = typename map<M, L>::type;

template <class L> struct head;
template <class T, class... Rest> struct head<typelist<T, Rest...>> { using type = T; };
template <class L> using head_t = typename head<L>::type;
template <class Default, class L> struct head_with_default { using type = Default; };
template <class Default, class T, class... Rest> struct head_with_default<Default, typelist<T, Rest...>> { using type = T; };
template <class Default, class L> using head_with_default_t = typename head_with_default<Default, L>::type;

template <size_t I, class L> struct element;
template <size_t I, class... T> struct element<I, typelist<T...>> { using type = std::tuple_element_t<I, std::tuple<T...>>; };
template <size_t I, class L> using element_t = typename element<I, L>::type;
template <class L> struct last;
template <class... T> struct last<typelist<T...>> { using type = std::tuple_element_t<sizeof...(T) - 1, std::tuple<T...>>; };
template <class L> using last_t = typename last<L>::type;

template <class L> struct reverse { using type = typelist<>; };
template <class T, class... Rest> struct reverse<typelist<T, Rest...>> { using type = concat_t<typename reverse<typelist<Rest...>>::type, typelist<T>>; };
template <class L> using reverse_t = typename reverse<L>::type;

// The place of the first type that fits.
template <class L, template <class> class C> struct find_if;
template <class T, class... Rest, template <class> class C> struct find_if<typelist<T, Rest...>, C> {
  static constexpr size_t value = [] {
    if constexpr (C<T>::value) return size_t{0};
    else return 1 + find_if<typelist<Rest...>, C>::value;
  }();
};

template <class T> struct type_ { using type = T; };
namespace detail {
template <class... T, class F> std::tuple<decltype(std::declval<F>()(type_<T>()))...> values_of(typelist<T...>*, F&& f) {
  return std::tuple<decltype(std::declval<F>()(type_<T>()))...>(std::forward<F>(f)(type_<T>())...);
}
template <class L, size_t Offset, class I> struct part;
template <class L, size_t Offset, size_t... I> struct part<L, Offset, std::index_sequence<I...>> { using type = typelist<element_t<Offset + I, L>...>; };
}  // namespace detail
// A tuple of f(type_<T>()) for each type.
template <class L, class F> decltype(auto) map_types_to_values(F&& f) { return detail::values_of(static_cast<L*>(nullptr), std::forward<F>(f)); }

template <class L, size_t n> struct take : detail::part<L, 0, std::make_index_sequence<n>> {};
template <class L, size_t n> using take_t = typename take<L, n>::type;
template <class L, size_t n> struct drop : detail::part<L, n, std::make_index_sequence<size<L>::value - n>> {};
template <class L, size_t n> using drop_t = typename drop<L, n>::type;
template <class L, size_t n> struct drop_if_nonempty : drop<L, (n < size<L>::value ? n : size<L>::value)> {};
template <class L, size_t n> using drop_if_nonempty_t = typename drop_if_nonempty<L, n>::type;

}  // namespace typelist
}  // namespace cresset::guts
