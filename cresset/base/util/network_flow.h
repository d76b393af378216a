#pragma once
// Minimum cuts of small graphs whose edges have capacities.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cresset/base/macros.h"

namespace cresset {

enum class MinCutStatus { SUCCESS, UNBOUNDED, OVERFLOW_INF, INVALID };

struct MinCutResult {
  MinCutStatus status = MinCutStatus::INVALID;
  int64_t max_flow = 0;
  std::vector<std::string> reachable, unreachable;  // on the source's side of the cut, and on the sink's
};

class CRESSET_API NetworkFlowGraph {
 public:
  static constexpr int64_t INF = std::numeric_limits<int64_t>::max();

  struct Edge {
    std::string source, dest;
    int64_t capacity;
  };
  MinCutStatus add_edge(const std::string& source, const std::string& dest, int64_t capacity = 1);
  // Dinic's method (Y. Dinitz, 1970). The sink's side is what reaches the sink over edges that are not saturated.
  MinCutResult minimum_cut(const std::string& source, const std::string& sink) const;

  std::vector<Edge> edges;
};

}  // namespace cresset
