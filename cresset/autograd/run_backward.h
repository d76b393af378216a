#pragma once
// The one entry to a pass of reverse mode, for front ends: `backward` and `grad` of autograd.h are this one, between tensors or edges.

#include "cresset/autograd/edge.h"
#include "cresset/autograd/variable.h"

namespace cresset {
namespace autograd {

// A root or an input of a pass: a tensor, or an edge of the graph.
struct PassEnd {
  PassEnd(Tensor t) : tensor(std::move(t)) {}  // NOLINT: a tensor is one
  explicit PassEnd(Edge e) : edge(std::move(e)) {}
  bool is_edge() const { return edge.is_valid(); }

  Tensor tensor;
  Edge edge;
};
using PassEnds = SmallVector<PassEnd, 2>;

struct PassOptions {
  bool keep_graph = false, create_graph = false;
  // Adds to `grad` of the inputs, or of all leaves, instead of returning gradients.
  bool accumulate = false;
};

// The gradients of the sum of the roots, each weighted by its entry of `grads`, with respect to `inputs`; undefined where nothing arrives.
// Without `inputs` (null) all leaves accumulate. Entries of `grads` may be undefined for tensors of one element. `op` names the caller in errors.
// Errors: a root without history, a gradient that is missing or of another shape, an input that requires no grad; accumulating under vmap.
CRESSET_API variable_list run_backward(const char* op, const PassEnds& roots, const variable_list& grads, const PassEnds* inputs, PassOptions options);

}  // namespace autograd
}  // namespace cresset
