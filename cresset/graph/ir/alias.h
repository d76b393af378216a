#pragma once
// Which values may share memory, and which nodes write to it, as the schemas of operators say.

#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

// The input that output `i` may share memory with; -1: none; -2: it may be any of them.
CRESSET_API int aliased_input(const Node& node, size_t output);
constexpr int kNoAlias = -1, kAnyAlias = -2;
// Whether the node writes to its input `i`.
CRESSET_API bool writes_input(const Node& node, size_t input);
// Whether what the node writes to is an empty tensor of its own, which it fills: nothing else sees it.
CRESSET_API bool fills_own(const Node& node);
// Whether the node, or one in its blocks, does more than compute its outputs: writes, draws random numbers, checks, calls or is foreign.
CRESSET_API bool has_side_effects(const Node& node);
// Whether equal inputs give equal outputs: no side effects and no random numbers.
CRESSET_API bool is_deterministic(const Node& node);

// The memory that the values of a graph stand for. Built once; a changed graph needs a new one.
class CRESSET_API AliasSets {
 public:
  explicit AliasSets(const Graph& graph);
  bool may_alias(const Value* a, const Value* b) const;
  // A number that values which may share memory have in common.
  size_t set_of(const Value* v) const;
  // Whether a node of the graph writes to memory that the value may share.
  bool is_written(const Value* v) const;
  // Whether the memory may be that of a parameter, a constant or a result of the graph.
  bool escapes(const Value* v) const;

 private:
  size_t number(const Value* v);
  void join(const Value* a, const Value* b);
  void visit(const Block& block);
  size_t root(size_t i) const;

  std::unordered_map<const Value*, size_t> numbers_;
  mutable std::vector<size_t> parents_;
  std::unordered_set<size_t> written_, escaping_;
};

}  // namespace cresset::graph
