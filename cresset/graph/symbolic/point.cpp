// The point at which fake tensors are evaluated, and the way back from its numbers to expressions.

#include <algorithm>
#include <bit>
#include <cmath>

#include "cresset/core/sparse.h"
#include "cresset/graph/symbolic/shape_env.h"

namespace cresset::graph {

namespace {

constexpr int kExtraPoints = 6;
// Values from here on are ours, as are their multiples.
constexpr int64_t kTelling = 1000;

bool is_prime(int64_t n) {
  for (int64_t d = 2; d * d <= n; d++)
    if (n % d == 0) return false;
  return n > 1;
}

// The largest extent in bytes that a tensor of this geometry reaches.
size_t extent(const TensorImpl& t) {
  int64_t last = t.storage_offset();
  for (size_t d = 0; d < t.sizes().size(); d++) {
    if (t.sizes()[d] == 0) return 0;
    last += (t.sizes()[d] - 1) * t.strides()[d];
  }
  return static_cast<size_t>(last + 1) * element_size(t.dtype());
}

}  // namespace

void ShapeEnv::expect_rank(size_t rank) { rank_ = std::max(rank_, rank); }

// A number that programs do not hold by chance: a prime of its own, small enough for products of sizes that floats hold exactly, and one below a multiple of 60, so
// that small divisors tell floor from ceiling.
// They are in the order of the hints, so that comparisons within operators go as in the example.
int64_t ShapeEnv::new_base(int64_t hint) {
  constexpr int kBits[] = {18, 18, 16, 14, 12, 10};
  const size_t rank = std::min<size_t>(rank_, 5);
  const auto steps = static_cast<int64_t>((rank == 5 ? 2 : 32) * std::log2(static_cast<double>(std::clamp<int64_t>(hint, 1, 1 << 20))));
  int64_t prime = ((int64_t{1} << kBits[rank]) / 60 + steps * (rank >= 4 ? 1 : 4)) * 60 + 59;
  while (!is_prime(prime) || bases_.count(prime)) prime += 60;
  bases_.insert(prime);
  return prime;
}

void ShapeEnv::enter(int64_t value, const Sym& s) {
  by_value_.insert_or_assign(value, s);
  at_points_.erase(value);
}

Number ShapeEnv::value(const Expr& given) {
  const Expr e = simplify(given);
  if (const auto known = e.constant()) return *known;
  if (e.kind() == Kind::Bool) return evaluate(e);
  const auto number = e.evaluate(point_);
  CRESSET_CHECK(number, "symbolic shapes: ", e.text(), " is beyond 64 bits where the sizes of fake tensors are evaluated");
  if (e.kind() == Kind::Float) {
    by_double_.insert_or_assign(std::bit_cast<int64_t>(std::get<double>(*number)), e);
    return *number;
  }
  const int64_t v = std::get<int64_t>(*number);
  // Small numbers, remainders above all, cannot be told from the program's own.
  if (v < kLeast && v > -kLeast) return specialize(e);
  CRESSET_CHECK(!constants_.count(v), "symbolic shapes: the size ", e.text(), " stands for ", v, ", which the program uses as a number too");
  const auto other = by_value_.find(v);
  if (other != by_value_.end() && !is_unbacked(e) && !is_same(e, simplify(other->second))) return v;
  enter(v, e.integer());
  return v;
}

// Whether two expressions of one value at the point are one for all sizes. The largest of two sizes is one of them there: that it is so in the example is a
// guard, and the size stays the other's.
bool ShapeEnv::is_same(const Expr& e, const Expr& other) {
  if (e.integer() == other.integer()) return true;
  const bool below = evaluate(Expr::apply(Op::Le, {e, other})), above = evaluate(Expr::apply(Op::Ge, {e, other}));
  CRESSET_CHECK(below && above, "symbolic shapes: the sizes ", e.text(), " and ", other.text(), " differ in the example and cannot be told apart");
  return false;
}

Expr ShapeEnv::lift(int64_t value) { return lift(value, true); }

Expr ShapeEnv::lift(int64_t value, bool quotients) {
  if (value < kLeast && value > -kLeast) return value;
  if (const auto found = by_value_.find(value); found != by_value_.end()) return simplify(found->second);
  if (constants_.count(value)) return value;
  if (const auto found = of_composite(value)) {
    enter(value, *found);
    return *found;
  }
  if (const auto found = searched(value, quotients)) {
    enter(value, *found);
    return *found;
  }
  return value;
}

Expr ShapeEnv::lift(double value) {
  if (const auto found = by_double_.find(std::bit_cast<int64_t>(value)); found != by_double_.end()) return simplify(found->second);
  const auto found = searched(value);
  if (!found) return Expr::number(value);
  by_double_.insert_or_assign(std::bit_cast<int64_t>(value), *found);
  return simplify(*found);
}

// A float that code below an operator has computed from a size or a product of sizes: its value, or a simple multiple of a root or a reciprocal. The numbers
// at the point are large primes and their products, which literals do not meet by chance.
std::optional<Expr> ShapeEnv::searched(double value) const {
  if (value == 0 || !std::isfinite(value)) return std::nullopt;
  const double size = std::abs(value);
  constexpr double kExact = 1e-14;
  const bool whole_number = size == std::round(size), literal = std::round(size * 1e6) == size * 1e6;
  if (literal && (!whole_number || size < kTelling)) return std::nullopt;
  const auto power = [](const Expr& base, double exponent) {
    Expr root = base;
    for (double e = 1; e > std::abs(exponent); e /= 2) root = Expr::apply(Op::Sqrt, {root});
    if (std::abs(exponent) > 1) root = Expr::apply(Op::Mul, {root, root});
    return exponent < 0 ? Expr::apply(Op::TrueDiv, {Expr::number(1), root}) : root;
  };
  for (const auto& [number, sym] : by_value_) {
    if (number < kTelling) continue;
    const Expr whole = Expr::apply(Op::ToFloat, {Expr(simplify(sym))});
    if (whole.constant()) continue;
    if (value == static_cast<double>(number)) return whole;
    for (const double exponent : {-1.0, 0.5, -0.5, 0.25, -0.25, -2.0})
      for (const int shift : {0, -1}) {
        const double factor = size / std::pow(static_cast<double>(number + shift), exponent), near = std::round(factor * 2) / 2;
        if (near < 0.5 || near > 64 || std::abs(factor - near) > kExact * near) continue;
        const Expr base = shift ? Expr::apply(Op::ToFloat, {Expr(simplify(sym) + shift)}) : whole;
        const Expr found = power(base, exponent);
        const double signed_factor = value < 0 ? -near : near;
        return signed_factor == 1 ? found : Expr::apply(Op::Mul, {Expr::number(signed_factor), found});
      }
  }
  // One or two over a product of sizes, or that less a few, as of a mean or a variance.
  for (const double factor : {1.0, 2.0})
    for (const int shift : {0, 1, 2, 3}) {
      constexpr double kWhole = 9007199254740992;  // floats are whole numbers below
      const double divisor = factor / size;
      if (divisor < kTelling || divisor > kWhole) continue;
      const auto near = static_cast<int64_t>(std::round(divisor)) + shift;
      for (const int64_t number : {near, near - 1, near + 1}) {
        if (factor / static_cast<double>(number - shift) != size) continue;
        const auto product = product_of(number);
        if (!product) continue;
        const Expr whole = Expr::apply(Op::ToFloat, {Expr(simplify(*product) - shift)});
        return Expr::apply(Op::TrueDiv, {Expr::number(value < 0 ? -factor : factor), whole});
      }
    }
  return std::nullopt;
}

// The product of sizes that a number at the point is: of two that are known, or of symbols and a number of the program.
std::optional<Sym> ShapeEnv::product_of(int64_t number) const {
  for (const auto& [v, s] : by_value_) {
    const auto other = v >= kTelling && number % v == 0 ? by_value_.find(number / v) : by_value_.end();
    if (other != by_value_.end()) return s * other->second;
  }
  Sym product = 1;
  int factors = 0;
  for (const auto& [name, base] : point_)
    for (; base >= kTelling && number % base == 0; factors++) {
      product = product * Sym::symbol(name);
      number /= base;
    }
  if (factors == 0 || number >= kLeast) return std::nullopt;
  return product * Sym(number);
}

// Of quotients within composites runs at other points tell more than one value does.
bool ShapeEnv::is_symbolic(int64_t value) { return (value >= kLeast || value <= -kLeast) && !lift(value, !composite_).constant(); }

// A number that code below a composite operator has computed from sizes.
std::optional<Sym> ShapeEnv::searched(int64_t value, bool quotients) const {
  if (by_value_.count(-value)) return Sym(0) - by_value_.at(-value);
  // Multiples of a symbol, or of two.
  for (const auto& [v, s] : by_value_) {
    if ((v < kTelling && v > -kTelling) || value % v != 0) continue;
    const int64_t factor = value / v;
    if (factor < kLeast && factor > -kLeast) return simplify(Sym(factor) * s);
    if (const auto other = by_value_.find(factor); other != by_value_.end()) return simplify(s * other->second);
  }
  for (const std::string& name : order) {
    if (!quotients) break;
    const auto at = point_.find(name);
    if (replacements.count(name) || at == point_.end() || !ranges.count(name)) continue;
    for (int64_t d = 2; d <= 16; d++) {
      const Sym s = Sym::symbol(name);
      if (value == at->second / d) return Sym::floordiv(s, d);
      if (value == at->second / d + 1) return Sym::floordiv(s + (d - 1), d);
    }
  }
  // A little more or less than a size.
  if (value < kTelling && value > -kTelling) return std::nullopt;
  for (int64_t c = 1; c <= 16; c++)
    for (const int64_t shift : {-c, c})
      if (const auto near = by_value_.find(value - shift); near != by_value_.end()) return simplify(near->second) + shift;
  return std::nullopt;
}

// ---- moving the point --------------------------------------------------------------------------------------------------

bool ShapeEnv::fit_facts(Bindings& point) const {
  auto write_replaced = [&] {
    for (const auto& [name, by] : replacements)
      if (const auto v = by.evaluate(point)) point[name] = *v;
  };
  auto holds = [&] {
    return std::all_of(divisible_.begin(), divisible_.end(), [&](const Divisible& d) {
      const auto v = simplify(d.dividend).evaluate(point);
      return v && ((*v - d.remainder) % d.divisor + d.divisor) % d.divisor == 0;
    });
  };
  write_replaced();
  for (int round = 0; round < 4 && !holds(); round++)
    for (const Divisible& d : divisible_)
      for (const std::string& name : simplify(d.dividend).symbols()) {
        const int64_t base = point[name];
        for (int64_t j = 0; j < 2 * d.divisor && !holds(); j++) {
          point[name] = base + j;
          write_replaced();
        }
        if (holds()) break;
      }
  return holds();
}

void ShapeEnv::settle() {
  if (!stale_) return;
  stale_ = false;
  moved_ = true;
  fit_facts(point_);
  refresh();
}

// Live tensors take the sizes that their expressions have now. The numbers of before still stand for the same expressions.
void ShapeEnv::refresh() {
  points_.clear();
  at_points_.clear();
  std::map<StorageImpl*, size_t> extents;
  auto moved = [&](IntArrayRef list) {
    std::vector<int64_t> out(list.begin(), list.end());
    for (int64_t& v : out) {
      const auto found = by_value_.find(v);
      if (found == by_value_.end()) continue;
      const Sym s = simplify(found->second);
      const auto now = s.evaluate(point_);
      if (!now || *now == v) continue;
      v = *now;
      if (!s.constant()) by_value_.insert_or_assign(v, s);
    }
    return out;
  };
  auto move = [&](TensorImpl& t) {
    const std::vector<int64_t> sizes = moved(t.sizes()), strides = moved(t.strides());
    const int64_t offset = moved(IntArrayRef({t.storage_offset()}))[0];
    t.set_geometry(sizes, strides, offset);
    if (t.has_storage()) extents[t.storage().get()] = std::max(extents[t.storage().get()], extent(t));
  };
  for (const auto& weak : live_) {
    const auto t = weak.lock();
    if (!t) continue;
    move(*t);
    if (!t->parts()) continue;
    const auto& parts = static_cast<const SparseParts&>(*t->parts());
    for (const Tensor* part : {&parts.indices, &parts.plain, &parts.values})
      if (part->defined()) move(*part->impl());
  }
  for (const auto& [storage, bytes] : extents)
    if (storage->nbytes() < bytes) storage->resize(bytes);
}

void ShapeEnv::made(const intrusive_ptr<TensorImpl>& fake) {
  if (live_.size() >= live_limit_) {
    live_.erase(std::remove_if(live_.begin(), live_.end(), [](const auto& w) { return w.expired(); }), live_.end());
    live_limit_ = std::max<size_t>(256, 2 * live_.size());
  }
  live_.push_back(fake);
}

// ---- further points ----------------------------------------------------------------------------------------------------

// The point itself, the example, a small one, and some beside the first, whose remainders tell floor from ceiling.
void ShapeEnv::make_points() {
  points_.assign(1, point_);
  Bindings example = hints, small;
  int64_t i = 0;
  for (const auto& [name, range] : ranges) {
    const int64_t low = std::max<int64_t>(range.lower, hints.count(name) ? 2 : 0);
    small[name] = std::min(low + static_cast<int64_t>(ranges.size()) - i, range.upper);
    if (!example.count(name)) example[name] = std::min(low + 3 + i, range.upper);
    i++;
  }
  for (const auto& [name, v] : point_)
    if (!ranges.count(name)) example[name] = small[name] = v;
  points_.push_back(example);
  points_.push_back(small);
  for (int k = 0; k < kExtraPoints; k++) {
    Bindings beside = point_;
    int64_t shift = k == 0 ? 1 : 7 * k * k + 4;
    for (const auto& [name, range] : ranges)
      if (range.upper > 1) beside[name] += shift, shift = shift * 3 % 101 + 1;
    points_.push_back(beside);
  }
  for (size_t p = 1; p < points_.size(); p++)
    if (!fit_facts(points_[p])) points_[p].clear();
}

const std::vector<std::optional<int64_t>>& ShapeEnv::at_points(int64_t value) {
  if (points_.empty()) make_points();
  auto& known = at_points_[value];
  if (!known.empty()) return known;
  const auto found = value < kLeast && value > -kLeast ? by_value_.end() : by_value_.find(value);
  if (found == by_value_.end()) {
    known.assign(points_.size(), value);
    return known;
  }
  const Expr e = simplify(found->second);
  for (const Bindings& p : points_) {
    const auto v = p.empty() ? std::nullopt : e.evaluate(p);
    known.push_back(v ? std::optional<int64_t>(std::get<int64_t>(*v)) : std::nullopt);
  }
  return known;
}

}  // namespace cresset::graph
