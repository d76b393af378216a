#pragma once
// The numbers that .pt2 files use for dtypes, layouts and memory formats, their symbolic expressions, and the facts of tensors. Private to the room.

#include "cresset/graph/io/json.h"
#include "cresset/graph/ir/type.h"

namespace cresset::graph {

ScalarType read_dtype(const Field& field);
Layout read_layout(const Field& field);
MemoryFormat read_memory_format(const Field& field);
Device read_device(const Field& field);
// A size: {"as_int": 3} or {"as_expr": {...}}; an expression with functions that sizes do not have is unknown.
Sym read_sym(const Field& field);
TensorFacts read_facts(const Field& field);
// "Mul(Integer(2), Symbol('s0', positive=True))".
Sym read_expression(std::string_view text);

}  // namespace cresset::graph
