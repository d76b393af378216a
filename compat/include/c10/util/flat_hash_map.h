#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace ska {
template <class T> struct power_of_two_std_hash : std::hash<T> {};
template <class K, class V, class Hash = std::hash<K>, class Equal = std::equal_to<K>, class A = std::allocator<std::pair<const K, V>>> using flat_hash_map =
    std::unordered_map<K, V, Hash, Equal, A>;
template <class T, class Hash = std::hash<T>, class Equal = std::equal_to<T>, class A = std::allocator<T>> using flat_hash_set =
    std::unordered_set<T, Hash, Equal, A>;
}  // namespace ska
