#pragma once
// An edge of the graph: a node and which of its inputs the gradient goes to.

#include "cresset/base/intrusive_ptr.h"
#include "cresset/base/small_vector.h"

namespace cresset {
namespace autograd {

struct Node;

struct Edge {
  Edge() noexcept = default;
  Edge(intrusive_ptr<Node> node, uint32_t nr) noexcept : function(std::move(node)), input_nr(nr) {}
  bool is_valid() const noexcept { return function.defined(); }
  friend bool operator==(const Edge& a, const Edge& b) noexcept { return a.function == b.function && a.input_nr == b.input_nr; }
  friend bool operator!=(const Edge& a, const Edge& b) noexcept { return !(a == b); }

  intrusive_ptr<Node> function;
  uint32_t input_nr = 0;
};

// Two edges, what most operators have, need no allocation of their own.
using edge_list = SmallVector<Edge, 2>;

}  // namespace autograd
}  // namespace cresset
