#pragma once
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "torch/detail/tensor.h"
namespace c10 {
inline size_t hash_combine(size_t a, size_t b) { return a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2)); }
template <class T> struct hash;
template <class... T> size_t get_hash(const T&... args);
namespace detail {
template <class T, class = void> struct Hasher {
  size_t operator()(const T& v) const { return std::hash<T>()(v); }
};
// A static member `hash` of the type's own.
template <class T> struct Hasher<T, std::enable_if_t<std::is_convertible<decltype(T::hash(std::declval<const T&>())), size_t>::value>> {
  size_t operator()(const T& v) const { return T::hash(v); }
};
template <class T> struct Hasher<std::vector<T>> {
  size_t operator()(const std::vector<T>& list) const {
    size_t h = 0;
    for (const T& v : list) h = hash_combine(h, hash<T>()(v));
    return h;
  }
};
template <class... T> struct Hasher<std::tuple<T...>> {
  size_t operator()(const std::tuple<T...>& t) const {
    return std::apply([](const T&... e) { return get_hash(e...); }, t);
  }
};
template <class A, class B> struct Hasher<std::pair<A, B>> {
  size_t operator()(const std::pair<A, B>& p) const { return get_hash(p.first, p.second); }
};
}  // namespace detail
template <class T> struct hash : detail::Hasher<T> {};
template <class... T> size_t get_hash(const T&... args) {
  size_t h = 0;
  ((h = hash_combine(h, hash<T>()(args))), ...);
  return h;
}
}  // namespace c10
