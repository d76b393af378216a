// Symbols and what is known of them.

#include "cresset/graph/symbolic/shape_env.h"

#include <algorithm>
#include <numeric>

namespace cresset::graph {

namespace {

Sym rewritten(const Sym& s, const std::function<std::optional<Sym>(const Sym::Factor&)>& change) {
  if (s.constant()) return s;
  Sym sum;
  for (const Sym::Term& t : s.terms()) {
    Sym product = t.coefficient;
    for (const Sym::Factor& f : t.factors) {
      Sym one;
      if (auto by = change(f)) one = *by;
      else if (f.function == Sym::Function::Symbol) one = Sym::symbol(f.name);
      else one = Sym::function(f.other);
      for (int i = 0; i < f.power; i++) product = product * one;
    }
    sum = sum + product;
  }
  return sum;
}

// Both as one side: a >= b is 0 <= a - b.
std::optional<Sym> nonnegative_side(Op op, const Sym& a, const Sym& b) {
  switch (op) {
    case Op::Le: return b - a;
    case Op::Lt: return b - a - 1;
    case Op::Ge: return a - b;
    case Op::Gt: return a - b - 1;
    default: return std::nullopt;
  }
}

struct Lone {
  const Sym::Factor& factor;
  int64_t coefficient, constant;
};

// A sum of one factor, a number of times, and a constant.
std::optional<Lone> lone_factor(const std::vector<Sym::Term>& terms) {
  int64_t constant = 0;
  const Sym::Term* only = nullptr;
  for (const Sym::Term& t : terms) {
    if (t.factors.empty()) constant = t.coefficient;
    else if (only) return std::nullopt;
    else only = &t;
  }
  if (!only || only->factors.size() != 1 || only->factors[0].power != 1) return std::nullopt;
  return Lone{only->factors[0], only->coefficient, constant};
}

}  // namespace

std::string ShapeEnv::new_name(const char* prefix, int& next) {
  std::string name;
  do name = prefix + std::to_string(next++);
  while (sources.count(name));
  return name;
}

Sym ShapeEnv::create_symbol(int64_t hint, const std::string& source, bool duck, bool dynamic, Range range, const std::string& name) {
  if (options.specialize_zero_one && !dynamic && (hint == 0 || hint == 1)) return hint;
  if (!name.empty() && sources.count(name)) return Sym::symbol(name);
  duck = duck && options.duck_shape && name.empty();
  if (const auto same = duck_.find(hint); duck && same != duck_.end()) return same->second;
  const std::string own = name.empty() ? new_name("s", next_symbol_) : name;
  const Sym s = Sym::symbol(own);
  sources[own] = source;
  order.push_back(own);
  hints[own] = hint;
  ranges[own] = range;
  point_[own] = new_base(hint);
  points_.clear();
  at_points_.clear();
  if (duck) duck_.emplace(hint, s);
  return s;
}

Expr ShapeEnv::create_unbacked(Kind kind) {
  const std::string name = kind == Kind::Float ? new_name("zuf", next_float_) : new_name("u", next_unbacked_);
  sources[name] = "";
  origins[name] = here();
  order.push_back(name);
  points_.clear();
  at_points_.clear();
  if (kind == Kind::Float) {
    const double value = 0.7310585786300049 + 1e-3 * static_cast<double>(order.size());
    int64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    point_[name] = bits;
    return Expr::symbol(name, Kind::Float);
  }
  point_[name] = kind == Kind::Bool ? 1 : new_base(1);
  ranges[name] = kind == Kind::Bool ? Range{0, 1} : Range();
  const Expr symbol = Expr::symbol(name, Kind::Int);
  return kind == Kind::Bool ? Expr::apply(Op::Eq, {symbol, Expr(1)}) : symbol;
}

void ShapeEnv::constrain(const std::string& name, Range range) {
  Range& r = ranges[name];
  r = {std::max(r.lower, range.lower), std::min(r.upper, range.upper)};
  CRESSET_CHECK_VALUE(r.lower <= r.upper, "symbolic shapes: no value of ", name, " is left between ", r.lower, " and ", r.upper);
  if (r.lower == r.upper && !replacements.count(name)) replace(name, r.lower);
  points_.clear();
  at_points_.clear();
}

// ---- knowledge ---------------------------------------------------------------------------------------------------------

Sym ShapeEnv::simplify(const Sym& s) const {
  if (s.constant()) return s;
  Sym out = s;
  for (const std::string& name : s.symbols())
    if (const auto by = replacements.find(name); by != replacements.end()) out = out.substitute(name, by->second);
  bool functions = false;
  for (const Sym::Term& t : out.terms())
    for (const Sym::Factor& f : t.factors) functions = functions || f.function != Sym::Function::Symbol;
  if (!functions) return out;
  auto divides = [&](const Sym& dividend, int64_t divisor) -> std::optional<int64_t> {
    for (const Divisible& d : divisible_)
      if (d.divisor % divisor == 0)
        if (const auto rest = (dividend - d.dividend).constant()) return ((*rest + d.remainder) % divisor + divisor) % divisor;
    return std::nullopt;
  };
  out = rewritten(out, [&](const Sym::Factor& f) -> std::optional<Sym> {
    if (f.other) {
      const Expr* e = expression_of(*f.other);
      if (!e) return std::nullopt;
      std::vector<Expr> arguments;
      for (const Expr& a : e->arguments()) arguments.push_back(simplify(a));
      return Expr::apply(e->op(), arguments).integer();
    }
    if (f.arguments.empty()) return std::nullopt;
    const Sym a = simplify(f.arguments[0]), b = simplify(f.arguments[1]);
    const auto divisor = b.constant();
    switch (f.function) {
      case Sym::Function::Mod:
        if (divisor && *divisor > 0) {
          if (const auto rest = divides(a, *divisor)) return Sym(*rest);
          const Range r = bounds(a, ranges);
          if (r.lower >= 0 && r.upper < *divisor) return a;
        }
        return Sym::mod(a, b);
      case Sym::Function::FloorDiv: {
        const Range r = bounds(a, ranges);
        if (divisor && *divisor > 0 && r.lower >= 0 && r.upper < *divisor) return Sym(0);
        return Sym::floordiv(a, b);
      }
      default: {
        const Range d = bounds(a - b, ranges);
        const bool largest = f.function == Sym::Function::Max;
        if (d.lower >= 0 || statically(Expr::apply(Op::Ge, {a, b})) == true) return largest ? a : b;
        if (d.upper <= 0 || statically(Expr::apply(Op::Le, {a, b})) == true) return largest ? b : a;
        return largest ? Sym::max(a, b) : Sym::min(a, b);
      }
    }
  });
  // k * (x // k) is x where k divides it.
  Sym sum;
  for (const Sym::Term& t : out.terms()) {
    Sym product = t.coefficient;
    for (const Sym::Factor& f : t.factors) {
      Sym one = f.function == Sym::Function::Symbol ? Sym::symbol(f.name) : f.other ? Sym::function(f.other) : Sym(0);
      if (f.function == Sym::Function::FloorDiv) {
        const auto divisor = f.arguments[1].constant();
        const auto factor = product.constant();
        if (divisor && factor && *divisor > 0 && *factor % *divisor == 0 && f.power == 1 && divides(f.arguments[0], *divisor) == 0) {
          product = Sym(*factor / *divisor) * f.arguments[0];
          continue;
        }
        one = Sym::floordiv(f.arguments[0], f.arguments[1]);
      } else if (f.function == Sym::Function::Mod) {
        one = Sym::mod(f.arguments[0], f.arguments[1]);
      } else if (f.function == Sym::Function::Max) {
        one = Sym::max(f.arguments[0], f.arguments[1]);
      } else if (f.function == Sym::Function::Min) {
        one = Sym::min(f.arguments[0], f.arguments[1]);
      }
      for (int i = 0; i < f.power; i++) product = product * one;
    }
    sum = sum + product;
  }
  return sum;
}

Expr ShapeEnv::simplify(const Expr& e) const {
  return e.map_integers([this](const Sym& s) { return simplify(s); });
}

std::optional<bool> ShapeEnv::statically(const Expr& given) const {
  if (const auto known = decided(given, ranges)) return known;
  const Op op = given.op();
  if (op == Op::Not) {
    const auto inner = statically(given.arguments()[0]);
    return inner ? std::optional<bool>(!*inner) : inner;
  }
  if (op == Op::And || op == Op::Or) {
    bool all = true;
    for (const Expr& part : given.arguments()) {
      const auto known = statically(part);
      if (known && *known == (op == Op::Or)) return known;
      all = all && known;
    }
    return all ? std::optional<bool>(op == Op::And) : std::nullopt;
  }
  if (truths_.count(given.text())) return true;
  if (truths_.count(Expr::apply(Op::Not, {given}).text())) return false;
  if (op < Op::Eq || op > Op::Ge || given.arguments()[0].kind() != Kind::Int || given.arguments()[1].kind() != Kind::Int) return std::nullopt;
  const Sym &a = given.arguments()[0].integer(), &b = given.arguments()[1].integer();
  const auto side = nonnegative_side(op, a, b);
  for (const Sym& fact : nonnegative_) {
    if (side) {
      if (bounds(*side - fact, ranges).lower >= 0) return true;
      if (const Range r = bounds(*side + fact, ranges); r.upper < 0) return false;
    } else if (bounds(a - b - fact, ranges).lower > 0 || bounds(b - a - fact, ranges).lower > 0) {
      return op == Op::Ne;
    }
  }
  return std::nullopt;
}

std::optional<Number> ShapeEnv::hint(const Expr& e) const { return simplify(e).evaluate(hints); }

bool ShapeEnv::is_unbacked(const Expr& e) const {
  for (const std::string& s : simplify(e).symbols())
    if (!hints.count(s)) return true;
  return false;
}

std::string ShapeEnv::described(const std::vector<std::string>& symbols) const {
  std::string text;
  for (const std::string& name : symbols) {
    if (hints.count(name)) continue;
    const auto origin = origins.find(name);
    text += str(text.empty() ? "" : ", ", name, origin == origins.end() || origin->second.empty() ? "" : " (taken at " + origin->second + ")");
  }
  return text;
}

void ShapeEnv::throw_data_dependent(const Expr& e, const char* what) const {
  std::string unknown;
  for (const std::string& name : e.symbols())
    if (unknown.empty() && !hints.count(name)) unknown = name;
  const std::string at = here(true);
  const bool is_condition = e.kind() == Kind::Bool;
  throw DataDependentGuardError(
      str("Could not ", what, " data-dependent expression ", e.text(), ": only the data tells ", described(e.symbols()), at.empty() ? "" : "; asked at " + at,
          ". Two ways out: state what holds before, as in torch._check(", is_condition ? e.text() : unknown + " == 4", "), or ",
          is_condition ? "keep both branches in the graph with torch.cond(...) or torch.where(...)" : "compute with a tensor instead of the number",
          "; torch.fx.experimental.symbolic_shapes.guard_or_false(...) answers without knowing"));
}

bool ShapeEnv::evaluate(const Expr& given) {
  const Expr e = simplify(given);
  if (const auto known = statically(e)) return *known;
  const auto example = e.evaluate(hints);
  if (!example) throw_data_dependent(e, "guard on");
  const bool value = to_double(*example) != 0;
  if (suppressed || frozen) return value;
  const Expr guard = value ? e : Expr::apply(Op::Not, {e});
  guards.push_back({guard, here()});
  assume(guard);
  settle();
  return value;
}

Number ShapeEnv::specialize(const Expr& given) {
  const Expr e = simplify(given);
  if (const auto known = e.constant()) return *known;
  if (e.kind() == Kind::Bool) return evaluate(e);
  const auto example = e.evaluate(hints);
  if (!example) throw_data_dependent(e, "take a number for");
  const Expr number = e.kind() == Kind::Int ? Expr(std::get<int64_t>(*example)) : Expr::number(std::get<double>(*example));
  evaluate(Expr::apply(Op::Eq, {e, number}));
  return *example;
}

void ShapeEnv::expect(const Expr& given, const std::string& message) {
  const Expr e = simplify(given);
  if (const auto known = statically(e)) {
    CRESSET_CHECK(*known, message);
    return;
  }
  const auto example = e.evaluate(hints);
  if (example) CRESSET_CHECK(to_double(*example) != 0, message);
  (example && !options.prefer_deferred_asserts ? guards : deferred).push_back({e, here()});
  assume(e);
  settle();
}

void ShapeEnv::assume(const Expr& e) {
  points_.clear();
  at_points_.clear();
  if (e.op() == Op::And) {
    for (const Expr& part : e.arguments()) assume(part);
    return;
  }
  truths_.insert(e.text());
  if (e.op() < Op::Eq || e.op() > Op::Ge || e.arguments()[0].kind() != Kind::Int || e.arguments()[1].kind() != Kind::Int) return;
  assume_relation(e.op(), e.arguments()[0].integer(), e.arguments()[1].integer());
}

void ShapeEnv::assume_relation(Op op, const Sym& a, const Sym& b) {
  if (op == Op::Eq) {
    unify(a - b);
    return;
  }
  if (const auto side = nonnegative_side(op, a, b)) assume_nonnegative(*side);
}

// A bound of a symbol, where it stands alone; otherwise a fact to compare with.
void ShapeEnv::assume_nonnegative(const Sym& s) {
  const std::vector<Sym::Term> terms = s.terms();
  if (const auto only = lone_factor(terms)) {
    const auto& [f, k, constant] = *only;
    auto bound = [&, k = k, constant = constant](const Sym& inner) {  // k * inner + constant >= 0
      const int64_t limit =
          k > 0 ? -(constant >= 0 ? constant / k : -((-constant + k - 1) / k)) : (constant >= 0 ? constant / -k : -((-constant + -k - 1) / -k));
      if (const auto name = inner.as_symbol()) constrain(*name, k > 0 ? Range{limit, kInfinity} : Range{-kInfinity, limit});
      else nonnegative_.push_back(k > 0 ? inner - limit : Sym(limit) - inner);
    };
    if (f.function == Sym::Function::Symbol) return bound(Sym::symbol(f.name));
    // Max and Min of a bound say as much of both sides.
    const auto limit = k == 1 ? -constant : constant;
    if (f.function == Sym::Function::Min && k == 1) {
      for (const Sym& side : f.arguments)
        if (!side.constant()) assume_nonnegative(side - limit);
      return;
    }
    if (f.function == Sym::Function::Max && k == -1) {
      for (const Sym& side : f.arguments)
        if (!side.constant()) assume_nonnegative(Sym(limit) - side);
      return;
    }
  }
  nonnegative_.push_back(s);
}

void ShapeEnv::replace(const std::string& name, const Sym& by) {
  for (auto& [other, old] : replacements) old = old.substitute(name, by);
  replacements[name] = by;
  if (const auto range = ranges.find(name); range != ranges.end())
    if (const auto target = by.as_symbol()) constrain(*target, range->second);
  stale_ = true;
}

std::optional<std::pair<std::string, Sym>> ShapeEnv::solution(const Sym& difference) const {
  const std::vector<Sym::Term> terms = difference.terms();
  std::optional<std::pair<std::string, Sym>> best;
  int64_t best_rank = -1;
  for (const Sym::Term& t : terms) {
    if (t.factors.size() != 1 || t.factors[0].power != 1 || t.factors[0].function != Sym::Function::Symbol) continue;
    const std::string& name = t.factors[0].name;
    const Sym others = Sym(t.coefficient) * Sym::symbol(name) - difference;
    const std::vector<std::string> rest = others.symbols();
    if (std::count(rest.begin(), rest.end(), name)) continue;
    if (std::abs(t.coefficient) != 1 && Sym::mod(others, t.coefficient) != Sym(0)) continue;
    // Unbacked symbols go first, then the youngest.
    const int64_t rank = (hints.count(name) ? 0 : 1 << 20) + (std::find(order.begin(), order.end(), name) - order.begin());
    if (rank > best_rank) best_rank = rank, best = {name, Sym::floordiv(others, t.coefficient)};
  }
  return best;
}

bool ShapeEnv::unify(const Sym& difference) {
  const std::vector<Sym::Term> terms = difference.terms();
  if (const auto only = lone_factor(terms)) {
    const auto& [f, k, constant] = *only;
    if (f.function == Sym::Function::Mod && constant % k == 0) {
      if (const auto divisor = f.arguments[1].constant(); divisor && *divisor > 0) {
        divisible_.push_back({f.arguments[0], *divisor, -constant / k});
        stale_ = true;
        return true;
      }
    }
    // x // k == q bounds x; Min(x, c) == c and Max(x, c) == c bound it from one side.
    if (f.function == Sym::Function::FloorDiv && constant % k == 0) {
      if (const auto divisor = f.arguments[1].constant(); divisor && *divisor > 0) {
        const int64_t q = -constant / k;
        assume_nonnegative(f.arguments[0] - Sym(q * *divisor));
        assume_nonnegative(Sym(q * *divisor + *divisor - 1) - f.arguments[0]);
        return true;
      }
    }
    const bool extreme = f.function == Sym::Function::Min || f.function == Sym::Function::Max;
    if (extreme && constant % k == 0) {
      const Sym target = -constant / k;
      for (int i = 0; i < 2; i++)
        if (f.arguments[static_cast<size_t>(i)] == target) {
          const Sym& other = f.arguments[static_cast<size_t>(1 - i)];
          assume_nonnegative(f.function == Sym::Function::Min ? other - target : target - other);
          return true;
        }
    }
  }
  // Max(a, b) == a says a >= b, and Min likewise.
  for (const Sym::Term& t : terms)
    for (const Sym::Factor& f : t.factors)
      if ((f.function == Sym::Function::Max || f.function == Sym::Function::Min) && t.factors.size() == 1 && f.power == 1 && std::abs(t.coefficient) == 1)
        for (size_t i = 0; i < 2; i++) {
          const Sym extreme = f.function == Sym::Function::Max ? Sym::max(f.arguments[0], f.arguments[1]) : Sym::min(f.arguments[0], f.arguments[1]);
          if (Sym(t.coefficient) * (extreme - f.arguments[i]) != difference) continue;
          const Sym other = f.arguments[1 - i];
          assume_nonnegative(f.function == Sym::Function::Max ? f.arguments[i] - other : other - f.arguments[i]);
          return true;
        }
  const auto solved = solution(difference);
  if (solved) replace(solved->first, solved->second);
  return solved.has_value();
}

}  // namespace cresset::graph
