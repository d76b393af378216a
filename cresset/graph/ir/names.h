#pragma once
// Names in the text of graphs. Private to the room.

#include <array>
#include <string>
#include <string_view>

#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

// A table: the parser asks for every character, several times.
inline constexpr auto kNameChars = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$")) table[static_cast<unsigned char>(c)] = true;
  return table;
}();
inline bool is_name_char(char c) { return kNameChars[static_cast<unsigned char>(c)]; }
// "ir::list", ...; empty for what is no structure.
std::string structure_name(NodeKind kind);
// "add" of "ns::add.Tensor": what outputs are called.
std::string short_name(std::string_view op);
// "float32" and the like; none where there is no such dtype.
std::optional<ScalarType> find_dtype(std::string_view name);
std::string quoted(std::string_view text);

}  // namespace cresset::graph
