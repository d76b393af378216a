#pragma once
// Names in the text of graphs. Private to the room.

#include <string>
#include <string_view>

#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

inline bool is_name_char(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$'; }
// "ir::list", ...; empty for what is no structure.
std::string structure_name(NodeKind kind);
// "add" of "ns::add.Tensor": what outputs are called.
std::string short_name(std::string_view op);
// "float32" and the like; none where there is no such dtype.
std::optional<ScalarType> find_dtype(std::string_view name);
std::string quoted(std::string_view text);

}  // namespace cresset::graph
