#pragma once
// Sizes as integer expressions over named symbols: 2*s0 + floordiv(s1, 4). Kept as polynomials, so that equal sizes compare equal.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cresset/base/macros.h"

namespace cresset::graph {

// The value of each symbol.
using Bindings = std::map<std::string, int64_t, std::less<>>;

class Sym;

// An integer function that polynomials do not have (`cresset/graph/symbolic/expr.h`). Equal functions have equal texts.
class CRESSET_API SymFunction {
 public:
  virtual ~SymFunction() = default;
  virtual std::string text() const = 0;
  virtual std::optional<int64_t> evaluate(const Bindings& bindings) const = 0;
  virtual std::vector<std::string> symbols() const = 0;
  virtual Sym substitute(std::string_view name, const Sym& by) const = 0;
};

class CRESSET_API Sym {
 public:
  enum class Function : uint8_t { Symbol, FloorDiv, Mod, Max, Min, Other };

  Sym() : Sym(int64_t{0}) {}
  Sym(int64_t value);
  // Errors: a name that is no identifier.
  static Sym symbol(std::string name);
  // A size of which nothing is known; it equals no other, and itself.
  static Sym unknown();
  // Floor division and its remainder, as Python's. Errors: a divisor that is the number 0.
  static Sym floordiv(const Sym& a, const Sym& b);
  static Sym mod(const Sym& a, const Sym& b);
  static Sym max(const Sym& a, const Sym& b);
  static Sym min(const Sym& a, const Sym& b);
  static Sym function(std::shared_ptr<const SymFunction> f);

  // The sum taken apart: each term is a number times powers of symbols and functions.
  struct Factor;
  struct Term {
    int64_t coefficient;
    std::vector<Factor> factors;
  };
  std::vector<Term> terms() const;

  bool is_known() const { return known_; }
  // The number that it is, if it holds no symbols.
  std::optional<int64_t> constant() const;
  // The number with symbols replaced; none where one of them has no value. Errors: an overflow, a division by zero.
  std::optional<int64_t> evaluate(const Bindings& bindings) const;
  std::vector<std::string> symbols() const;
  // With one symbol replaced everywhere.
  Sym substitute(std::string_view name, const Sym& by) const;
  // The name, where it is one symbol alone.
  std::optional<std::string> as_symbol() const;

  // Errors, here and below: an overflow of 64 bits.
  friend CRESSET_API Sym operator+(const Sym& a, const Sym& b);
  friend CRESSET_API Sym operator-(const Sym& a, const Sym& b);
  friend CRESSET_API Sym operator*(const Sym& a, const Sym& b);
  friend CRESSET_API bool operator==(const Sym& a, const Sym& b);
  friend bool operator!=(const Sym& a, const Sym& b) { return !(a == b); }

  // Reads back by parse.
  std::string text() const;
  // Errors: text that is no expression, with the column.
  static Sym parse(std::string_view text);

 private:
  struct Atom;
  using AtomPtr = std::shared_ptr<const Atom>;
  // Atoms in the order of their texts, with powers.
  using Monomial = std::map<std::string, int>;

  static std::optional<Sym> quotient(const Sym& a, const Sym& b);
  static Sym of(Function function, std::string name, std::vector<Sym> arguments);
  template <class F> Sym map_atoms(F&& replace) const;

  bool known_ = true;
  std::map<Monomial, int64_t> terms_;     // coefficients, none of which is 0
  std::map<std::string, AtomPtr> atoms_;  // by text
};

struct Sym::Factor {
  Function function;
  std::string name;                          // of a symbol
  std::vector<Sym> arguments;                // of a function of this file
  std::shared_ptr<const SymFunction> other;  // of any other
  int power;
};

}  // namespace cresset::graph
