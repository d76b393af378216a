#pragma once
// A step length that meets the strong Wolfe conditions (Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6). For this room and the
// Python extension.

#include <algorithm>

#include "cresset/base/function_ref.h"
#include "cresset/tensor.h"

namespace cresset::optim::detail {

// A number as Python's optimizer has it: plain, or a tensor of double or single precision. An operation on two is of the later kind.
struct StepNumber {
  enum Kind { Plain, Double, Single };
  StepNumber(double v = 0, Kind k = Plain) : value(k == Single ? static_cast<float>(v) : v), kind(k) {}
  double value;
  Kind kind;
};
#define CRESSET_STEP_OPERATOR(op)                                              \
  inline StepNumber operator op(StepNumber a, StepNumber b) {                  \
    const StepNumber::Kind kind = std::max(a.kind, b.kind);                    \
    if (kind != StepNumber::Single) return {a.value op b.value, kind};         \
    return {static_cast<float>(a.value) op static_cast<float>(b.value), kind}; \
  }
CRESSET_STEP_OPERATOR(+)
CRESSET_STEP_OPERATOR(-)
CRESSET_STEP_OPERATOR(*)
CRESSET_STEP_OPERATOR(/)
#undef CRESSET_STEP_OPERATOR
#define CRESSET_STEP_COMPARISON(op)                                                \
  inline bool operator op(StepNumber a, StepNumber b) {                            \
    if (std::max(a.kind, b.kind) != StepNumber::Single) return a.value op b.value; \
    return static_cast<float>(a.value) op static_cast<float>(b.value);             \
  }
CRESSET_STEP_COMPARISON(<)
CRESSET_STEP_COMPARISON(>)
CRESSET_STEP_COMPARISON(<=)
CRESSET_STEP_COMPARISON(>=)
#undef CRESSET_STEP_COMPARISON
inline StepNumber operator-(StepNumber a) { return {-a.value, a.kind}; }

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
