#pragma once
// The hash map that LibTorch keeps optimizer states in: the standard one here.

#include <unordered_map>

namespace ska {
template <class Key, class Value, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>,
          class Allocator = std::allocator<std::pair<const Key, Value>>>
using flat_hash_map = std::unordered_map<Key, Value, Hash, Equal, Allocator>;
}  // namespace ska
