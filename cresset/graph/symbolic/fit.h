#pragma once
// From values at several points to an expression.

#include <functional>

#include "cresset/graph/symbolic/expr.h"

namespace cresset::graph {

using Observed = std::vector<std::optional<int64_t>>;  // by point; none where the operator failed

struct Candidate {
  Sym expr;
  Observed values;
};

// An expression over the candidates that has the observed values at every point; none where none was found.
CRESSET_API std::optional<Sym> fit(const Observed& observed, const std::vector<Candidate>& candidates);

}  // namespace cresset::graph
