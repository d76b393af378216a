#pragma once
// Conditions that a program sets on the sizes of its arguments: those that the types and ranges of its graph state, and those that files keep as Python
// text, such as `L['x'].size()[0] % 3 == 1`. Private to the room.

#include "cresset/graph/io/pt2.h"
#include "cresset/graph/symbolic/expr.h"

namespace cresset::graph {

// A condition over symbols, each of which stands for a dimension of a flat input.
struct Condition {
  struct Size {
    std::string symbol;
    size_t input, dimension;
  };
  std::string text;
  Expr holds;
  std::vector<Size> sizes;
};

// The texts by which conditions call flat inputs, in order: "['x'][0]". `tree` is the nesting of the arguments as files have it; empty where there is
// none. Inputs below nodes of other kinds than tuples, lists and dicts have no text.
std::vector<std::string> places_of(const std::string& tree, const std::vector<std::string>& argument_names);

// Errors: ValueError for text that is no condition on sizes, with the place in it.
Condition read_condition(const std::string& text, const std::vector<std::string>& places);

// Errors: inputs of another kind, dtype or size than the graph has, or sizes that do not meet a condition; the input and the dimension are named.
void check_inputs(const std::vector<ExportedInput>& inputs, const std::vector<Datum>& given, const Graph& graph, const std::vector<Condition>& conditions);

}  // namespace cresset::graph
