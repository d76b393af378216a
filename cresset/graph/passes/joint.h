#pragma once
// Programs of forward and backward in one graph, and how they are split: which values are kept between the two, and which are computed again.

#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

// A value of such a program, as the choice of kept values looks at it.
struct JointValue {
  std::vector<size_t> inputs;  // numbers of the values that it is computed from, all before it
  int64_t bytes = 0;           // what keeping it takes; 0 for what stays anyway
  bool forward = true;         // computed before the gradients of results are known
  bool needed = false;         // a result of backward, though computed in forward
  bool recompute = false;      // may be computed again in backward
  bool keep = true;            // may be kept: lists of tensors may not
};
// The forward values to keep so that backward can be computed from them, in fewest bytes; among such choices the one that computes least again.
// By maximum flow (Dinic), about O(values^1.5) on programs. Errors: a value whose inputs do not come before it.
CRESSET_API std::vector<size_t> choose_kept(const std::vector<JointValue>& values);

// Whether computing it again costs little beside reading its inputs: views, pointwise operators, copies, plain reductions.
CRESSET_API bool is_cheap(const dispatch::OpEntry& op);

struct SplitOptions {
  size_t inputs = 0;                       // the first parameters of the graph; the others are gradients of results
  size_t results = 0;                      // the first results of the graph; the others are gradients of inputs
  bool recompute = true;                   // false: every forward value that backward reads is kept
  std::function<bool(const Node&)> cheap;  // which operators may be computed again; by default those of is_cheap
};
// Two graphs: "forward" from the inputs to the results and then the kept values, "backward" from the kept values and then the gradients of results to
// those of inputs. Errors: more inputs or results than the graph has; a program that writes to memory, which functionalize takes out.
CRESSET_API Module split_joint(const Graph& joint, const SplitOptions& options);

}  // namespace cresset::graph
