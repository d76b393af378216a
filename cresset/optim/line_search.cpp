#include "cresset/optim/line_search.h"

#include <algorithm>
#include <cmath>

namespace cresset::optim::detail {

namespace {

constexpr double kSufficientDecrease = 1e-4, kCurvature = 0.9;
constexpr int kMaxIterations = 25;

// The minimum within [low, high] of the cubic through two points with slopes.
double cubic_minimum(const LinePoint& a, const LinePoint& b, double low, double high) {
  const double d1 = a.gtd + b.gtd - 3 * (a.f - b.f) / (a.t - b.t);
  const double discriminant = d1 * d1 - a.gtd * b.gtd;
  if (!(discriminant >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(discriminant);
  const double t = a.t <= b.t ? b.t - (b.t - a.t) * ((b.gtd + d2 - d1) / (b.gtd - a.gtd + 2 * d2))
                              : a.t - (a.t - b.t) * ((a.gtd + d2 - d1) / (a.gtd - b.gtd + 2 * d2));
  return std::min(std::max(t, low), high);
}

class StrongWolfe {
 public:
  StrongWolfe(FunctionRef<LinePoint(double)> evaluate, const LinePoint& start) : evaluate_(evaluate), start_(start) {}

  LineSearchResult run(double first_step, double direction_max, double tolerance_change) {
    const bool found = bracket(first_step);
    low_ = &bracket_[0];
    high_ = &bracket_[1];
    if (found) return {*low_, evaluations_};
    if (bracket_[0].f > bracket_[1].f) std::swap(low_, high_);
    zoom(direction_max, tolerance_change);
    return {*low_, evaluations_};
  }

 private:
  LinePoint evaluate(double t) {
    evaluations_++;
    return evaluate_(t);
  }
  bool decreases(const LinePoint& p) const { return p.f <= start_.f + kSufficientDecrease * p.t * start_.gtd; }
  bool is_flat(const LinePoint& p) const { return std::abs(p.gtd) <= -kCurvature * start_.gtd; }

  // Goes out until an acceptable point lies between two; true if it met one on the way (then bracket_[0]).
  bool bracket(double t) {
    LinePoint previous = start_, current = evaluate(t);
    for (; iterations_ < kMaxIterations; iterations_++) {
      if (!decreases(current) || (iterations_ > 1 && current.f >= previous.f)) return between(previous, current);
      if (is_flat(current)) {
        bracket_[0] = current;
        return true;
      }
      if (current.gtd >= 0) return between(previous, current);
      const double next = cubic_minimum(previous, current, current.t + 0.01 * (current.t - previous.t), current.t * 10);
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

  void zoom(double direction_max, double tolerance_change) {
    bool slow = false;
    for (; iterations_ < kMaxIterations; iterations_++) {
      const double least = std::min(bracket_[0].t, bracket_[1].t), most = std::max(bracket_[0].t, bracket_[1].t);
      if ((most - least) * direction_max < tolerance_change) return;
      double t = cubic_minimum(bracket_[0], bracket_[1], least, most);
      // Twice in a row close to an end means little progress: then step away from it.
      const double margin = 0.1 * (most - least);
      if (std::min(most - t, t - least) < margin) {
        if (slow || t >= most || t <= least) {
          t = std::abs(t - most) < std::abs(t - least) ? most - margin : least + margin;
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

  FunctionRef<LinePoint(double)> evaluate_;
  const LinePoint& start_;
  LinePoint bracket_[2];
  LinePoint *low_ = nullptr, *high_ = nullptr;
  int64_t evaluations_ = 0;
  int iterations_ = 0;
};

}  // namespace

LineSearchResult strong_wolfe(FunctionRef<LinePoint(double)> evaluate, const LinePoint& start, double first_step, double direction_max,
                              double tolerance_change) {
  return StrongWolfe(evaluate, start).run(first_step, direction_max, tolerance_change);
}

}  // namespace cresset::optim::detail
