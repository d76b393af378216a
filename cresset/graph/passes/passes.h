#pragma once
// Passes: functions that change a graph and leave one that verifies and computes the same. Each returns how much it changed.

#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

// Nodes whose outputs nothing uses and that do nothing else go, as do unused results of branches.
CRESSET_API size_t remove_dead_code(Graph& graph);

// A node that computes what an earlier one has computed gives way to it. Values whose memory is written, and random numbers, are left alone.
CRESSET_API size_t merge_common_subexpressions(Graph& graph);

struct FoldOptions {
  // Results of more elements stay nodes.
  int64_t max_elements = 4096;
  // Also tensors that callers get, and may write to.
  bool folds_results = true;
};
// Nodes whose inputs are all constants are computed now, branches on constants are decided. Tensors among the constants are weights: what they give is
// folded too, unless it is written.
CRESSET_API size_t fold_constants(Graph& graph, const FoldOptions& options = {});

struct UnrollOptions {
  int64_t max_trips = 8;
  size_t max_nodes = 128;  // of all bodies of a loop together
};
// Loops whose trips are a constant, and that nothing ends before, become their bodies one after the other, inner loops first.
CRESSET_API size_t unroll_loops(Graph& graph, const UnrollOptions& options = {});

struct PartialUnrollOptions {
  int64_t factor = 4;
  size_t max_nodes = 24;  // of the body
};
// Innermost loops whose trips are known only when they run, or are many, that nothing ends before, and whose bodies do not read the number of the trip:
// each trip makes `factor` of the old ones, and a second loop makes those that are left.
CRESSET_API size_t unroll_loops_in_part(Graph& graph, const PartialUnrollOptions& options = {});

// Types of all values from those of the parameters, by running the operators' rules without data. Sizes that are symbols take part as numbers that
// do not occur otherwise; a result whose sizes depend on them gets expressions in the symbols where two runs at different sizes agree on one, else
// unknown sizes. Errors: operators that do not take such inputs, with the node.
CRESSET_API size_t propagate_shapes(Graph& graph);

// Operators that write become those that give a new value, which takes the place of the old one, also where that is seen through views. Values written to
// parameters and constants of the graph are copied there at its end. Errors: a write through a view of which the pass knows no inverse, or within a
// branch or a loop to a value from outside.
CRESSET_API size_t functionalize(Graph& graph);

// Copies the nodes of a graph before `place`, its parameters replaced by `arguments`; what its results have become.
CRESSET_API std::vector<Value*> copy_nodes(const Graph& from, const std::vector<Value*>& arguments, Graph& to, Node* place);

// By the name of an operator a graph that computes the same: as many parameters as the operator has arguments, as many results.
using Decompositions = std::map<std::string, std::shared_ptr<const Graph>, std::less<>>;
CRESSET_API size_t decompose(Graph& graph, const Decompositions& table);

// Where a pattern, a graph without structure, was found: the values that stand for its parameters, and the nodes for its own.
struct Match {
  std::vector<Value*> parameters;
  std::vector<Node*> nodes;  // in the order of the pattern
  std::vector<Value*> results;
};
// Whether a node is what one of the pattern means: its values that stand for the inputs of that one; nothing where it is not.
using Alike = std::function<std::optional<std::vector<Value*>>(const Node& pattern, const Node& node)>;
// Nodes of which only the last ones are used outside; a match shares no node with an earlier one. Constants of the pattern match equal ones, and parameters
// of type Any all values. Without `alike`, nodes are the same that have the same operator.
CRESSET_API std::vector<Match> find_matches(Graph& graph, const Graph& pattern, const Alike& alike = {});
// Each match for which `accept` holds gives way to what `make` makes before `place`: its results.
size_t replace_matches(Graph& graph, std::vector<Match> matches, FunctionRef<bool(const Match&)> accept,
                       FunctionRef<std::vector<Value*>(const Match&, Node* place)> make);
// Each match for which `accept` holds gives way to a copy of the replacement, whose parameters and results are those of the pattern. Errors: other numbers
// of them.
CRESSET_API size_t rewrite(Graph& graph, const Graph& pattern, const Graph& replacement, FunctionRef<bool(const Match&)> accept);
CRESSET_API size_t rewrite(Graph& graph, const Graph& pattern, const Graph& replacement);

// Splits off what `supports` says: each of the largest groups of such nodes that can run at once becomes a graph of its own, which the first graph of the
// module calls. Groups of fewer nodes than `min_nodes` stay.
CRESSET_API Module partition(const Graph& graph, FunctionRef<bool(const Node&)> supports, size_t min_nodes = 1);

// Every pass by its name, for tools: "dead", "common", "constants", "shapes", "functional", "unroll". Errors: no such pass.
CRESSET_API size_t run_pass(Graph& graph, std::string_view name);

}  // namespace cresset::graph
