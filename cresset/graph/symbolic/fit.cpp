#include "cresset/graph/symbolic/fit.h"

#include <algorithm>
#include <numeric>

namespace cresset::graph {

namespace {

constexpr int64_t kMaxDivisor = 64, kMaxFactor = 64, kMaxPairs = 12;

class Fitting {
 public:
  Fitting(const Observed& observed, const std::vector<Candidate>& candidates) : observed_(observed), candidates_(candidates) {
    for (size_t p = 0; p < observed.size(); p++)
      if (observed[p]) points_.push_back(p);
  }

  std::optional<Sym> whole() const {
    if (points_.size() < 3) return std::nullopt;
    for (const auto form : {&Fitting::constant, &Fitting::affine, &Fitting::sums, &Fitting::products, &Fitting::quotients, &Fitting::extremes})
      if (auto found = (this->*form)()) return found;
    return std::nullopt;
  }

 private:
  using Get = std::function<std::optional<int64_t>(size_t)>;

  std::optional<Sym> constant() const {
    for (const size_t p : points_)
      if (*observed_[p] != *observed_[points_[0]]) return std::nullopt;
    return Sym(*observed_[points_[0]]);
  }

  // value = factor * base + rest at all points.
  std::optional<std::pair<int64_t, int64_t>> line(const Get& base, const Get& value) const {
    const auto x0 = base(points_[0]), y0 = value(points_[0]);
    if (!x0 || !y0) return std::nullopt;
    std::optional<int64_t> factor;
    for (const size_t p : points_) {
      const auto x = base(p), y = value(p);
      if (!x || !y) return std::nullopt;
      if (*x == *x0) {
        if (*y != *y0) return std::nullopt;
        continue;
      }
      if ((*y - *y0) % (*x - *x0) != 0) return std::nullopt;
      const int64_t k = (*y - *y0) / (*x - *x0);
      if (factor && *factor != k) return std::nullopt;
      factor = k;
    }
    if (!factor || *factor == 0) return std::nullopt;
    return std::pair(*factor, *y0 - *factor * *x0);
  }
  Get of(const Candidate& c) const {
    return [&c](size_t p) { return c.values[p]; };
  }
  Get observed() const {
    return [this](size_t p) { return observed_[p]; };
  }

  std::optional<Sym> affine() const {
    std::optional<Sym> best;
    int64_t best_rest = 0;
    for (const Candidate& c : candidates_)
      if (const auto l = line(of(c), observed()); l && (!best || std::abs(l->second) < best_rest)) {
        best = Sym(l->first) * c.expr + l->second;
        best_rest = std::abs(l->second);
      }
    return best;
  }

  // Two of them, with a factor each.
  std::optional<Sym> sums() const {
    for (const Candidate& a : candidates_)
      for (const int64_t factor : {1, -1, 2, -2}) {
        auto rest = [&](size_t p) -> std::optional<int64_t> {
          if (!a.values[p]) return std::nullopt;
          return *observed_[p] - factor * *a.values[p];
        };
        for (const Candidate& b : candidates_)
          if (const auto l = line(of(b), rest); l && std::abs(l->first) <= kMaxFactor) return Sym(factor) * a.expr + Sym(l->first) * b.expr + l->second;
      }
    return std::nullopt;
  }

  // One of them times what another gives.
  std::optional<Sym> products() const {
    for (const Candidate& a : candidates_) {
      auto rest = [&](size_t p) -> std::optional<int64_t> {
        if (!a.values[p] || *a.values[p] == 0 || *observed_[p] % *a.values[p] != 0) return std::nullopt;
        return *observed_[p] / *a.values[p];
      };
      for (const Candidate& b : candidates_)
        if (const auto l = line(of(b), rest)) return a.expr * (Sym(l->first) * b.expr + l->second);
    }
    return std::nullopt;
  }

  // (factor * x + rest) // divisor: each point bounds the rest from both sides.
  std::optional<Sym> quotients() const {
    for (const Candidate& c : candidates_)
      for (int64_t divisor = 2; divisor <= kMaxDivisor; divisor++)
        for (const int64_t factor : {1, 2, 3, 5, 7, -1})
          if (std::gcd(factor, divisor) == 1)
            if (auto found = quotient(c, factor, divisor)) return found;
    // Of a size less multiples of another, as of a kernel.
    for (const Candidate& a : candidates_)
      for (const Candidate& b : candidates_)
        for (const int64_t times : {-1, -2, -3, 1}) {
          if (a.expr == b.expr || &a - candidates_.data() > kMaxPairs || &b - candidates_.data() > kMaxPairs) continue;
          Candidate both{a.expr + Sym(times) * b.expr, a.values};
          for (size_t p = 0; p < both.values.size(); p++)
            both.values[p] = a.values[p] && b.values[p] ? std::optional<int64_t>(*a.values[p] + times * *b.values[p]) : std::nullopt;
          for (const int64_t divisor : {2, 3, 4, 5})
            if (auto found = quotient(both, 1, divisor)) return found;
        }
    // A quotient of two sizes.
    for (const Candidate& a : candidates_)
      for (const Candidate& b : candidates_) {
        bool fits = true, varies = false;
        for (const size_t p : points_) {
          fits = fits && a.values[p] && b.values[p] && *b.values[p] > 0 && *a.values[p] >= 0 && *observed_[p] == *a.values[p] / *b.values[p];
          varies = varies || (fits && *b.values[p] != *b.values[points_[0]]);
        }
        if (fits && varies) return Sym::floordiv(a.expr, b.expr);
      }
    return std::nullopt;
  }
  std::optional<Sym> quotient(const Candidate& c, int64_t factor, int64_t divisor) const {
    int64_t low = INT64_MIN, high = INT64_MAX;
    for (const size_t p : points_) {
      if (!c.values[p]) return std::nullopt;
      const __int128 exact = static_cast<__int128>(*observed_[p]) * divisor - static_cast<__int128>(factor) * *c.values[p];
      if (exact > (int64_t{1} << 40) || exact < -(int64_t{1} << 40)) return std::nullopt;
      low = std::max(low, static_cast<int64_t>(exact));
      high = std::min(high, static_cast<int64_t>(exact) + divisor - 1);
      if (low > high) return std::nullopt;
    }
    const int64_t rest = low <= 0 && high >= 0 ? 0 : std::abs(low) < std::abs(high) ? low : high;
    return Sym::floordiv(Sym(factor) * c.expr + rest, divisor);
  }

  std::optional<Sym> extremes() const {
    for (const bool largest : {true, false})
      for (const Candidate& c : candidates_) {
        // A constant, or a size and a constant, against this size with a shift.
        for (size_t i = 0; i < points_.size(); i++) {
          if (!c.values[points_[i]]) continue;
          const int64_t shift = *observed_[points_[i]] - *c.values[points_[i]];
          std::optional<int64_t> limit;
          bool fits = true;
          for (const size_t p : points_) {
            if (!c.values[p]) {
              fits = false;
              break;
            }
            const int64_t here = *c.values[p] + shift, seen = *observed_[p];
            if (here == seen) continue;
            fits = fits && (largest ? here < seen : here > seen) && (!limit || *limit == seen);
            limit = seen;
          }
          if (!fits || !limit) continue;
          for (const size_t p : points_)
            fits = fits && (largest ? std::max(*c.values[p] + shift, *limit) : std::min(*c.values[p] + shift, *limit)) == *observed_[p];
          if (fits) return largest ? Sym::max(c.expr + shift, *limit) : Sym::min(c.expr + shift, *limit);
        }
        for (const Candidate& d : candidates_) {
          bool fits = true;
          for (const size_t p : points_)
            fits =
                fits && c.values[p] && d.values[p] && *observed_[p] == (largest ? std::max(*c.values[p], *d.values[p]) : std::min(*c.values[p], *d.values[p]));
          if (fits) return largest ? Sym::max(c.expr, d.expr) : Sym::min(c.expr, d.expr);
        }
      }
    return std::nullopt;
  }

  const Observed& observed_;
  const std::vector<Candidate>& candidates_;
  std::vector<size_t> points_;
};

}  // namespace

std::optional<Sym> fit(const Observed& observed, const std::vector<Candidate>& candidates) { return Fitting(observed, candidates).whole(); }

}  // namespace cresset::graph
