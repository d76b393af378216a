#include "cresset/optim/line_search.h"

#include <algorithm>
#include <cmath>

namespace cresset::optim::detail {

namespace {

constexpr double kSufficientDecrease = 1e-4, kCurvature = 0.9;
constexpr int64_t kMaxIterations = 25;

StepNumber root(StepNumber x) { return {x.kind == StepNumber::Single ? std::sqrt(static_cast<float>(x.value)) : std::sqrt(x.value), x.kind}; }
StepNumber magnitude(StepNumber x) { return {std::abs(x.value), x.kind}; }
StepNumber smaller(StepNumber a, StepNumber b) { return b < a ? b : a; }
StepNumber larger(StepNumber a, StepNumber b) { return b > a ? b : a; }

// The minimum within [low, high] of the cubic through two points with slopes.
StepNumber cubic_minimum(const LinePoint& first, const LinePoint& second, StepNumber low, StepNumber high) {
  const bool swapped = first.t > second.t;
  const LinePoint &a = swapped ? second : first, &b = swapped ? first : second;
  const StepNumber d1 = a.gtd + b.gtd - StepNumber(3) * (a.f - b.f) / (a.t - b.t);
  const StepNumber discriminant = d1 * d1 - a.gtd * b.gtd;
  if (!(discriminant >= 0)) return (low + high) / 2;
  const StepNumber d2 = root(discriminant);
  return smaller(larger(b.t - (b.t - a.t) * ((b.gtd + d2 - d1) / (b.gtd - a.gtd + StepNumber(2) * d2)), low), high);
}

class StrongWolfe {
 public:
  StrongWolfe(FunctionRef<LinePoint(StepNumber)> evaluate, const LinePoint& start, int64_t most_iterations)
      : evaluate_(evaluate), start_(start), most_iterations_(std::min(most_iterations, kMaxIterations)) {}

  LineSearchResult run(StepNumber first_step, StepNumber direction_max, double tolerance_change) {
    const bool found = bracket(first_step);
    low_ = &bracket_[0];
    high_ = &bracket_[1];
    if (found) return {*low_, evaluations_};
    if (bracket_[0].f > bracket_[1].f) std::swap(low_, high_);
    zoom(direction_max, tolerance_change);
    return {*low_, evaluations_};
  }

 private:
  LinePoint evaluate(StepNumber t) {
    evaluations_++;
    return evaluate_(t);
  }
  bool decreases(const LinePoint& p) const { return p.f <= start_.f + StepNumber(kSufficientDecrease) * p.t * start_.gtd; }
  bool is_flat(const LinePoint& p) const { return magnitude(p.gtd) <= StepNumber(-kCurvature) * start_.gtd; }

  // Goes out until an acceptable point lies between two; true if it met one on the way (then bracket_[0]).
  bool bracket(StepNumber t) {
    LinePoint previous = start_, current = evaluate(t);
    for (; iterations_ < most_iterations_; iterations_++) {
      if (!decreases(current) || (iterations_ > 1 && current.f >= previous.f)) return between(previous, current);
      if (is_flat(current)) {
        bracket_[0] = current;
        return true;
      }
      if (current.gtd >= 0) return between(previous, current);
      const StepNumber next = cubic_minimum(previous, current, current.t + StepNumber(0.01) * (current.t - previous.t), current.t * 10);
      previous = current;
      current = evaluate(next);
    }
    return between(start_, current);
  }

  bool between(const LinePoint& a, const LinePoint& b) {
    bracket_[0] = a;
    bracket_[1] = b;
    return false;
  }

  void zoom(StepNumber direction_max, double tolerance_change) {
    bool slow = false;
    for (; iterations_ < most_iterations_; iterations_++) {
      const StepNumber least = smaller(bracket_[0].t, bracket_[1].t), most = larger(bracket_[0].t, bracket_[1].t);
      if ((most - least) * direction_max < tolerance_change) return;
      StepNumber t = cubic_minimum(bracket_[0], bracket_[1], least, most);
      // Twice in a row close to an end means little progress: then step away from it.
      const StepNumber margin = StepNumber(0.1) * (most - least);
      if (smaller(most - t, t - least) < margin) {
        if (slow || t >= most || t <= least) {
          t = magnitude(t - most) < magnitude(t - least) ? most - margin : least + margin;
          slow = false;
        } else {
          slow = true;
        }
      } else {
        slow = false;
      }
      LinePoint p = evaluate(t);
      if (!decreases(p) || p.f >= low_->f) {
        *high_ = p;
        low_ = bracket_[0].f <= bracket_[1].f ? &bracket_[0] : &bracket_[1];
        high_ = low_ == &bracket_[0] ? &bracket_[1] : &bracket_[0];
        continue;
      }
      const bool done = is_flat(p);
      if (!done && p.gtd * (high_->t - low_->t) >= 0) *high_ = *low_;
      *low_ = p;
      if (done) return;
    }
  }

  FunctionRef<LinePoint(StepNumber)> evaluate_;
  const LinePoint& start_;
  LinePoint bracket_[2];
  LinePoint *low_ = nullptr, *high_ = nullptr;
  int64_t evaluations_ = 0;
  int64_t most_iterations_, iterations_ = 0;
};

}  // namespace

LineSearchResult strong_wolfe(FunctionRef<LinePoint(StepNumber)> evaluate, const LinePoint& start, StepNumber first_step, StepNumber direction_max,
                              double tolerance_change, int64_t most_iterations) {
  return StrongWolfe(evaluate, start, most_iterations).run(first_step, direction_max, tolerance_change);
}

}  // namespace cresset::optim::detail
