#include "cresset/graph/symbolic/ranges.h"

#include <algorithm>
#include <numeric>

namespace cresset::graph {

namespace {

bool infinite(int64_t v) { return v == kInfinity || v == -kInfinity; }
int64_t clamped(__int128 v) { return v >= kInfinity ? kInfinity : v <= -kInfinity ? -kInfinity : static_cast<int64_t>(v); }

int64_t plus(int64_t a, int64_t b) { return infinite(a) ? a : infinite(b) ? b : clamped(static_cast<__int128>(a) + b); }
int64_t times(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (infinite(a) || infinite(b)) return (a < 0) == (b < 0) ? kInfinity : -kInfinity;
  return clamped(static_cast<__int128>(a) * b);
}
Range times(const Range& a, const Range& b) {
  const int64_t ends[] = {times(a.lower, b.lower), times(a.lower, b.upper), times(a.upper, b.lower), times(a.upper, b.upper)};
  return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
}
int64_t floor_quotient(int64_t a, int64_t b) {
  if (infinite(a)) return a;
  if (infinite(b)) return a < 0 ? -1 : 0;
  return a / b - (a % b != 0 && a < 0);
}

// Of a divisor above 0 only; nothing is known for others.
Range quotient(const Range& a, const Range& b) {
  if (b.lower <= 0) return {};
  const int64_t ends[] = {floor_quotient(a.lower, b.lower), floor_quotient(a.lower, b.upper), floor_quotient(a.upper, b.lower),
                          floor_quotient(a.upper, b.upper)};
  return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
}
Range remainder(const Range& a, const Range& b) {
  if (b.lower <= 0) return {};
  Range out{0, infinite(b.upper) ? kInfinity : b.upper - 1};
  if (a.lower >= 0) out.upper = std::min(out.upper, a.upper);
  if (a.lower >= 0 && a.upper < b.lower) out.lower = a.lower;
  return out;
}

Range of_factor(const Sym::Factor& f, const Ranges& ranges) {
  auto argument = [&](size_t i) { return bounds(f.arguments[i], ranges); };
  switch (f.function) {
    case Sym::Function::Symbol: {
      const auto found = ranges.find(f.name);
      return found == ranges.end() ? Range() : found->second;
    }
    case Sym::Function::FloorDiv: return quotient(argument(0), argument(1));
    case Sym::Function::Mod: return remainder(argument(0), argument(1));
    case Sym::Function::Max: {
      const Range a = argument(0), b = argument(1);
      return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
    }
    case Sym::Function::Min: {
      const Range a = argument(0), b = argument(1);
      return {std::min(a.lower, b.lower), std::min(a.upper, b.upper)};
    }
    default: {
      const Expr* e = expression_of(*f.other);
      return e && e->op() == Op::Abs ? Range{0, kInfinity} : Range();
    }
  }
}

Range of_term(const Sym::Term& term, const Ranges& ranges) {
  Range product{term.coefficient, term.coefficient};
  for (const Sym::Factor& f : term.factors) {
    const Range one = of_factor(f, ranges);
    if (f.power % 2 == 0) {
      // A square is no product of independent ends.
      const int64_t low = std::abs(one.lower), high = std::abs(one.upper);
      const bool spans = one.lower <= 0 && one.upper >= 0;
      const Range magnitude{spans ? 0 : std::min(low, high), std::max(low, high)};
      for (int i = 0; i < f.power; i++) product = times(product, magnitude);
    } else {
      for (int i = 0; i < f.power; i++) product = times(product, one);
    }
  }
  return product;
}

std::optional<bool> decided_zero(const Sym& difference, const Range& r) {
  if (r.lower > 0 || r.upper < 0) return false;
  if (r.lower == 0 && r.upper == 0) return true;
  int64_t divisor = 0, constant = 0;
  for (const Sym::Term& t : difference.terms()) {
    if (t.factors.empty()) constant = t.coefficient;
    else divisor = std::gcd(divisor, t.coefficient);
  }
  if (divisor > 1 && constant % divisor != 0) return false;
  return std::nullopt;
}

std::optional<bool> opposite(std::optional<bool> b) { return b ? std::optional<bool>(!*b) : b; }

}  // namespace

Range bounds(const Sym& s, const Ranges& ranges) {
  if (!s.is_known()) return {};
  Range sum{0, 0};
  for (const Sym::Term& t : s.terms()) {
    const Range r = of_term(t, ranges);
    sum = {plus(sum.lower, r.lower), plus(sum.upper, r.upper)};
  }
  return sum;
}

std::optional<bool> decided(const Expr& e, const Ranges& ranges) {
  if (const auto known = e.constant()) return to_double(*known) != 0;
  const Op op = e.op();
  if (op == Op::Not) return opposite(decided(e.arguments()[0], ranges));
  if (op == Op::And || op == Op::Or) {
    bool all = true;
    for (const Expr& part : e.arguments()) {
      const auto known = decided(part, ranges);
      if (known && *known == (op == Op::Or)) return known;
      all = all && known;
    }
    return all ? std::optional<bool>(op == Op::And) : std::nullopt;
  }
  if (op < Op::Eq || op > Op::Ge) return std::nullopt;
  const Expr &a = e.arguments()[0], &b = e.arguments()[1];
  if (a.kind() != Kind::Int || b.kind() != Kind::Int) return std::nullopt;
  const Sym d = a.integer() - b.integer();
  const Range r = bounds(d, ranges);
  auto below = [&](int64_t limit) -> std::optional<bool> {  // d <= limit
    if (r.upper <= limit && r.upper != kInfinity) return true;
    if (r.lower > limit) return false;
    return std::nullopt;
  };
  switch (op) {
    case Op::Eq: return decided_zero(d, r);
    case Op::Ne: return opposite(decided_zero(d, r));
    case Op::Lt: return below(-1);
    case Op::Le: return below(0);
    case Op::Gt: return opposite(below(0));
    default: return opposite(below(-1));
  }
}

}  // namespace cresset::graph
