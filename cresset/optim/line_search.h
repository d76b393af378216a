#pragma once
// A step length that meets the strong Wolfe conditions (Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6). For this room and the
// Python extension.

#include "cresset/base/function_ref.h"
#include "cresset/tensor.h"

namespace cresset::optim::detail {

// A number as Python's optimizer has it: a tensor of single precision where it comes from one, else a double. An operation on both is one
// of single precision.
struct StepNumber {
  StepNumber(double v = 0, bool is_single = false) : value(is_single ? static_cast<float>(v) : v), single(is_single) {}
  double value;
  bool single;
};
#define CRESSET_STEP_OPERATOR(op)                                              \
  inline StepNumber operator op(StepNumber a, StepNumber b) {                  \
    if (!a.single && !b.single) return a.value op b.value;                     \
    return {static_cast<float>(a.value) op static_cast<float>(b.value), true}; \
  }
CRESSET_STEP_OPERATOR(+)
CRESSET_STEP_OPERATOR(-)
CRESSET_STEP_OPERATOR(*)
CRESSET_STEP_OPERATOR(/)
#undef CRESSET_STEP_OPERATOR
#define CRESSET_STEP_COMPARISON(op)                                    \
  inline bool operator op(StepNumber a, StepNumber b) {                \
    if (!a.single && !b.single) return a.value op b.value;             \
    return static_cast<float>(a.value) op static_cast<float>(b.value); \
  }
CRESSET_STEP_COMPARISON(<)
CRESSET_STEP_COMPARISON(>)
CRESSET_STEP_COMPARISON(<=)
CRESSET_STEP_COMPARISON(>=)
#undef CRESSET_STEP_COMPARISON
inline StepNumber operator-(StepNumber a) { return {-a.value, a.single}; }

// One point on the line: step length, loss, gradient, and the gradient's component along the direction.
struct LinePoint {
  StepNumber t, f;
  Tensor g;
  StepNumber gtd;
};

struct LineSearchResult {
  LinePoint best;
  int64_t evaluations = 0;
};

// `evaluate` returns the point at a step length. `start` is the point at 0 and must descend. It is evaluated once, and once more for each of
// `most_iterations`, of which there are 25 at most.
CRESSET_API LineSearchResult strong_wolfe(FunctionRef<LinePoint(StepNumber)> evaluate, const LinePoint& start, StepNumber first_step, StepNumber direction_max,
                                          double tolerance_change, int64_t most_iterations);

}  // namespace cresset::optim::detail
