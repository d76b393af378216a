#pragma once
// A step length that meets the strong Wolfe conditions (Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6). Private to the room.

#include "cresset/base/function_ref.h"
#include "cresset/tensor.h"

namespace cresset::optim::detail {

// One point on the line: step length, loss, gradient, and the gradient's component along the direction.
struct LinePoint {
  double t = 0, f = 0;
  Tensor g;
  double gtd = 0;
};

struct LineSearchResult {
  LinePoint best;
  int64_t evaluations = 0;
};

// `evaluate` returns the point at a step length. `start` is the point at 0 and must descend.
LineSearchResult strong_wolfe(FunctionRef<LinePoint(double)> evaluate, const LinePoint& start, double first_step, double direction_max,
                              double tolerance_change);

}  // namespace cresset::optim::detail
