#pragma once
// Questions about modules that templates over them ask at compile time.

#include "cresset/nn/module/module.h"
#include "torch/csrc/utils/variadic.h"

namespace torch {

namespace nn {
using cresset::nn::Module;
}

namespace detail {

template <class T> using is_module = std::is_base_of<cresset::nn::Module, std::decay_t<T>>;
template <class M, class T = void> using enable_if_module_t = std::enable_if_t<is_module<M>::value, T>;
template <class M, class T = void> using disable_if_module_t = std::enable_if_t<!is_module<M>::value, T>;

// Whether there is one forward, which is neither overloaded nor a template.
template <class M, class = void> struct has_forward : std::false_type {};
template <class M> struct has_forward<M, std::void_t<decltype(&M::forward)>> : std::true_type {};

// void: forward cannot be called with these arguments.
template <class M, class Arguments, class = void> struct forward_result { using type = void; };
template <class M, class... Args> struct forward_result<M, void(Args...), std::void_t<decltype(std::declval<M&>().forward(std::declval<Args>()...))>> {
  using type = decltype(std::declval<M&>().forward(std::declval<Args>()...));
};
template <class M, class... Args> struct return_type_of_forward : forward_result<M, void(Args...)> {};
template <class M, class... Args> using return_type_of_forward_t = typename return_type_of_forward<M, Args...>::type;

template <class... Types> constexpr bool check_not_lvalue_references() { return (!std::is_lvalue_reference<Types>::value && ...); }

}  // namespace detail
}  // namespace torch
