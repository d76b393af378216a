#include "cresset/graph/ir/sym.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "cresset/base/error.h"

namespace cresset::graph {

struct Sym::Atom {
  Function function;
  std::string name;            // of a symbol
  std::vector<Sym> arguments;  // of a function
  std::shared_ptr<const SymFunction> other;
};

namespace {

int64_t checked_add(int64_t a, int64_t b) {
  int64_t out;
  CRESSET_CHECK(!__builtin_add_overflow(a, b, &out), "size expression: ", a, " + ", b, " is beyond 64 bits");
  return out;
}
int64_t checked_mul(int64_t a, int64_t b) {
  int64_t out;
  CRESSET_CHECK(!__builtin_mul_overflow(a, b, &out), "size expression: ", a, " * ", b, " is beyond 64 bits");
  return out;
}
int64_t checked_floor_divide(int64_t a, int64_t b) {
  CRESSET_CHECK(b != 0, "size expression: ", a, " is divided by 0");
  if (b == -1) return checked_mul(a, -1);
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
int64_t checked_floor_modulo(int64_t a, int64_t b) { return b == -1 ? 0 : a - checked_floor_divide(a, b) * b; }

int64_t apply(Sym::Function f, int64_t a, int64_t b) {
  switch (f) {
    case Sym::Function::FloorDiv: return checked_floor_divide(a, b);
    case Sym::Function::Mod: return checked_floor_modulo(a, b);
    case Sym::Function::Max: return std::max(a, b);
    default: return std::min(a, b);
  }
}

constexpr size_t kMaxTerms = 256;
constexpr const char* kNames[] = {"", "floordiv", "mod", "max", "min"};

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Sym::Sym(int64_t value) {
  if (value != 0) terms_[{}] = value;
}

Sym Sym::of(Function function, std::string name, std::vector<Sym> arguments) {
  auto atom = std::make_shared<Atom>(Atom{function, std::move(name), std::move(arguments), nullptr});
  std::string text = atom->name;
  if (function != Function::Symbol)
    text = std::string(kNames[static_cast<int>(function)]) + "(" + atom->arguments[0].text() + ", " + atom->arguments[1].text() + ")";
  Sym s;
  s.terms_[{{text, 1}}] = 1;
  s.atoms_[text] = std::move(atom);
  return s;
}

Sym Sym::symbol(std::string name) {
  bool fits = !name.empty() && is_name_start(name[0]);
  for (const char c : name) fits = fits && (is_name_start(c) || is_digit(c));
  CRESSET_CHECK_VALUE(fits, "size expression: expected letters, digits and underscores as the name of a symbol, got '", name, "'");
  return of(Function::Symbol, std::move(name), {});
}
Sym Sym::function(std::shared_ptr<const SymFunction> f) {
  const std::string text = f->text();
  Sym s;
  s.terms_[{{text, 1}}] = 1;
  s.atoms_[text] = std::make_shared<Atom>(Atom{Function::Other, "", {}, std::move(f)});
  return s;
}
Sym Sym::unknown() {
  Sym s;
  s.known_ = false;
  return s;
}

// a / b where b is one product of symbols that every term of a holds.
std::optional<Sym> Sym::quotient(const Sym& a, const Sym& b) {
  if (b.terms_.size() != 1 || a.terms_.empty()) return std::nullopt;
  const auto& [divisor, factor] = *b.terms_.begin();
  Sym out;
  for (const auto& [monomial, coefficient] : a.terms_) {
    if (coefficient % factor != 0) return std::nullopt;
    Monomial rest = monomial;
    for (const auto& [text, power] : divisor) {
      const auto found = rest.find(text);
      if (found == rest.end() || found->second < power) return std::nullopt;
      if ((found->second -= power) == 0) rest.erase(found);
    }
    for (const auto& kept : rest) out.atoms_[kept.first] = a.atoms_.at(kept.first);
    out.terms_[std::move(rest)] = factor == -1 ? checked_mul(coefficient, -1) : coefficient / factor;
  }
  return out;
}

Sym Sym::floordiv(const Sym& a, const Sym& b) {
  if (!a.known_ || !b.known_) return unknown();
  const auto x = a.constant(), y = b.constant();
  CRESSET_CHECK_VALUE(!y || *y != 0, "size expression: ", a.text(), " is divided by 0");
  if (x && y) return checked_floor_divide(*x, *y);
  if (y) {
    // A sum of multiples is divided term by term.
    Sym out = a;
    // The rest of the number alone makes no other quotient.
    if (const auto number = out.terms_.find(Monomial{}); number != out.terms_.end() && *y > 1) {
      const int64_t rest = checked_floor_modulo(number->second, *y);
      if (number->second == rest) out.terms_.erase(number);
      else number->second -= rest;
    }
    bool divides = true;
    for (auto& [monomial, factor] : out.terms_) {
      divides = divides && factor % *y == 0;
      factor = *y == -1 ? checked_mul(factor, -1) : factor / *y;
    }
    if (divides) return out;
  }
  if (a == b) return 1;
  if (const auto whole = quotient(a, b)) return *whole;
  return of(Function::FloorDiv, "", {a, b});
}
Sym Sym::mod(const Sym& a, const Sym& b) {
  if (!a.known_ || !b.known_) return unknown();
  const auto x = a.constant(), y = b.constant();
  CRESSET_CHECK_VALUE(!y || *y != 0, "size expression: ", a.text(), " is divided by 0");
  if (x && y) return checked_floor_modulo(*x, *y);
  bool divides = bool(y);
  for (const auto& term : a.terms_) divides = divides && term.second % *y == 0;
  if (divides || a == b || quotient(a, b)) return 0;
  return of(Function::Mod, "", {a, b});
}
Sym Sym::max(const Sym& a, const Sym& b) {
  if (!a.known_ || !b.known_) return unknown();
  const auto x = a.constant(), y = b.constant();
  if (x && y) return std::max(*x, *y);
  if (a == b) return a;
  return a.text() < b.text() ? of(Function::Max, "", {a, b}) : of(Function::Max, "", {b, a});
}
Sym Sym::min(const Sym& a, const Sym& b) {
  if (!a.known_ || !b.known_) return unknown();
  const auto x = a.constant(), y = b.constant();
  if (x && y) return std::min(*x, *y);
  if (a == b) return a;
  return a.text() < b.text() ? of(Function::Min, "", {a, b}) : of(Function::Min, "", {b, a});
}

std::optional<int64_t> Sym::constant() const {
  if (!known_) return std::nullopt;
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

std::optional<std::string> Sym::as_symbol() const {
  if (!known_ || terms_.size() != 1 || terms_.begin()->second != 1 || atoms_.size() != 1) return std::nullopt;
  const auto& [text, atom] = *atoms_.begin();
  if (atom->function != Function::Symbol || terms_.begin()->first != Monomial{{text, 1}}) return std::nullopt;
  return text;
}

std::optional<int64_t> Sym::evaluate(const Bindings& bindings) const {
  if (!known_) return std::nullopt;
  std::map<std::string, int64_t> values;
  for (const auto& [text, atom] : atoms_) {
    if (atom->function == Function::Symbol) {
      const auto found = bindings.find(atom->name);
      if (found == bindings.end()) return std::nullopt;
      values[text] = found->second;
      continue;
    }
    if (atom->function == Function::Other) {
      const auto value = atom->other->evaluate(bindings);
      if (!value) return std::nullopt;
      values[text] = *value;
      continue;
    }
    const auto a = atom->arguments[0].evaluate(bindings), b = atom->arguments[1].evaluate(bindings);
    if (!a || !b) return std::nullopt;
    values[text] = apply(atom->function, *a, *b);
  }
  int64_t sum = 0;
  for (const auto& [monomial, factor] : terms_) {
    int64_t product = factor;
    for (const auto& [text, power] : monomial)
      for (int i = 0; i < power; i++) product = checked_mul(product, values[text]);
    sum = checked_add(sum, product);
  }
  return sum;
}

std::vector<Sym::Term> Sym::terms() const {
  std::vector<Term> out;
  for (const auto& [monomial, coefficient] : terms_) {
    Term term{coefficient, {}};
    for (const auto& [text, power] : monomial) {
      const Atom& atom = *atoms_.at(text);
      term.factors.push_back({atom.function, atom.name, atom.arguments, atom.other, power});
    }
    out.push_back(std::move(term));
  }
  return out;
}

std::vector<std::string> Sym::symbols() const {
  std::set<std::string> found;
  for (const auto& [text, atom] : atoms_) {
    if (atom->function == Function::Symbol) found.insert(atom->name);
    if (atom->other)
      for (std::string& s : atom->other->symbols()) found.insert(std::move(s));
    for (const Sym& a : atom->arguments)
      for (std::string& s : a.symbols()) found.insert(std::move(s));
  }
  return {found.begin(), found.end()};
}

template <class F> Sym Sym::map_atoms(F&& replace) const {
  if (!known_) return *this;
  Sym sum;
  for (const auto& [monomial, factor] : terms_) {
    Sym product = factor;
    for (const auto& [text, power] : monomial) {
      const Sym by = replace(*atoms_.at(text));
      for (int i = 0; i < power; i++) product = product * by;
    }
    sum = sum + product;
  }
  return sum;
}

Sym Sym::substitute(std::string_view name, const Sym& by) const {
  return map_atoms([&](const Atom& atom) {
    if (atom.function == Function::Symbol) return atom.name == name ? by : symbol(atom.name);
    if (atom.other) return atom.other->substitute(name, by);
    const Sym a = atom.arguments[0].substitute(name, by), b = atom.arguments[1].substitute(name, by);
    switch (atom.function) {
      case Function::FloorDiv: return floordiv(a, b);
      case Function::Mod: return mod(a, b);
      case Function::Max: return max(a, b);
      default: return min(a, b);
    }
  });
}

namespace {

// Whether the term was there and is gone now.
template <class Terms> bool add_term(Terms& terms, typename Terms::key_type monomial, int64_t factor) {
  const auto [at, is_new] = terms.try_emplace(std::move(monomial), factor);
  if (is_new) return false;
  at->second = checked_add(at->second, factor);
  if (at->second != 0) return false;
  terms.erase(at);
  return true;
}
// Those that terms still name.
template <class Atoms, class Terms> Atoms used_atoms(const Atoms& atoms, const Terms& terms) {
  Atoms used;
  for (const auto& term : terms)
    for (const auto& factor : term.first) used.emplace(factor.first, atoms.at(factor.first));
  return used;
}

}  // namespace

// Most sizes are numbers: they take no walk.
Sym operator+(const Sym& a, const Sym& b) {
  if (!a.known_ || !b.known_) return Sym::unknown();
  const auto x = a.constant(), y = b.constant();
  if (x && y) return checked_add(*x, *y);
  Sym out = a;
  out.atoms_.insert(b.atoms_.begin(), b.atoms_.end());
  bool cancelled = false;
  for (const auto& [monomial, factor] : b.terms_) cancelled = add_term(out.terms_, monomial, factor) || cancelled;
  if (cancelled) out.atoms_ = used_atoms(out.atoms_, out.terms_);
  return out;
}
Sym operator-(const Sym& a, const Sym& b) { return a + Sym(-1) * b; }
Sym operator*(const Sym& a, const Sym& b) {
  if (!a.known_ || !b.known_) return Sym::unknown();
  const auto x = a.constant(), y = b.constant();
  if (x && y) return checked_mul(*x, *y);
  if (x == 0 || y == 0) return 0;
  if (x || y) {
    Sym out = x ? b : a;
    for (auto& term : out.terms_) term.second = checked_mul(x ? *x : term.second, x ? term.second : *y);
    return out;
  }
  // Products of sums of a stranger's file must not grow without end.
  CRESSET_CHECK_VALUE(a.terms_.size() * b.terms_.size() <= kMaxTerms, "size expression: a product of ", a.terms_.size(), " by ", b.terms_.size(),
                      " terms, expected at most ", kMaxTerms, " in all");
  Sym out;
  out.atoms_ = a.atoms_;
  out.atoms_.insert(b.atoms_.begin(), b.atoms_.end());
  bool cancelled = false;
  for (const auto& [left, m] : a.terms_)
    for (const auto& [right, n] : b.terms_) {
      Sym::Monomial product = left;
      for (const auto& [text, power] : right) product[text] += power;
      cancelled = add_term(out.terms_, std::move(product), checked_mul(m, n)) || cancelled;
    }
  if (cancelled) out.atoms_ = used_atoms(out.atoms_, out.terms_);
  return out;
}
bool operator==(const Sym& a, const Sym& b) { return a.known_ == b.known_ && a.terms_ == b.terms_; }

std::string Sym::text() const {
  if (!known_) return "?";
  if (terms_.empty()) return "0";
  std::string s;
  // The term without symbols comes last.
  std::vector<std::pair<Monomial, int64_t>> ordered(terms_.begin(), terms_.end());
  if (ordered.front().first.empty()) std::rotate(ordered.begin(), ordered.begin() + 1, ordered.end());
  for (const auto& [monomial, factor] : ordered) {
    std::string number = std::to_string(factor);
    const bool negative = number[0] == '-';
    if (negative) number.erase(0, 1);
    s += s.empty() ? negative ? "-" : "" : negative ? " - " : " + ";
    std::string product;
    if (monomial.empty() || number != "1") product = number;
    for (const auto& [text, power] : monomial)
      for (int i = 0; i < power; i++) product += (product.empty() ? "" : "*") + text;
    s += product;
  }
  return s;
}

namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Sym whole() {
    Sym s = sum();
    skip();
    if (at_ != text_.size()) fail("expected an operator or the end");
    return s;
  }

 private:
  static constexpr int kMaxDepth = 64;

  [[noreturn]] void fail(const char* what) const {
    throw ValueError(str("size expression: ", what, " at column ", at_ + 1, " of '", std::string(text_.substr(0, 80)), "'"));
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') at_++;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }

  Sym sum() {
    if (++depth_ > kMaxDepth) fail("expected less deeply nested parentheses");
    const bool negative = take('-');
    Sym s = product();
    if (negative) s = Sym(0) - s;
    while (true) {
      if (take('+')) s = s + product();
      else if (take('-')) s = s - product();
      else break;
    }
    depth_--;
    return s;
  }
  Sym product() {
    Sym s = factor();
    while (take('*')) s = s * factor();
    return s;
  }
  Sym factor() {
    skip();
    if (at_ >= text_.size()) fail("expected a number or a name");
    if (take('(')) {
      Sym s = sum();
      if (!take(')')) fail("expected )");
      return s;
    }
    if (take('?')) return Sym::unknown();
    if (is_digit(text_[at_])) {
      int64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc()) fail("expected a number of 64 bits");
      at_ = static_cast<size_t>(end - text_.data());
      return value;
    }
    if (!is_name_start(text_[at_])) fail("expected a number or a name");
    const size_t start = at_;
    while (at_ < text_.size() && (is_name_start(text_[at_]) || is_digit(text_[at_]))) at_++;
    const std::string name(text_.substr(start, at_ - start));
    if (!take('(')) return Sym::symbol(name);
    const Sym a = sum();
    if (!take(',')) fail("expected ,");
    const Sym b = sum();
    if (!take(')')) fail("expected )");
    if (name == "floordiv") return Sym::floordiv(a, b);
    if (name == "mod") return Sym::mod(a, b);
    if (name == "max") return Sym::max(a, b);
    if (name == "min") return Sym::min(a, b);
    at_ = start;
    fail("expected floordiv, mod, max or min");
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Sym Sym::parse(std::string_view text) { return Reader(text).whole(); }

}  // namespace cresset::graph
