#pragma once
#include <memory>
#include <string>

#include "cresset/base/util/metaprogramming.h"
#include "cresset/base/util/ordered_map.h"
namespace c10::guts {
using namespace cresset::guts;
}
namespace ska_ordered {
template <class K, class V, class Hash = std::hash<K>, class Equal = std::equal_to<K>> using order_preserving_flat_hash_map =
    cresset::OrderedMap<K, V, Hash, Equal>;
}
